"""Facts to a card: the README.md of a data set, a gradient index, a model, a metric or a Space.

What is not known is left out. A number comes from the facts of a run, a text from them or from a `card.yaml`; the
templates hold no number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tamis.errors import WorkError, missing_extra
from tamis.gradients.join import EXCLUDED, ROWS
from tamis.gradients.store import GradientIndex
from tamis.hub.front_matter import HERE, dumped, join
from tamis.hub.limits import limits
from tamis.influence.scores import source_of
from tamis.names import in_markdown, is_local, shown
from tamis.recipe import PACKAGED_MODEL

_FIRST = ("pretty_name", "license", "license_name", "license_link")
_SIZES = ((3, "n<1K"), (4, "1K<n<10K"), (5, "10K<n<100K"), (6, "100K<n<1M"), (7, "1M<n<10M"))


def render(kind: str, facts: Mapping[str, Any], human: Mapping[str, Any]) -> str:
    """The card: its front matter, and its text.

    Args:
        kind: `dataset`, `gradients`, `annotated`, `model`, `metric` or `space`.
        facts: What a run's files say, as YAML values: of a data set `Exported.facts`, of an index `index_facts`,
            of annotated sessions `Variants.facts`.
        human: What a `card.yaml` says.

    Raises:
        UsageError: An extra is missing.
    """
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise missing_extra("attribution", error) from error
    environment = Environment(
        loader=PackageLoader("tamis.hub"),
        autoescape=False,  # a card is Markdown, in which `md` makes names harmless
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"count": "{:,}".format, "counted": _counted, "md": in_markdown}
    environment.filters |= {"percent": "{:.1%}".format, "hundredths": "{:.2%}".format}
    front = {name: value for name, value in _FRONT[kind](facts, human).items() if value not in (None, [], {})}
    body = environment.get_template(f"{kind}.md.j2").render(facts=facts, human=human, here=HERE)
    tidy = re.sub(r"\n{3,}", "\n\n", body).strip()
    if variant := facts.get("variant"):  # a section of the card that variants share
        tidy = f"<!-- variant {variant} -->\n{tidy}\n<!-- end of {variant} -->"
    return join(front, f"\n{tidy}\n")


def gradients(index: GradientIndex, human: Mapping[str, Any]) -> str:
    """The card that makes a gradient index's folder a data set; it holds no local path."""
    return render("gradients", index_facts(index), human)


def index_facts(index: GradientIndex) -> dict[str, Any]:
    """What an index's manifest and tables say of it, as YAML values; what they do not say is left out."""
    recipe, gradient = index.manifest["recipe"], index.manifest["identity"]["gradient"]
    tables = (("rows", ROWS, True), ("excluded", EXCLUDED, index.manifest["excluded"]))
    known = {
        "digest": index.manifest["digest"],
        "limits": limits(recipe.get("model_name_or_path"), source_of(index)),
        "gradient_digest": index.gradient_digest,
        "source": source_facts(source_of(index)),
        "model": _model_name(recipe.get("model_name_or_path"), gradient.get("model_revision")),
        **{name: gradient.get(name) for name in ("model_revision", "dtype", "template", "seed", "projection")},
        "window": gradient.get("max_length"),
        "blocks": recipe.get("last_k"),
        "modules": len(index.modules),
        "dim": gradient["proj_dim"],
        "bytes_a_row": 2 * 2 * len(index.modules) * gradient["proj_dim"],  # u and v, two bytes a number
        "rows": index.manifest["rows"],
        "excluded": index.manifest["excluded"],
        "shards": len(index.manifest["shards"]),
        "languages": sorted(index.rows["language"].unique().to_pylist()),
        "configs": {
            name: {**parquet_facts(index.folder, [file]), "features": features_of(index.folder / file)}
            for name, file, rows in tables
            if rows
        },
    }
    return {name: value for name, value in known.items() if value is not None}


