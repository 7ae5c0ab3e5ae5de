"""What a report's own numbers do not establish, in sentences: the page's last section."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_WIDE = 0.2
_FEW_TARGETS = 50
_LENGTH = 0.1


def gaps(facts: Mapping[str, Any]) -> list[str]:
    """One sentence for every gap of this run that its facts show."""
    return [*_of_the_rows(facts), *_of_the_cut(facts), *_of_the_gradients(facts)]


def _of_the_rows(facts: Mapping[str, Any]) -> list[str]:
    found = []
    for key, what in (("by_source", "source"), ("by_language", "language")):
        groups = facts[key]
        wide = [group for group in groups if group["high"] - group["low"] > _WIDE]
        if wide and len(groups) > 1:
            found.append(
                f"Few rows: {len(wide)} of the {len(groups)} lines of the {what} table have a 95 % interval wider "
                f"than {100 * _WIDE:.0f} points, so a difference between them may be chance."
            )
    if facts["target_rows"] < _FEW_TARGETS:
        found.append(
            f"The target set has {_rows(facts['target_rows'])}: with so few, other examples of the same kind "
            "could give another ranking."
        )
    if facts["target_excluded"]:
        found.append(f"{_rows(facts['target_excluded'], 'target row')} could not be embedded and had no say.")
    if facts["excluded"]:
        found.append(f"{_rows(facts['excluded'])} without a score: nothing is known of them.")
    if facts["outside"]:
        found.append(f"{_rows(facts['outside'])} outside the subset that was sieved: kept without being judged.")
    return found


def _of_the_cut(facts: Mapping[str, Any]) -> list[str]:
    found = []
    cut = facts["cut"]
    if facts["removed"] in (0, facts["sieved"]):
        some = "Every sieved row was" if facts["removed"] else "No row was"
        found.append(f"{some} removed: kept and removed rows cannot be compared.")
    elif cut and cut["spread"] and cut["above"] - cut["below"] < cut["spread"] / 10:
        found.append(
            f"The cut falls where scores lie close together: {cut['below']:.6g} is kept and {cut['above']:.6g} is "
            "removed. The ratio decided that, not a gap in the scores."
        )
    if facts["named"]["keep"] or facts["named"]["remove"]:
        found.append(
            f"{_rows(facts['named']['keep'])} named to be kept and {facts['named']['remove']:,} to be removed, "
            "whatever their score."
        )
    return found


def _of_the_gradients(facts: Mapping[str, Any]) -> list[str]:
    gradients = facts["gradients"]
    if gradients is None:
        return ["No gradient index was given: norms, truncation and lengths were not looked at."]
    found = []
    length = gradients["length_auroc"]
    if length is not None and abs(length - 0.5) > _LENGTH:
        found.append(
            f"Removed answers tend to be {'longer' if length > 0.5 else 'shorter'} than kept ones (AUROC "
            f"{length:.2f}): part of this ranking may be length."
        )
    norm = gradients["norm_auroc"]
    if norm is not None and abs(norm - 0.5) > _LENGTH:
        found.append(
            f"Removed rows tend to have {'larger' if norm > 0.5 else 'smaller'} gradients than kept ones (AUROC "
            f"{norm:.2f}): part of this ranking may be size."
        )
    truncated = gradients["truncated"]
    if truncated["part"]:
        found.append(
            f"{_rows(truncated['part'], 'sieved row')} ({truncated['share']:.1%}) cut off by the window: their "
            "scores say nothing of the rest."
        )
    return found


def _rows(count: int, what: str = "row") -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
