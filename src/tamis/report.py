"""A selection to one page: what was removed, how sure that is, and what it does not show.

Everything on the page comes from the selection's files and its gradient index; no text of rows is read. Names of
sources and ids are other people's text: they are escaped by the template, and what cannot be printed is replaced.
"""

from __future__ import annotations

import base64
import itertools
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import yaml

from tamis.errors import UsageError, missing_extra
from tamis.gradients.store import GradientIndex
from tamis.influence.scores import in_words
from tamis.metrics.intervals import wilson
from tamis.metrics.ranking import auroc
from tamis.names import printable, shown
from tamis.pages import environment
from tamis.provenance import claim_folder, write_whole
from tamis.recipe import ReportRecipe, digest
from tamis.report_gaps import gaps
from tamis.selection import OUTSIDE, Selection, read_selection

if TYPE_CHECKING:
    from tamis.figures import Picture

PAGE = "report.html"
LARGEST = 15
"""How many sources, languages and reasons are shown by name; the rest are added up."""

_Columns = tuple[dict[str, np.ndarray], dict[str, np.ndarray]]
_NEEDED: tuple[str, ...] = (
    *(
        "digest",
        "ratio",
        "rows_sieved",
        "rows_removed",
        "rows_outside_the_subset",
        "rows_excluded",
        "named_by_keep",
    ),
    *("named_by_remove", "removed_by_source", "removed_by_language", "boundary", "scores"),
    *("similarity", "target_rows", "target_excluded", "source"),  # of the scores
)

FLAGS = {
    "truncated": "the window cut something off",
    "duplicate": "the same conversation stood earlier in the data set",
    "boundary": "a token holds both prompt and answer text",
    "template_changed": "the chat template shows an answer other than it was given",
    "no_end_of_turn": "the chat template ends an assistant turn with nothing",
}


@dataclass(frozen=True)
class Reported:
    """A page about a selection.

    Attributes:
        folder: Where `report.html` and the figures lie.
        facts: What the page says.
        figures: The names of the PNG files.
    """

    folder: Path
    facts: dict[str, Any]
    figures: list[str]


def write_report(recipe: ReportRecipe) -> Reported:
    """The page about a selection, written to `recipe.output_dir`: `report.html` and its figures.

    Raises:
        UsageError: The selection or the index cannot be read, they hold other rows, or an extra is missing.
    """
    try:
        import tamis.figures  # noqa: F401
    except ImportError as error:
        raise missing_extra("report", error) from error
    templates = environment({"number": "{:.4g}".format})
    selection = read_selection(recipe.selection)
    index = GradientIndex(recipe.index) if recipe.index else None
    _refuse_unsaid(recipe.selection, selection.facts)
    columns = _columns(selection, index) if index else None
    facts = _facts(selection, index, columns, _recipes(recipe, selection, index))
    identity = {"selection": selection.facts["digest"], "index": index.manifest["digest"] if index else None}
    folder = claim_folder(recipe, digest({"report": identity}))
    pictures = _pictures(selection, columns, facts)
    for name, picture in pictures.items():
        write_whole(folder / f"{name}.png", picture.light)
    images = {name: [_data_uri(picture.light), _data_uri(picture.dark)] for name, picture in pictures.items()}
    page = templates.get_template(f"{PAGE}.j2").render(**facts, images=images)
    write_whole(folder / PAGE, page.encode())
    return Reported(folder, facts, [f"{name}.png" for name in pictures])


def _refuse_unsaid(path: str, facts: Mapping[str, Any]) -> None:
    said = {**facts, **facts.get("scores", {})}
    missing = [name for name in _NEEDED if name not in said]
    if missing:
        raise UsageError(f"{path}: its selection.yaml does not say {missing[0]}; score and select again")


def _facts(
    selection: Selection, index: GradientIndex | None, columns: _Columns | None, recipes: Mapping[str, str | None]
) -> dict[str, Any]:
    """What the page says."""
    known = selection.facts
    scores, n, k = known["scores"], known["rows_sieved"], known["rows_removed"]
    kept, removed = _sieved(selection)
    facts: dict[str, Any] = {
        "data": shown(str(scores["source"].get("dataset_name", "unnamed rows"))),
        "digest": known["digest"],
        "scores_digest": scores["digest"],
        "ratio": known["ratio"],
        "similarity": scores["similarity"],
        "aggregate": in_words(scores),
        "target_rows": scores["target_rows"],
        "target_excluded": scores["target_excluded"],
        "sieved": n,
        "removed": k,
        "base": k / n,
        "outside": known["rows_outside_the_subset"],
        "excluded": known["rows_excluded"],
        "named": {"keep": known["named_by_keep"], "remove": known["named_by_remove"]},
        "by_source": _groups(known["removed_by_source"], k / n),
        "by_language": _groups(known["removed_by_language"], k / n),
        "largest": LARGEST,
        "cut": _cut(kept, removed),
        "boundary": {
            name: [{**row, "row_id": printable(row["row_id"]), "source": printable(row["source"])} for row in rows]
            for name, rows in known["boundary"].items()
        },
        "flags": _flags(kept, removed),
        "reasons": _reasons(selection.excluded),
        "gradients": _gradients(index, *columns) if index and columns else None,
        "recipes": recipes,
    }
    return {**facts, "gaps": gaps(facts)}


