"""What benchmarks/README.md shows of the study of the ranking: every figure of it, from results/ranking.json."""

from __future__ import annotations

from typing import Any

_LISTS = ("dolly", "gsm8k", "alpaca")
_PARTS = ("choose", "confirm", "five", "further")
_TOLD = {"similarity": "similarities", "blocks": "numbers of blocks", "aggregate": "aggregates"}


def ranking_table(result: dict[str, Any]) -> str:
    """The lines of the figures in words and of every table of `ranking.py`."""
    parts = [_figures(result), _methods(result), _differences(result), _settings(result)]
    if "rank_one_against_whole" in result:
        parts.append(_whole(result["rank_one_against_whole"]))
    return "\n\n".join("\n".join(lines) for lines in parts)


def _figures(result: dict[str, Any]) -> list[str]:
    """The figures that the text rests on and that stand in no table."""
    settings, counts, clusters = result["settings"], result["counts"], result["clusters"]
    groups = counts["by_group"]
    harmful, harmless = (
        sum(groups[name + end] for name in ("exploits", "info_integrity", "privacy")) for end in (" +", "")
    )
    pairs = [one["pairs"] for one in result["splits"]]
    every = result["all_methods_pairs_auroc"]
    without = {name: max(values) for name, values in every.items() if "contrast" not in name}
    highest = max(without, key=lambda name: without[name])
    further = {name: values[3] for name, values in every.items()}
    words = max((n for n in further if n.startswith(("TF-IDF", "BM25", "MiniLM"))), key=lambda n: further[n])
    gradient = max((n for n in further if "K = " in n), key=lambda n: further[n])
    goal = {name: f"{one['pairs_auroc']:.2f}, {_met(one['reached'])}" for name, one in result["goal"].items()}
    spread = ", ".join(
        f"{_TOLD[field]} {max(_with(levels)) - min(_with(levels)):.2f}"
        for field, levels in result["factors"].items()
    )
    seconds = ", ".join(f"{name} {value}" for name, value in result["cpu_seconds"].items())
    return [
        f"- Rows: {harmful} harmful and {harmless} harmless answers, {counts['truncated_labelled']} of them cut at "
        f"{settings['max_length']} tokens; {groups['refusal']} refusals, {groups['gsm8k']} of GSM8K, "
        f"{groups['dolly']} of Dolly; {counts['rows']} with the lists.",
        f"- Pairs of like length: {min(pairs)} to {max(pairs)} a split, in {min(clusters.values())} to "
        f"{max(clusters.values())} groups that share no row; "
        f"{', '.join(f'{count} of {name}' for name, count in result['list_pairs'].items())} from the lists.",
        f"- The goal ({settings['goal']} within pairs, and the lower bounds of all differences above 0): "
        f"{goal['confirm']} on the splits that confirm; {goal['further']} on the {settings['further_splits']} more.",
        f"- The highest within pairs of any score without a contrast set, on any set of splits: {without[highest]:.2f} "
        f"({highest}). The highest of all on the {settings['further_splits']} more: {further[gradient]:.2f} of "
        f"gradients ({gradient}), {further[words]:.2f} of words ({words}).",
        f"- With a contrast set, on the {settings['further_splits']} more, the averages over all other settings differ "
        f"by this much at the most: {spread}.",
        f"- Rank one keeps {counts['energy_of_rank_one']:.2f} of the squared norm. CPU seconds: {seconds}.",
    ]


def _methods(result: dict[str, Any]) -> list[str]:
    base = next(iter(result["shown"].values()))["confirm"]
    more = f"{result['settings']['further_splits']} more"
    heads = (
        *("score", "pairs, splits that choose", "pairs, splits that confirm", f"pairs, {more}"),
        *("same category", f"same, AUPRC (base {base['same_base']:.2f})"),
        *("all", f"all, AUPRC (base {base['all_base']:.2f})", f"precision (base {base['all_base']:.2f})"),
        *(f"precision, {more}", "lists, Dolly / GSM8K / Alpaca"),
    )
    lines = _heads(*heads)
    for name, row in result["shown"].items():
        one, spread = row["confirm"], row["confirm_intervals"]
        cells = [
            f"**{name}**" if name == result["chosen"] else name,
            f"{row['choose']['pairs_auroc']:.2f}",
            _interval(spread["pairs_auroc"]),
            f"{row['further']['pairs_auroc']:.2f}",
            _interval(spread["same_auroc"]),
            f"{one['same_auprc']:.2f}",
            _interval(spread["all_auroc"]),
            f"{one['all_auprc']:.2f}",
            _interval(spread["all_precision"]),
            f"{row['further']['all_precision']:.2f}",
            " / ".join(f"{one[f'list_{data}_auroc']:.2f}" for data in _LISTS),
        ]
        lines.append(_line(*cells))
    return lines


def _differences(result: dict[str, Any]) -> list[str]:
    more = f"{result['settings']['further_splits']} more"
    lines = _heads("the chosen score minus", "splits that choose", "splits that confirm", "all five", more)
    parts = [result["differences"][part] for part in _PARTS]
    return lines + [_line(name, *(_interval(part[name]) for part in parts)) for name in parts[0]]


def _settings(result: dict[str, Any]) -> list[str]:
    more = f"{result['settings']['further_splits']} more"
    lines = _heads(
        "pairs, mean over all other settings: without / with contrast",
        "splits that choose",
        "splits that confirm",
        more,
    )
    for setting, levels in result["factors"].items():
        for level, (choose, confirm, _, further) in levels.items():
            cells = (f"{without:.2f} / {contrast:.2f}" for without, contrast in (choose, confirm, further))
            lines.append(_line(f"{setting} = {level}", *cells))
    return lines


def _whole(result: dict[str, Any]) -> list[str]:
    lines = _heads(f"each of {result['rows']} rows, {result['modules']} modules", "rank one", "whole matrices")
    seconds, size = result["cpu_seconds"], result["bytes_per_row"]
    kept = ("rank one", "whole")
    lines += [
        _line("capture, CPU s (the same pass)", *[seconds["capture"]] * 2),
        _line("from projected matrices to what is kept, CPU s", *(seconds[name] for name in kept)),
        _line("both, CPU s", *(round(seconds["capture"] + seconds[name], 1) for name in kept)),
        _line("bytes a row", *(size[name] for name in kept)),
    ]
    lines += [
        "",
        *_heads("rank one / whole, the difference", "pairs, all five", "pairs, more splits", "same, more splits"),
    ]
    for name, parts in result["methods"].items():
        cells = [
            f"{row['pairs_rank_one']:.2f} / {row['pairs_whole']:.2f}, {_interval(row['pairs_difference'])}"
            for row in (parts["five"], parts["further"])
        ]
        more = parts["further"]
        lines.append(_line(name, *cells, f"{more['same_rank_one']:.2f} / {more['same_whole']:.2f}"))
    return lines


def _with(levels: dict[str, list[list[float]]]) -> list[float]:
    """The averages with a contrast set on the further splits."""
    return [values[3][1] for values in levels.values()]


def _met(reached: bool) -> str:
    return "met" if reached else "missed"


def _heads(*names: str) -> list[str]:
    return [_line(*names), "|" + "---|" * len(names)]


def _line(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _interval(value: list[float]) -> str:
    return f"{value[0]:.2f} [{value[1]:.2f}, {value[2]:.2f}]"
