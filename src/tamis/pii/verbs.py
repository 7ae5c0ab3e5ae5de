"""What the verbs on personal data call, and what they report of the result."""

from __future__ import annotations

import math
from typing import Any

from tamis.names import printable
from tamis.pii.recipe import REMEDY, DeidAuditRecipe, RedactRecipe, RestoreRecipe, SegmentRecipe

Report = dict[str, Any]


def redact(recipe: RedactRecipe) -> Report:
    """What is printed of a redaction."""
    from tamis.pii.redact import redact

    lines: list[str] = []
    done = redact(recipe, explain=lines.append if recipe.explain else None)
    found = sum(done.labels.values())
    return {
        "wrote": recipe.output_dir,
        "file": str(done.file),
        "messages": done.messages,
        "spans": found,
        "by_label": dict(done.labels.most_common()),
        "kept_by_the_maths_guard": done.guarded,
        "text_columns_not_scanned": done.unscanned,
        **({"not_ready_to_publish": REMEDY} if done.unscanned else {}),
        **({"explained": [printable(line) for line in lines]} if recipe.explain else {}),
    }


def restore(recipe: RestoreRecipe) -> Report:
    """What is printed of a restoration."""
    from tamis.pii.restore import restore

    done = restore(recipe)
    return {
        "wrote": recipe.output_dir,
        "file": str(done.file),
        "restored": done.restored,
        "not_restored": done.left,
    }


def segment(recipe: SegmentRecipe) -> Report:
    """What is printed of segments, with one session."""
    from tamis.pii.segments import write_segments

    done = write_segments(recipe)
    return {
        "wrote": recipe.output_dir,
        "sessions": done.sessions,
        "maths": f"{done.maths} of {done.messages} messages, in {done.segments} segments",
        "session": printable(done.shown.session_id),
        "messages_with_density": [
            f"{one.sequence_id:>4}  {found.label:9}  {found.density:.2f}  {one.role}: {_cut(one.content)}"
            for one, found in zip(done.shown, done.shown_labels, strict=True)
        ],
    }


def _cut(text: str, width: int = 90) -> str:
    """A text's beginning, in one line."""
    line = " ".join(text.split())
    return printable(line if len(line) <= width else f"{line[: width - 1]}…") if line else ""


def deid_audit(recipe: DeidAuditRecipe) -> Report:
    """What is printed of an audit, or of a statement."""
    if recipe.certify:
        return _certify(recipe)
    from tamis.pii.audit import deid_audit

    done = deid_audit(recipe)
    told = done.statistics
    counts = told["proposed"]["all"]
    return {
        "wrote": recipe.output_dir,
        "proposed": f"{counts['true']} true, {counts['false']} false, {counts['missed']} missed",
        "resolved": f"{told['resolved']} of {told['identified']} items, in {done.review}",
        "round": "over" if told["is_over"] else "goes on: fill in `verdict`, and run this again",
        **({"with_surrogates": str(done.with_surrogates)} if done.with_surrogates else {}),
        **({"columns_not_scanned": [*done.unscanned]} if done.unscanned else {}),
    }


def _certify(recipe: DeidAuditRecipe) -> Report:
    from tamis.pii.certify import PAGE, certify

    done = certify(recipe)
    if done.statement is None:
        return {
            "wrote": recipe.output_dir,
            "statement": f"none yet: {done.left} of {done.size} messages are to be reviewed, in {done.sample}",
        }
    risk = done.statement["risk"]
    return {
        "wrote": recipe.output_dir,
        "reviewed": done.size,
        "messages_with_missed": risk["messages_with_missed"],
        "upper_bound_per_1000": math.ceil(100 * risk["messages_per_1000_upper"]) / 100,  # never rounded down
        "statement": str(done.folder / PAGE),
    }