def _sieved(selection: Selection) -> tuple[pa.Table, pa.Table]:
    """The kept rows inside the subset, and the removed rows."""
    inside = selection.kept["order"].to_numpy() != OUTSIDE
    return selection.kept.filter(pa.array(inside)), selection.removed


def _groups(rates: Mapping[str, Mapping[str, Any]], base: float) -> list[dict[str, Any]]:
    """A line a name, highest rate first; beyond the largest, one line for all others together."""
    by_size = sorted(rates, key=lambda name: (-rates[name]["rows"], name))
    named, others = by_size[:LARGEST], by_size[LARGEST:]
    lines = [_line(printable(name), rates[name]["removed"], rates[name]["rows"], base) for name in named]
    lines.sort(key=lambda line: -line["share"])
    if others:
        total = {key: sum(rates[name][key] for name in others) for key in ("removed", "rows")}
        lines.append(_line(f"{len(others):,} others", total["removed"], total["rows"], base))
    return lines


def _line(name: str, part: int, rows: int, base: float) -> dict[str, Any]:
    low, high = wilson(part, rows)
    side = "above" if low > base else "below" if high < base else ""
    return {"name": name, "part": part, "rows": rows, "share": part / rows, "low": low, "high": high, "side": side}


def _cut(kept: pa.Table, removed: pa.Table) -> dict[str, float] | None:
    """The scores on both sides of the cut, lists of names left out; None where one side has no such row."""
    sides = []
    for table in (kept, removed):
        named = np.array([reason.startswith("named by") for reason in table["reason"].to_pylist()], bool)
        sides.append(table["score"].to_numpy()[~named])
    if not all(map(len, sides)):
        return None
    below, above = float(sides[0].max()), float(sides[1].min())
    return {"below": below, "above": above, "at": (below + above) / 2, "spread": float(np.r_[*sides].std())}


def _flags(kept: pa.Table, removed: pa.Table) -> list[dict[str, Any]]:
    k, n = len(removed), len(kept) + len(removed)
    of = [Counter(itertools.chain.from_iterable(table["flags"].to_pylist())) for table in (kept, removed)]
    return [
        {**_line(name, of[1][name], of[0][name] + of[1][name], k / n), "means": FLAGS.get(name, "")}
        for name in sorted({*FLAGS, *of[0], *of[1]})
        if of[0][name] + of[1][name]
    ]


def _reasons(excluded: pa.Table) -> list[tuple[str, int]]:
    counts = (
        Counter(printable(reason) for reason in excluded["reason"].to_pylist()) if len(excluded) else Counter()
    )
    most = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    rest = most[LARGEST:]
    return most[:LARGEST] + ([(f"{len(rest):,} other reasons", sum(count for _, count in rest))] if rest else [])


def _gradients(
    index: GradientIndex, kept: Mapping[str, np.ndarray], removed: Mapping[str, np.ndarray]
) -> dict[str, Any]:
    """Norms, truncation and lengths of removed and kept rows."""
    answers = np.r_[kept["response_tokens"], removed["response_tokens"]]
    labels = np.repeat([False, True], [len(kept["norm"]), len(removed["norm"])])
    both = labels.any() and not labels.all()
    sources = Counter([*kept["source"], *removed["source"]])
    cut_off = Counter([s for c in (kept, removed) for s in c["source"][c["truncated"]]])
    cut_all = sum(cut_off.values()) / len(labels)
    rates = {str(name): {"rows": rows, "removed": cut_off[name]} for name, rows in sources.items()}
    return {
        "digest": index.manifest["digest"],
        "window": index.manifest["identity"]["gradient"].get("max_length"),
        "measures": [
            {
                "name": name,
                "kept": _quartiles(kept[column]),
                "removed": _quartiles(removed[column]),
            }
            for name, column in (
                ("norm of the gradient", "norm"),
                ("tokens of the conversation", "tokens"),
                ("tokens of the answers", "response_tokens"),
            )
        ],
        "truncated": _line("all sieved rows", sum(cut_off.values()), len(labels), cut_all),
        "truncated_by_source": _groups(rates, cut_all) if cut_off else [],
        "length_auroc": auroc(answers, labels) if both else None,
        "norm_auroc": auroc(np.r_[kept["norm"], removed["norm"]], labels) if both else None,
    }


