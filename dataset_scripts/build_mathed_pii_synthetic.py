# /// script
# requires-python = ">=3.11"
# dependencies = ["tamis[pii]"]
# ///
"""Synthetic tutoring sessions with exact gold spans: nobody in them exists. Seconds for a thousand.

python dataset_scripts/build_mathed_pii_synthetic.py --output_dir run/synthetic --sessions 1000
python dataset_scripts/build_mathed_pii_synthetic.py --output_dir run/realistic --sessions 1000 --density 0.017

What `build_mathed_pii.py --dataset_name run/synthetic/sessions.jsonl` makes of it can be published, under a name
that says `synthetic`.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tamis import cli, verbs
from tamis.errors import UsageError
from tamis.pii import synthetic
from tamis.pii.sessions import Annotated
from tamis.provenance import claim_folder, whole
from tamis.recipe import digest, to_dict


@dataclass(frozen=True)
class BuildRecipe:
    """Writes invented sessions to `sessions.jsonl`, one a line.

    Args:
        output_dir: The folder.
        sessions: How many.
        seed: Chooses others.
        density: Spans a message, such as 0.017 of a realistic corpus; without it 18 % of the messages hold some.
        templates: The half of wording, names and problems: `train`, `held_out`, or `all` of them.
    """

    output_dir: str
    sessions: int = 1000
    seed: int = 0
    density: float | None = None
    templates: str = "all"

    def __post_init__(self) -> None:
        if self.sessions < 1:
            raise UsageError(f"--sessions {self.sessions}: has to be 1 at least")


def build(recipe: BuildRecipe) -> verbs.Report:
    """Writes the sessions; what they hold."""
    asked = {key: value for key, value in to_dict(recipe).items() if key != "output_dir"}
    made = synthetic.generate(recipe.sessions, recipe.seed, recipe.density, recipe.templates)
    path = Path(recipe.output_dir) / "sessions.jsonl"
    counts: Counter[str] = Counter()
    claim_folder(recipe, digest(asked))
    with whole(path) as stream:
        for session in map(_record, made):
            stream.write(f"{json.dumps(session, ensure_ascii=False)}\n".encode())
            counts["messages"] += len(session["messages"])
            for message in session["messages"]:
                counts["with personal data"] += bool(message["spans"])
                counts["spans"] += len(message["spans"])
    return {"wrote": str(path), "sessions": recipe.sessions, **counts}


def _record(annotated: Annotated) -> dict[str, Any]:
    """A session as one line of JSON has it."""
    messages = [
        {
            "sequence_id": message.sequence_id,
            "role": message.role,
            "content": message.content,
            "spans": [{"start": span.start, "end": span.end, "label": span.label} for span in spans],
        }
        for message, spans in zip(annotated.session, annotated.spans or (), strict=True)
    ]
    return {"session_id": annotated.session.session_id, "source": "tamis, synthetic", "messages": messages}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs as a verb of `tamis` does; the same exit codes and messages."""
    verbs.VERBS["build"] = verbs.Verb(BuildRecipe, build, "nothing -> invented sessions")
    return cli.main(["build", *(sys.argv[1:] if argv is None else argv)])


if __name__ == "__main__":
    raise SystemExit(main())
