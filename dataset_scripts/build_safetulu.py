# /// script
# requires-python = ">=3.11"
# dependencies = ["tamis[attribution]"]
# ///
"""SafeTulu: instruction data without the rows that most resemble answers that people called unsafe.

The demo, offline, and the whole of Tulu 3 (hours on a GPU):

python dataset_scripts/build_safetulu.py --config dataset_scripts/recipes/safetulu-demo.yaml --output_dir run/demo

python dataset_scripts/build_safetulu.py --config dataset_scripts/recipes/safetulu.yaml --output_dir run/safetulu \
    --push_to_hub --repo_id my-name/SafeTulu-tamis --gated auto

Each step is a `tamis` verb, with a folder of its own below `--output_dir`; what is there is not made twice. With
`--push_to_hub` the data set goes to `--repo_id`, and its gradient index, from which anybody ranks again without a
GPU, to `--repo_id` with `-gradients` after it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import safe_rlhf

import tamis
from tamis import cli, verbs
from tamis.errors import UsageError
from tamis.hub.publish import publish
from tamis.recipe import DEFAULT_MODEL, PublishRecipe


@dataclass(frozen=True)
class BuildRecipe:
    """Builds a filtered instruction data set, and publishes it if asked.

    Args:
        output_dir: Where every step's folder goes.
        dataset_name: The pool: a file, a folder, or a data set on the Hub.
        dataset_split: Its split.
        dataset_revision: Its revision on the Hub.
        max_samples: Takes only the pool's first rows; the result is then published under a demo's name only.
        model_name_or_path: The decoder.
        last_k: How many of the last blocks' gradients are taken.
        max_length: The window in tokens.
        target: The target set: rows or an index; PKU-Alignment/PKU-SafeRLHF stands for its unsafe responses.
        category: Takes only SafeRLHF's responses of this category of harm. May be repeated.
        contrast: Safe rows; `safe` stands for SafeRLHF's safe responses to the prompts of the target set.
        similarity: As of `tamis score`.
        ratio: The share to remove.
        source: Sieves only this source. May be repeated.
        language: Sieves only this language. May be repeated.
        variant: The variant's name, where several share a repository.
        card: The card.yaml with what people know of the data set.
        gradients_card: The same of its gradient index.
        leave_out_removed: Writes no removed row.
        push_to_hub: Publishes the result.
        repo_id: The data set's repository.
        tag: The version's tag.
        private: Makes the repositories private.
        gated: Lets people in on request only: `auto` or `manual`.
        public_gradients: Lets everybody read the gradient index, which can leak a private pool.
    """

    output_dir: str
    dataset_name: str = "allenai/tulu-3-sft-mixture"
    dataset_split: str = "train"
    dataset_revision: str | None = None
    max_samples: int | None = None
    model_name_or_path: str = DEFAULT_MODEL
    last_k: int = 4
    max_length: int = 2048
    target: str = safe_rlhf.NAME
    category: list[str] = field(default_factory=list)
    contrast: str | None = None
    similarity: str = "cosine"
    ratio: float = 0.2
    source: list[str] = field(default_factory=list)
    language: list[str] = field(default_factory=list)
    variant: str | None = None
    card: str | None = None
    gradients_card: str | None = None
    leave_out_removed: bool = False
    push_to_hub: bool = False
    repo_id: str | None = None
    tag: str | None = None
    private: bool = False
    gated: str | None = None
    public_gradients: bool = False


def build(recipe: BuildRecipe) -> verbs.Report:
    """Embeds, scores, selects, exports, and publishes if asked; what was made."""
    if recipe.push_to_hub and not recipe.repo_id:
        raise UsageError("--push_to_hub: give --repo_id, such as my-name/SafeTulu-tamis")
    out = Path(recipe.output_dir)
    part = out / (recipe.variant or "whole")
    part.mkdir(parents=True, exist_ok=True)
    target, contrast, counts = recipe.target, recipe.contrast, {}
    if target == safe_rlhf.NAME:
        target, safe, counts = safe_rlhf.write_sets(part, recipe.category, contrast == "safe")
        contrast = safe if contrast == "safe" else contrast
    index = str(out / "index")
    pool = {name: getattr(recipe, name) for name in ("dataset_name", "dataset_split", "dataset_revision")}
    model = {name: getattr(recipe, name) for name in ("max_samples", "model_name_or_path", "last_k", "max_length")}
    tamis.embed(tamis.EmbedRecipe(output_dir=index, **pool, **model))
    tamis.score(
        tamis.ScoreRecipe(index, target, str(part / "scores"), similarity=recipe.similarity, contrast=contrast)
    )
    selection = tamis.select(
        tamis.SelectRecipe(
            str(part / "scores"),
            str(part / "selection"),
            recipe.ratio,
            source=recipe.source,
            language=recipe.language,
        )
    )
    exported = tamis.export(
        tamis.ExportRecipe(
            str(part / "selection"),
            str(part / "dataset"),
            card=recipe.card,
            variant=recipe.variant,
            leave_out_removed=recipe.leave_out_removed,
        )
    )
    report: verbs.Report = {
        "wrote": str(exported.folder),
        "configs": exported.configs,
    }
    if counts:
        report["target_set"] = [
            f"{counts['unsafe']} unsafe responses by our rule; the paper names {safe_rlhf.PUBLISHED_COUNT}",
            *([f"{counts['safe']} safe responses to the same prompts"] if "safe" in counts else []),
        ]
    report["removed"] = f"{selection.facts['rows_removed']} of {selection.facts['rows_sieved']}"
    report["selection"] = selection.facts["digest"]
    if recipe.push_to_hub:
        report |= _published(recipe, str(exported.folder), index)
    return report


def _published(recipe: BuildRecipe, folder: str, index: str) -> verbs.Report:
    """The data set first, then the index that it was made from."""
    shared = {"tag": recipe.tag, "gated": recipe.gated}
    data = publish(PublishRecipe(folder, str(recipe.repo_id), private=recipe.private, **shared))
    gradients = publish(
        PublishRecipe(
            index,
            f"{recipe.repo_id}-gradients",
            private=recipe.private or not recipe.public_gradients,
            card=recipe.gradients_card,
            **shared,
        )
    )
    return {
        "published": [f"{one.repo_id} at {one.commit}" for one in (data, gradients)],
        "load": f'load_dataset("{data.repo_id}", "{next(iter(data.rows))}")',
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Runs as a verb of `tamis` does; the same exit codes and messages."""
    verbs.VERBS["build"] = verbs.Verb(BuildRecipe, build, "rows -> a filtered data set")
    return cli.main(["build", *(sys.argv[1:] if argv is None else argv)])


if __name__ == "__main__":
    raise SystemExit(main())