def source_facts(source: Mapping[str, Any]) -> dict[str, Any]:
    """Where source rows come from, by scores' metadata; of a path, only its last part."""
    name = str(source.get("dataset_name", "unnamed rows"))
    known = {key: source.get(f"dataset_{key}") for key in ("config", "split", "revision")}
    where = {} if is_local(name) else {"id": name, **{k: v for k, v in known.items() if v is not None}}
    return {"name": shown(name), **where}


def parquet_facts(folder: Path, files: Sequence[str]) -> dict[str, Any]:
    """Rows of Parquet files, their bytes, and those of their columns when read, by the footers."""
    footers = [pq.read_metadata(folder / file) for file in files]
    groups = [footer.row_group(i) for footer in footers for i in range(footer.num_row_groups)]
    return {
        "rows": sum(footer.num_rows for footer in footers),
        "bytes": sum(group.total_byte_size for group in groups),
        "file_bytes": sum((folder / file).stat().st_size for file in files),
        "files": [*files],
    }


def features_of(file: Path) -> list[dict[str, Any]]:
    """The columns of a Parquet file, as `datasets` writes them into cards."""
    from datasets import Features

    return list(Features.from_arrow_schema(pq.read_schema(file))._to_yaml_list())


def eval_yaml(human: Mapping[str, Any]) -> str | None:
    """The `eval.yaml` that makes a data set a benchmark with a leaderboard, if its `card.yaml` asks for one."""
    return dumped(human["benchmark"]) if "benchmark" in human else None


def eval_results(facts: Mapping[str, Any]) -> dict[str, str]:
    """The files of a model's `.eval_results`, by their names: one for each benchmark that a result names.

    Args:
        facts: A model's; a result whose `task_id` names a task of a benchmark is that benchmark's, with its first
            metric's value.
    """
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    files: dict[str, list[Any]] = {}
    for result in facts.get("results", []):
        if "task_id" not in result:
            continue
        dataset, source = result["dataset"], result.get("source", {})
        entry = EvalResultEntry(
            dataset_id=dataset["type"],
            task_id=result["task_id"],
            value=_finite(result["metrics"][0]),
            dataset_revision=dataset.get("revision"),
            date=result.get("date"),
            source_url=source.get("url"),
            source_name=source.get("name"),
            notes=result.get("notes"),
        )
        files.setdefault(f".eval_results/{dataset['type'].replace('/', '--')}.yaml", []).append(entry)
    return {name: dumped(eval_result_entries_to_yaml(entries)) for name, entries in files.items()}


def _common(human: Mapping[str, Any], tags: Sequence[str]) -> dict[str, Any]:
    """What all front matters have."""
    known = {name: human[name] for name in (*_FIRST, "language") if name in human}
    gated = {name: text for name, text in human.items() if name.startswith("extra_gated_")}
    return {**known, **gated, "tags": [*dict.fromkeys([*tags, *human.get("tags", [])])]}


def _data(facts: Mapping[str, Any], human: Mapping[str, Any], tags: Sequence[str]) -> dict[str, Any]:
    """What the front matters of a data set and of an index have."""
    languages = [name for name in facts["languages"] if re.fullmatch("[a-z]{2,3}", name)]  # others are refused
    size = next((name for power, name in _SIZES if facts["rows"] < 10**power), "10M<n<100M")
    return {
        **_common({"language": languages, **human}, tags),
        "size_categories": [size],
        "task_categories": human.get("task_categories"),
        "source_datasets": [facts["source"]["id"]] if "id" in facts["source"] else [],
    }


def _configs(facts: Mapping[str, Any], default: str) -> dict[str, Any]:
    """`configs` and `dataset_info`: what `load_dataset` and the Hub's viewer read."""
    configs = facts["configs"]
    return {
        "configs": [
            {
                "config_name": name,
                **({"default": True} if name == default else {}),
                "data_files": [{"split": split, "path": of["files"]} for split, of in _splits(config).items()],
            }
            for name, config in configs.items()
        ],
        "dataset_info": [
            {
                "config_name": name,
                "features": config.get("features") or facts["features"],
                "splits": [
                    {"name": split, "num_bytes": of["bytes"], "num_examples": of["rows"]}
                    for split, of in _splits(config).items()
                ],
                "download_size": sum(of["file_bytes"] for of in _splits(config).values()),
                "dataset_size": sum(of["bytes"] for of in _splits(config).values()),
            }
            for name, config in configs.items()
        ],
    }


