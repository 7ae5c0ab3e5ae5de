"""Writes the tables of benchmarks/README.md from the results that the benchmarks left in benchmarks/results.

python benchmarks/tables.py
"""

from __future__ import annotations

import json
import re
from pathlib import Path

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


def embed_table(result: dict[str, object]) -> str:
    """The lines of the table of `embed.py`."""
    lines = ["| what | measured | range | goal |", "|---|---|---|---|"]
    for key, name, goal in _EMBED:
        spread = result.get(f"{key}_range")
        between = f"{spread[0]} to {spread[1]}" if isinstance(spread, list) else ""
        lines.append(f"| {name} | {result[key]} | {between} | {goal} |")
    return "\n".join(lines)


def score_table(result: dict[str, object]) -> str:
    """The lines of the table of `score.py`."""
    lines = [f"| {result['rows']:,} rows x {result['modules']} modules | measured | goal |", "|---|---|---|"]
    lines += [f"| {name} | {result[key]} | {goal} |" for key, name, goal in _SCORE]
    return "\n".join(lines)


def rendered(text: str) -> str:
    """The README's text with every table made from its result file."""
    for name, table in (("embed", embed_table), ("score", score_table)):
        lines = table(json.loads((HERE / "results" / f"{name}.json").read_text()))
        text = re.sub(rf"(?<=<!-- {name} -->\n).*?(?=\n<!-- end -->)", lines, text, flags=re.S)
    return text


def main() -> None:
    """Rewrites the README's tables."""
    readme = HERE / "README.md"
    readme.write_text(rendered(readme.read_text()))


if __name__ == "__main__":
    main()
