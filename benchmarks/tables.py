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


def embed_table(result: dict[str, object]) -> str:
    """The lines of the table of `embed.py`."""
    lines = ["| what | measured | range | goal |", "|---|---|---|---|"]
    for key, name, goal in _EMBED:
        spread = result.get(f"{key}_range")
        between = f"{spread[0]} to {spread[1]}" if isinstance(spread, list) else ""
        lines.append(f"| {name} | {result[key]} | {between} | {goal} |")
    return "\n".join(lines)


def rendered(text: str) -> str:
    """The README's text with every table made from its result file."""
    table = embed_table(json.loads((HERE / "results" / "embed.json").read_text()))
    return re.sub(r"(?<=<!-- embed -->\n).*?(?=\n<!-- end -->)", table, text, flags=re.S)


def main() -> None:
    """Rewrites the README's tables."""
    readme = HERE / "README.md"
    readme.write_text(rendered(readme.read_text()))


if __name__ == "__main__":
    main()
