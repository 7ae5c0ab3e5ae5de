"""Writes the tables of benchmarks/README.md from the results that the benchmarks left in benchmarks/results.

python benchmarks/tables.py
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
_EMBED = (
    ("ratio_to_forward", "CPU time against the plain forward pass, 60 % of the tokens labelled", "<= 1.40"),
    ("ratio_to_forward_all", "the same, every token labelled", "<= 1.55"),
    ("rows_per_cpu_second", "rows per CPU second, 60 % labelled", ""),
    ("peak_rss_mb", "peak anonymous memory, MiB", ""),
    ("bytes_per_row", "bytes a row", ""),
)
_LISTS = ("dolly", "gsm8k", "alpaca")


_SCORE = (
    ("cpu_seconds", "new mean target to a score for every row, CPU s", "<= 10"),
    ("seconds", "the same, wall s", "<= 10"),
    ("peak_rss_mb", "peak anonymous memory of it, MiB", "flat in rows"),
    ("rank_cpu_seconds", "sort by score and row id, CPU s", ""),
    ("write_cpu_seconds", "`scores.parquet` written, CPU s", ""),
    ("select_cpu_ms", "exact cut of a fifth on loaded columns, CPU ms", "<= 50"),
    ("select_ms", "the same, wall ms", "<= 50"),
    ("load_average", "processes that wanted one of the two cores meanwhile (load average)", ""),
    ("peak_rss_all_mb", "peak anonymous memory with ranking and cut, MiB", ""),
)


_SCALING = {
    "rows": (
        "rows cpu_seconds wall_seconds peak_rss_mb again_cpu_seconds again_peak_rss_mb",
        "| rows | CPU s | wall s | peak anonymous memory, MiB | on the finished index, CPU s | the same, MiB |",
    ),
    "tokens": (
        "tokens_per_row rows cpu_seconds cpu_ms_per_token ratio_to_forward peak_rss_mb",
        "| tokens a row | rows | CPU s | CPU ms a token | against the plain forward pass | peak, MiB |",
    ),
    "processes": (
        "processes wall_seconds cpu_seconds start_wall_seconds start_cpu_seconds",
        "| processes | wall s | CPU s of all | on the finished index, wall s | the same, CPU s |",
    ),
}
_ONE_ROW = (
    ("cpu_ms", "CPU ms"),
    ("again_cpu_ms", "CPU ms on the finished index (read, fingerprint, check, join)"),
    ("memory_bytes", "bytes of peak anonymous memory"),
    ("again_memory_bytes", "the same on the finished index"),
)


def embed_table(result: dict[str, Any]) -> str:
    """The lines of the table of `embed.py`."""
    lines = ["| what | measured | range | goal |", "|---|---|---|---|"]
    for key, name, goal in _EMBED:
        spread = result.get(f"{key}_range")
        between = f"{spread[0]} to {spread[1]}" if isinstance(spread, list) else ""
        lines.append(f"| {name} | {result[key]} | {between} | {goal} |")
    return "\n".join(lines)


def peers_table(result: dict[str, Any]) -> str:
    """The lines of the table of `peers.py`."""
    lines = ["| system | CPU time against the plain forward pass | rows per CPU second | bytes a row |"]
    lines.append("|---|---|---|---|")
    for name, figures in result["systems"].items():
        cells = [figures[key] for key in ("ratio_to_forward", "rows_per_cpu_second", "bytes_per_row")]
        lines.append(f"| {name} | {' | '.join(map(str, cells))} |")
    return "\n".join([*lines, f"| load average | {result['load_average']} | | |"])


def score_table(result: dict[str, Any]) -> str:
    """The lines of the table of `score.py`."""
    lines = [f"| {result['rows']:,} rows x {result['modules']} modules | measured | goal |", "|---|---|---|"]
    lines += [f"| {name} | {result[key]} | {goal} |" for key, name, goal in _SCORE]
    return "\n".join(lines)


def score_highest_table(result: dict[str, Any]) -> str:
    """The lines of the table of `score.py --highest`."""
    size = f"{result['rows']:,} rows x {result['targets']:,} targets x {result['modules']} modules"
    lines = [
        f"| {size} | CPU s | wall s | rows per CPU second | peak anonymous memory, MiB |",
        "|---|---|---|---|---|",
    ]
    keys = ("cpu_seconds", "seconds", "rows_per_cpu_second", "peak_rss_mb")
    for name, words in (("max", "nearest target"), ("topk", f"mean of the {result['topk']['nearest']} nearest")):
        lines.append(f"| {words} | {' | '.join(str(result[name][key]) for key in keys)} |")
    return "\n".join([*lines, f"| load average | {result['load_average']} | | | |"])


def scaling_table(result: dict[str, Any]) -> str:
    """The lines of the tables of `scaling.py`: rows, tokens a row, processes."""
    lines = []
    for part, (keys, header) in _SCALING.items():
        lines += ["", header, "|" + "---|" * len(keys.split())]
        for run in result[part]["runs"]:
            lines.append(f"| {' | '.join(f'{run[key]:,}' for key in keys.split())} |")
    a_row, load = result["rows"]["one_row_more"], [result[part]["load_average"] for part in _SCALING]
    lines += ["", "| between the two largest numbers of rows, one row more | measured |", "|---|---|"]
    lines += [f"| {name} | {a_row[key]} |" for key, name in _ONE_ROW]
    return "\n".join([*lines[1:], f"| load average after each of the three parts | {', '.join(map(str, load))} |"])


def ranking_table(result: dict[str, Any]) -> str:
    """The lines of the tables of `ranking.py`: the methods, and the chosen one's differences to the others."""
    first = next(iter(result["shown"].values()))["confirm"]
    lines = [
        "| score | pairs, splits that choose | pairs, splits that confirm | pairs, 20 more splits | same category "
        f"| same, AUPRC (base {first['same_base']:.2f}) | all | all, AUPRC (base {first['all_base']:.2f}) "
        "| lists, Dolly / GSM8K / Alpaca |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, row in result["shown"].items():
        one, spread = row["confirm"], row["confirm_intervals"]
        cells = [
            f"**{name}**" if name == result["chosen"] else name,
            f"{row['choose']['pairs_auroc']:.2f}",
            _interval(spread["pairs_auroc"]),
            f"{row['further_pairs_auroc']:.2f}",
            _interval(spread["same_auroc"]),
            f"{one['same_auprc']:.2f}",
            _interval(spread["all_auroc"]),
            f"{one['all_auprc']:.2f}",
            " / ".join(f"{one[f'list_{data}_auroc']:.2f}" for data in _LISTS),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    lines += [
        "",
        "| the chosen score minus | splits that choose | splits that confirm | all five | 20 more |",
        "|---|---|---|---|---|",
    ]
    parts = [result["differences"][part] for part in ("choose", "confirm", "five", "further")]
    lines += [f"| {name} | {' | '.join(_interval(part[name]) for part in parts)} |" for name in parts[0]]
    lines += ["", "| setting, mean over all others | splits that choose | splits that confirm | 20 more |"]
    lines.append("|---|---|---|---|")
    for setting, levels in result["factors"].items():
        for level, (choose, confirm, _, further) in levels.items():
            lines.append(f"| {setting} = {level} | {choose:.2f} | {confirm:.2f} | {further:.2f} |")
    return "\n".join(lines)


def _interval(value: list[float]) -> str:
    return f"{value[0]:.2f} [{value[1]:.2f}, {value[2]:.2f}]"


def rendered(text: str) -> str:
    """The README's text with every table made from its result file, where there is one."""
    tables = {
        "embed": embed_table,
        "peers": peers_table,
        "scaling": scaling_table,
        "score": score_table,
        "score_highest": score_highest_table,
        "ranking": ranking_table,
    }
    for name, table in tables.items():
        file = HERE / "results" / f"{name}.json"
        if file.is_file():
            lines = table(json.loads(file.read_text()))
            block = f"<!-- {name} -->\n{lines}\n<!-- end -->"
            text = re.sub(f"<!-- {name} -->\n.*?<!-- end -->", lambda _, new=block: new, text, count=1, flags=re.S)
    return text


def main() -> None:
    """Rewrites the README's tables."""
    readme = HERE / "README.md"
    readme.write_text(rendered(readme.read_text()))


if __name__ == "__main__":
    main()
