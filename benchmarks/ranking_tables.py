"""What benchmarks/README.md shows of the study of the ranking: every figure of it, from results/ranking.json."""

from __future__ import annotations

from textwrap import wrap
from typing import Any

_LISTS = ("dolly", "gsm8k", "alpaca")
_PARTS = ("choose", "confirm", "five", "further")


def ranking_table(result: dict[str, Any]) -> str:
    """The lines of the figures in words and of every table of `ranking.py`."""
    parts = [_figures(result), _methods(result), _differences(result), _settings(result)]
    if "rank_one_against_whole" in result:
        parts.append(_whole(result["rank_one_against_whole"]))
    return "\n\n".join("\n".join(lines) for lines in parts)


def _figures(result: dict[str, Any]) -> list[str]:
    """The figures that the text rests on and that stand in no table."""
    settings, counts, clusters = result["settings"], result["counts"], result["clusters"]
    groups, splits = counts["by_group"], result["splits"]
    bad, good = (
        sum(groups[name + end] for name in ("exploits", "info_integrity", "privacy")) for end in (" +", "")
    )
    pairs = [one["pairs"] for one in splits]
    topic = [one["harmful"] / (one["harmful"] + one["harmless"]) for one in splits]
    more = f"the {settings['further_splits']} more"
    every = result["all_methods_pairs_auroc"]
    without = {name: max(values) for name, values in every.items() if "contrast" not in name}
    further = {name: values[_PARTS.index("further")] for name, values in every.items()}
    goal = [
        f"{'met' if one['reached'] else 'missed'} on {told} ({one['pairs_auroc']:.2f}; the lowest bound is "
        f"{min(low for _, low, _ in result['differences'][name].values()):.2f})"
        for (name, one), told in zip(result["goal"].items(), ("the splits that confirm", more), strict=True)
    ]
    spread = (
        f"{field} {max(_contrasted(levels)) - min(_contrasted(levels)):.2f}"
        for field, levels in result["factors"].items()
    )
    told = [
        f"Rows: {bad} harmful and {good} harmless answers, {counts['truncated_labelled']} of these cut at "
        f"{settings['max_length']} tokens; {groups['refusal']} refusals, {groups['gsm8k']} rows of GSM8K and "
        f"{groups['dolly']} of Dolly; {counts['rows']} with the lists.",
        f"Pairs of like length: {min(pairs)} to {max(pairs)} a split; on each set of splits, "
        f"{min(clusters.values())} to {max(clusters.values())} groups that share no row. From the lists "
        f"(Dolly / GSM8K / Alpaca): {' / '.join(str(result['list_pairs'][name]) for name in _LISTS)}.",
        f"The goal, {settings['goal']} within pairs and the lower bounds of all differences above 0: "
        f"{', '.join(goal)}.",
        f"The highest within pairs without a contrast set, on any set of splits: {_highest(without)}.",
        f"The highest within pairs on {more}: {_highest(further)}.",
        f"Averages with a contrast set on {more}, the highest less the lowest: {', '.join(spread)}.",
        f"The precision of a score that knew the topic and nothing else: {sum(topic) / len(topic):.2f}.",
        f"Rank one keeps {counts['energy_of_rank_one']:.2f} of the squared norm of the projected matrices.",
        f"CPU seconds: {', '.join(f'{name} {value}' for name, value in result['cpu_seconds'].items())}.",
    ]
    return [line for one in told for line in wrap(f"- {one}", 115, subsequent_indent="  ", break_on_hyphens=False)]


def _highest(values: dict[str, float]) -> str:
    """The highest of gradients and the highest of words, with their names."""
    gradients = {name: value for name, value in values.items() if "K = " in name}
    kinds = {"gradients": gradients, "words": {n: v for n, v in values.items() if n not in gradients}}
    return ", ".join(
        f"{max(kind.values()):.2f} of {told} ({max(kind, key=lambda name: kind[name])})"
        for told, kind in kinds.items()
    )


def _contrasted(levels: dict[str, list[list[float]]]) -> list[float]:
    """The averages with a contrast set on the further splits."""
    return [values[_PARTS.index("further")][1] for values in levels.values()]


def _methods(result: dict[str, Any]) -> list[str]:
    base = next(iter(result["shown"].values()))["confirm"]
    more = f"{result['settings']['further_splits']} more"
    lines = _heads(
        "score",
        "pairs, splits that choose",
        "pairs, splits that confirm",
        f"pairs, {more}",
        "same category",
        f"same, AUPRC (base {base['same_base']:.2f})",
        "all",
        f"all, AUPRC (base {base['all_base']:.2f})",
        f"top tenth, precision (base {base['all_base']:.2f})",
        f"top tenth, {more}",
        "lists, Dolly / GSM8K / Alpaca",
    )
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
    lines = _heads(f"{result['rows']} labelled answers, {result['modules']} modules", "rank one", "whole matrices")
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


def _heads(*names: str) -> list[str]:
    return [_line(*names), "|" + "---|" * len(names)]


def _line(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _interval(value: list[float]) -> str:
    return f"{value[0]:.2f} [{value[1]:.2f}, {value[2]:.2f}]"