def _columns(selection: Selection, index: GradientIndex) -> _Columns:
    """The index's columns for the kept rows inside the subset, and for the removed rows."""
    data, scores = index.manifest["identity"]["data"], selection.facts["scores"]
    rows = index.rows
    place = {row_id: i for i, row_id in enumerate(rows["row_id"].to_pylist())}
    wanted = [*selection.kept["row_id"].to_pylist(), *selection.removed["row_id"].to_pylist()]
    if data["fingerprint"] != scores["source"].get("fingerprint") or place.keys() != {*wanted}:
        raise UsageError(f"{index.folder}: not the index that was scored: it holds other rows than the selection")
    if index.digest != scores["index"]:
        raise UsageError(
            f"{index.folder}: not the index that was scored: its digest is {index.digest}, not {scores['index']}"
        )
    names = ("source", "tokens", "response_tokens", "truncated", "norm")
    columns = {name: rows[name].to_numpy(zero_copy_only=False) for name in names}
    kept, removed = (
        np.array([place[row_id] for row_id in table["row_id"].to_pylist()], np.int64)
        for table in _sieved(selection)
    )
    return {n: c[kept] for n, c in columns.items()}, {n: c[removed] for n, c in columns.items()}


def _quartiles(values: np.ndarray) -> list[float] | None:
    """The first quartile, the median and the third quartile."""
    return [float(value) for value in np.quantile(values, [0.25, 0.5, 0.75])] if len(values) else None


def _pictures(selection: Selection, columns: _Columns | None, facts: Mapping[str, Any]) -> dict[str, Picture]:
    from tamis import figures

    pictures = {}
    for name, words in (("by_source", "{part:,} of {rows:,}"), ("by_language", "{part:,} of {rows:,}")):
        if len(facts[name]) > 1:
            bars = [
                figures.Bar(g["name"], words.format(**g), g["share"], g["low"], g["high"], g["side"])
                for g in facts[name]
            ]
            pictures[name] = figures.share_bars(bars, facts["base"])
    kept, removed = _sieved(selection)
    at = facts["cut"]["at"] if facts["cut"] else None
    pictures["scores"] = figures.score_histogram(kept["score"].to_numpy(), removed["score"].to_numpy(), at)
    if columns:
        low, high = columns
        norms = np.log10(low["norm"]), np.log10(high["norm"])  # a gradient of zero is no row of an index
        pictures["norms"] = figures.two_histograms(*norms, label="log10 of the gradient's norm")
        lengths = low["response_tokens"], high["response_tokens"]
        pictures["lengths"] = figures.two_histograms(*lengths, label="tokens of the answers", spread=20)
    return pictures


def _recipes(recipe: ReportRecipe, selection: Selection, index: GradientIndex | None) -> dict[str, str | None]:
    """The YAML of each verb that led here, as far as it is known; None where its `run.yaml` is elsewhere."""
    selected = _run(Path(recipe.selection), str(selection.facts["digest"]))
    if selected is None:
        raise UsageError(f"{recipe.selection}: its run.yaml is missing, or not that of this selection")
    scores = Path(str(selected.get("scores")))
    scored = _run(scores.parent if scores.is_file() else scores, str(selection.facts["scores"]["digest"]))
    found: dict[str, Mapping[str, Any] | None] = {"score": scored, "select": selected}
    if index:
        embedded = {**index.manifest["recipe"], "output_dir": str(index.folder)}
        found = {"embed": embedded, **found}
    return {verb: _yaml(fields) if fields else None for verb, fields in found.items()}


def _run(folder: Path, made: str) -> dict[str, Any] | None:
    """The recipe in a folder's `run.yaml`; None where there is none, or one of another run."""
    try:
        fields = dict(yaml.safe_load((folder / "run.yaml").read_bytes()))
        return fields if fields.pop("provenance")["digest"] == made else None
    except (OSError, ValueError, TypeError, KeyError, yaml.YAMLError):
        return None


def _yaml(fields: Mapping[str, Any]) -> str:
    short = {
        name: [*map(_shown, value)] if isinstance(value, list) else _shown(value) for name, value in fields.items()
    }
    return "\n".join(map(printable, yaml.safe_dump(short, sort_keys=False, allow_unicode=True).splitlines()))


def _shown(value: Any) -> Any:
    """An absolute path without its folders, which are nobody's business; anything else as it is."""
    return Path(value).name if isinstance(value, str) and Path(value).is_absolute() else value


def _data_uri(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"