def _splits(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The files of each split; they are all of `train` where a config has no others."""
    splits: Mapping[str, Any] = config.get("splits", {"train": config})
    return splits


def _dataset_front(facts: Mapping[str, Any], human: Mapping[str, Any]) -> dict[str, Any]:
    tags = ("tamis", "data-filtering", "gradient-attribution")
    variant = facts.get("variant")
    block = {"variants": {variant: facts["tamis"]}} if variant else facts["tamis"]
    return {**_data(facts, human, tags), **_configs(facts, facts["default"]), "tamis": block}


def _gradients_front(facts: Mapping[str, Any], human: Mapping[str, Any]) -> dict[str, Any]:
    tags = ("tamis", "gradients", "gradient-attribution")
    block = {name: facts[name] for name in ("digest", "limits") if facts.get(name)}
    return {**_data(facts, human, tags), **_configs(facts, "rows"), "tamis": block}


def _annotated_front(facts: Mapping[str, Any], human: Mapping[str, Any]) -> dict[str, Any]:
    tags = ("tamis", "pii", "de-identification", "mathematics", "tutoring")
    return {**_data(facts, human, tags), **_configs(facts, facts["default"]), "tamis": facts["tamis"]}


def _model_front(facts: Mapping[str, Any], human: Mapping[str, Any]) -> dict[str, Any]:
    results = facts.get("results", [])
    metrics = [metric for result in results for metric in result["metrics"]]
    index = [
        {name: result[name] for name in ("task", "dataset", "metrics", "source") if name in result}
        for result in results
    ]
    for metric in metrics:
        _finite(metric)
    return {
        **_common(human, ("tamis",)),
        **{name: facts.get(name) for name in ("library_name", "pipeline_tag", "base_model", "datasets")},
        "metrics": [*dict.fromkeys(metric["type"] for metric in metrics)],
        "model-index": [{"name": facts["name"], "results": index}] if index else [],
    }


def _metric_front(facts: Mapping[str, Any], human: Mapping[str, Any]) -> dict[str, Any]:
    return {**_space_front(facts, human, ("evaluate", "metric", "tamis")), "description": human.get("summary")}


def _space_front(
    facts: Mapping[str, Any], human: Mapping[str, Any], tags: Sequence[str] = ("tamis",)
) -> dict[str, Any]:
    given = _common(human, tags)
    return {
        "title": given.pop("pretty_name", facts["name"]),
        **{name: human.get(name) for name in ("emoji", "colorFrom", "colorTo")},
        "sdk": "gradio",
        **{name: facts.get(name) for name in ("sdk_version", "python_version", "app_file", "models", "datasets")},
        **given,
        "short_description": human.get("short_description"),
    }


_FRONT: dict[str, Callable[[Mapping[str, Any], Mapping[str, Any]], dict[str, Any]]] = {
    "dataset": _dataset_front,
    "gradients": _gradients_front,
    "annotated": _annotated_front,
    "model": _model_front,
    "metric": _metric_front,
    "space": _space_front,
}


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _finite(metric: Mapping[str, Any]) -> Any:
    value = metric["value"]
    if isinstance(value, float) and not isfinite(value):
        raise WorkError(f"{metric['type']}: its value is {value}, which no card can show")
    return value


def _model_name(name: str | None, revision: str | None) -> str | None:
    """The model's name, where it says more than a folder on this machine: weights from one have a `sha256:`."""
    if name is None or name == PACKAGED_MODEL:
        return name
    return None if is_local(name) or str(revision).startswith("sha256:") else name
