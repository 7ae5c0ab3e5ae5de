# /// script
# requires-python = ">=3.11"
# dependencies = ["tamis[pii]"]
# ///
"""MathEd-PII, or any tutoring sessions with annotated personal data: five configs, three splits by session.

python dataset_scripts/build_mathed_pii.py --output_dir run/mathed-pii

python dataset_scripts/build_mathed_pii.py --dataset_name transcripts/ --output_dir run/mine --card card.yaml \
    --push_to_hub --repo_id my-name/my-sessions-tamis

The sessions are read in MathEd-PII's transcript form, or in any other that `tamis redact` reads; each span is
checked against its text. The repository is private unless `--public`: what was annotated is in it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from tamis import cli, verbs
from tamis.errors import UsageError
from tamis.hub.publish import publish
from tamis.pii.variants import VariantsRecipe, write_variants
from tamis.recipe import PublishRecipe

NAME = "NationalTutoringObservatory/MathEd-PII"


@dataclass(frozen=True)
class BuildRecipe:
    """Builds the variants of annotated sessions, and publishes them if asked.

    Args:
        output_dir: The data set's folder.
        dataset_name: The sessions with their spans: a file, a folder, or a data set on the Hub.
        dataset_config: The data set's config, where it has several.
        dataset_split: The split to read.
        dataset_revision: The data set's revision on the Hub.
        label: Our label for another: `NAME=PERSON`; `NRP=` leaves its spans out. May be repeated.
        encoder: As of `tamis segment`.
        key_file: The file with the secret key of the surrogates; without it they are others each time.
        card: The card.yaml with what people know of the data set.
        push_to_hub: Publishes the result.
        repo_id: The data set's repository.
        tag: The version's tag.
        gated: Lets people in on request only: `auto` or `manual`.
        public: Lets everybody read it.
    """

    output_dir: str
    dataset_name: str = NAME
    dataset_config: str | None = None
    dataset_split: str = "train"
    dataset_revision: str | None = None
    label: list[str] = field(default_factory=list)
    encoder: str = "packaged"
    key_file: str | None = None
    card: str | None = None
    push_to_hub: bool = False
    repo_id: str | None = None
    tag: str | None = None
    gated: str | None = None
    public: bool = False


_OF_VARIANTS = (
    *("dataset_name", "output_dir", "dataset_config", "dataset_split", "dataset_revision"),
    *("label", "encoder", "key_file", "card"),
)


def build(recipe: BuildRecipe) -> verbs.Report:
    """Reads, segments, writes, and publishes if asked; what was made."""
    if recipe.push_to_hub and not recipe.repo_id:
        raise UsageError("--push_to_hub: give --repo_id, such as my-name/MathEd-PII-tamis")
    made = write_variants(VariantsRecipe(**{name: getattr(recipe, name) for name in _OF_VARIANTS}))
    report: verbs.Report = {"wrote": str(made.folder), "configs": made.rows}
    if recipe.push_to_hub:
        if made.synthetic and "synthetic" not in str(recipe.repo_id).partition("/")[2].lower():
            raise UsageError(
                f"--repo_id {recipe.repo_id}: has to have `synthetic` in it, as invented sessions are"
            )
        asked = PublishRecipe(
            str(made.folder), str(recipe.repo_id), tag=recipe.tag, gated=recipe.gated, private=not recipe.public
        )
        done = publish(asked)
        report |= {"published": f"{done.repo_id} at {done.commit}"}
        report |= {"load": f'load_dataset("{done.repo_id}", "{next(iter(made.rows))}")'}
    return report


def main(argv: Sequence[str] | None = None) -> int:
    """Runs as a verb of `tamis` does; the same exit codes and messages."""
    verbs.VERBS["build"] = verbs.Verb(BuildRecipe, build, "annotated sessions -> a data set")
    return cli.main(["build", *(sys.argv[1:] if argv is None else argv)])


if __name__ == "__main__":
    raise SystemExit(main())
