"""Writes the tables of benchmarks/README.md from the results that the benchmarks left in benchmarks/results.

python benchmarks/tables.py
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from ranking_tables import ranking_table

HERE = Path(__file__).parent
_EMBED = (
    ("ratio_to_forward", "CPU time against the plain forward pass, 60 % of the tokens labelled", "<= 1.40"),
    ("ratio_to_forward_all", "the same, every token labelled", "<= 1.55"),
    ("rows_per_cpu_second", "rows per CPU second, 60 % labelled", ""),
    ("peak_rss_mb", "peak anonymous memory, MiB", ""),
    ("bytes_per_row", "bytes a row", ""),
)

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


def device_table(result: dict[str, Any]) -> str:
    """The lines of the tables of `device.py`: what was measured, and where the time goes."""
    gpu = result["device"] != "CPU"
    size = (
        f"{result['layers']} of 28 blocks, {result['dtype']}, {result['rows']} rows of {result['tokens']} tokens"
    )
    lines = [f"| {result['device']}: {size} | measured | range | goal |", "|---|---|---|---|"]
    figures = [
        (f"rows per {'' if gpu else 'CPU '}second", "rows_per_second", ">= 261 on one H200" if gpu else ""),
        (f"{'' if gpu else 'CPU '}time against the plain forward pass", "ratio_to_forward", ""),
        ("the same, counted in operations", "counted_ratio", ""),
        ("peak memory, MiB", "peak_memory_mb", ""),
        ("GFLOP a row", "gflop_per_row", ""),
        ("share of the GPU's peak", "share_of_peak", ""),
        ("share of the time that the GPU works", "device_busy", ""),
    ]
    for name, key, goal in figures:
        spread = result.get(f"{key}_range")
        between = f"{spread[0]} to {spread[1]}" if isinstance(spread, list) else ""
        if result.get(key) is not None:
            lines.append(f"| {name} | {result[key]} | {between} | {goal} |")
    lines += ["", "| part of the embedding | share of its time |", "|---|---|"]
    lines += [f"| {name} | {share:.1%} |" for name, share in result["profile"].items()]
    lines += ["", "| all 28 blocks, 700 tokens, counted | against the plain forward pass |", "|---|---|"]
    for share in (60, 100):
        lines.append(f"| {share} % of the tokens labelled | {result[f'counted_ratio_whole_{share}']} |")
    return "\n".join(lines)


def redact_table(result: dict[str, Any]) -> str:
    """The lines of the tables of `redact.py`."""
    names = {
        "presidio": "Presidio, `BatchAnalyzerEngine`",
        "rules": "rules + guard",
        "model": "token model + guard",
    }
    goals = {"rules": ">= 5", "model": ">= 0.4"}
    size = f"{result['messages']:,} messages, {result['sessions']:,} sessions"
    lines = [f"| {size} | messages per CPU second | against Presidio | range | goal |", "|---|---|---|---|---|"]
    for name, part in result["systems"].items():
        cells = (names.get(name, name), part["messages_per_cpu_second"], part["ratio_to_presidio"])
        lines.append(
            f"| {' | '.join(map(str, cells))} | {' to '.join(map(str, part['range']))} | {goals.get(name, '')} |"
        )
    lines += ["", "| sessions that `tamis redact` reads | peak memory, MiB |", "|---|---|"]
    lines += [f"| {int(number):,} | {peak} |" for number, peak in result["peak_memory_mb"].items()]
    return "\n".join([*lines, f"| load average | {result['load_average']} |"])


def rendered(text: str) -> str:
    """The README's text with every table made from its result file, where there is one."""
    tables = {
        "embed": embed_table,
        "peers": peers_table,
        "device": device_table,
        "scaling": scaling_table,
        "score": score_table,
        "score_highest": score_highest_table,
        "ranking": ranking_table,
        "redact": redact_table,
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
