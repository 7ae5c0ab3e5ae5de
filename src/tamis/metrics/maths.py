"""Where a text holds maths, as the metrics define it.

The definition belongs to the metric and stays apart from the patterns that detectors use (`pii/maths.yaml`): a
guard must not be marked by its own list. It is that of the scorer behind the reference numbers of stock detectors;
to change it is to change every share of maths preserved.
"""

from __future__ import annotations

import re

_NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)?"
_SIGNED = rf"[-−]?{_NUMBER}"
_LETTER = r"(?<![A-Za-z])[A-Za-z](?![A-Za-z'’])"  # alone: no part of a word, nor of I'm
_UNIT = (
    r"(?:km/h|mph|km|cm|mm|m|miles?|feet|ft|inches|yards?|kg|g|pounds?|lbs?|mL|L|litres?|liters?|cents?|dollars?|degrees"
    r"|days?|weeks?|months?|years?|hours?|hrs?|h|minutes?|mins?|seconds?|secs?)\b"
)

KINDS = {
    "LaTeX command": r"\\[A-Za-z]+|\\[()\[\]]",
    "inline formula": r"\$[^$\n]*[-\\^_=+*/<>][^$\n]*\$",
    "operator between terms": (
        rf"(?:{_NUMBER}|{_LETTER}|[)\]}}|])\s*(?:[<>=!]=|[-=+*/^<>×÷·≤≥≠≈±−])\s*(?:{_NUMBER}|{_LETTER}|[-−(\[{{|\\√∛])"
    ),
    "x for times": rf"{_NUMBER}\s*[xX]\s*{_NUMBER}",
    "operation in words": rf"{_NUMBER}\s*(?:plus|minus|times|divided by|over|squared|cubed|mod)\b",
    "root in words": r"\b(?:square root of|sqrt)\b",
    "named function": r"\b(?:sin|cos|tan|log|ln)(?:\d|_|\s*\(|\s+(?:\d|[exyznθ]\b))",
    "function value": r"[A-Za-z]['’]?\([-A-Za-z0-9+*/^ ]{1,12}\)(?:\s*=|(?=\W*$))",
    "coordinates": rf"[(\[]\s*{_SIGNED}(?:\s*,\s*{_SIGNED})+\s*[)\]]",
    "three numbers in a row": rf"(?<![\w.]){_SIGNED}(?:(?:,\s*|\s+){_SIGNED}){{2,}}",
    "index": r"\b[A-Za-z]_\{?[A-Za-z0-9]",
    "measure": rf"(?<![\w.-])\d+\s*{_UNIT}",
    "decimals": r"\d+\.\d{2,}",
    "sign": r"\d\s*[%°]|[√∛∫∑∆πθ∞∠△∥≅≈²³½¼¾⅓⅔]",
    "thousands": r"(?<![\w.-])\d{1,3}(?:,\d{3})+(?![\w-])",
    "six digits or more": r"(?<![\w.-])\d{6,}(?![\w-])",
    "price or term": r"\$\s?\d|\d[a-z](?:\b|[-\^²³+*/=])(?<!\ds)",
    "bare number": rf"\A\W*{_SIGNED}\W*\Z",
}
"""What counts as maths. Where two kinds begin at one place, the first in this order is taken."""

_ANY = re.compile("|".join(KINDS.values()))


def pieces(text: str) -> list[tuple[int, int]]:
    """The start and end of each piece of maths, in order."""
    return [match.span() for match in _ANY.finditer(text)]
