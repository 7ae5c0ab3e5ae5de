"""The second stage of an audit: a file in which a person says of every item what it is, round after round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tamis.errors import UsageError
from tamis.metrics.agreement import MISSING, cohen_kappa, gwet_ac1, krippendorff_alpha
from tamis.pii.assess import DETECTOR, FALSE, MISSED, TRUE, Item, item_id
from tamis.pii.private import read_private, write_private

UNSURE = "unsure"
ENOUGH = 95
"""The per cent of the items that have to be resolved before a round is the last one."""
_FIXED = ("origin", "label")
_FILLED: dict[str, tuple[type, ...]] = {
    "verdict": (str,),
    "original": (str,),
    "reviewer": (str,),
    "resolved": (bool,),
}
_TO_FILL = "only verdict, original, reviewer and resolved are to be filled in"
_KEYS = {*Item.__dataclass_fields__, *_FILLED}


@dataclass(frozen=True)
class Reviewed:
    """An item and what was said of it.

    Attributes:
        item: The item.
        verdict: The reviewer's: `true`, `false`, `missed` or `unsure`; None as long as nobody said anything.
        original: What the reviewer takes it to have been, where that can be told.
        reviewer: Who that was.
        resolved: Whether the verdict is sure, and nobody else's is another.
    """

    item: Item
    verdict: str | None = None
    original: str | None = None
    reviewer: str | None = None
    resolved: bool = False

    @property
    def is_sure(self) -> bool:
        """Whether the reviewer decided."""
        return self.verdict not in (None, UNSURE)

    @property
    def outcome(self) -> str:
        """The verdict where it is resolved, else what is proposed: nothing unresolved comes to light by it."""
        return self.verdict if self.resolved and self.verdict else self.item.proposed


Review = dict[str, tuple[str, Reviewed]]
"""The items of a review file by their ids, each with the place of its line."""


def read_review(path: Path) -> Review:
    """What a review file says.

    Raises:
        UsageError: A line is broken, stands twice, or contradicts itself; the sentence names file and line.
    """
    found: Review = {}
    for where, fields in read_private(path):
        missing = [key for key in _KEYS - {"original", "reviewer", "resolved"} if key not in fields]
        unknown = [key for key in fields if key not in _KEYS]
        if missing or unknown:
            told = f"has no {min(missing)}" if missing else f"has an unknown key {min(unknown)!r}"
            raise UsageError(f"{where}: {told}; copy the line anew from a fresh review file, or take the key out")
        reviewed = _reviewed(where, fields)
        name = reviewed.item.item
        if name in found:
            raise UsageError(f"{where}: the item {name} stands in {found[name][0].rpartition(': ')[2]} too")
        found[name] = (where, reviewed)
    return found


def _reviewed(where: str, fields: Mapping[str, Any]) -> Reviewed:
    for key, kinds in _FILLED.items():
        if fields.get(key) is not None and not isinstance(fields[key], kinds):
            wanted = "true or false" if bool in kinds else "text in quotes, or null"
            raise UsageError(f"{where}: {key} is not {wanted}")
    item = Item(**{key: fields[key] for key in Item.__dataclass_fields__})
    place = (item.session_id, item.sequence_id, item.start, item.end)
    if not all(type(number) is int for number in place[1:]) or item.item != item_id(*place):
        raise UsageError(f"{where}: its item or its place was edited; {_TO_FILL}")
    allowed = (MISSED if item.origin == DETECTOR else TRUE, FALSE, UNSURE)
    said = str(fields["verdict"]).strip().lower() if fields["verdict"] is not None else None
    if said is not None and said not in allowed:
        raise UsageError(
            f"{where}: the verdict is none of {', '.join(allowed)}, which are those of a {item.origin}'s items"
        )
    if fields.get("resolved") and said in (None, UNSURE):
        raise UsageError(f"{where}: is resolved, and its verdict is {said or 'empty'}: give it one, or say false")
    return Reviewed(item, said, fields.get("original"), fields.get("reviewer"), bool(fields.get("resolved")))


def merged(items: Sequence[Item], mine: Review, others: Sequence[Review] = ()) -> list[Reviewed]:
    """The items in the corpus's order with all that was said of them; those of earlier runs stay.

    Raises:
        UsageError: A line is not of this corpus, or what may not be edited was; the sentence names file and line.
    """
    known = {item.item: item for item in items}
    known |= {name: reviewed.item for name, (_, reviewed) in mine.items() if name not in known}
    for review in (mine, *others):
        for name, (where, reviewed) in review.items():
            item = known.get(name)
            edited = [key for key in _FIXED if item and getattr(item, key) != getattr(reviewed.item, key)]
            if item is None or edited:
                told = f"its {edited[0]} was edited" if edited else f"there is no item {name} in this audit"
                raise UsageError(f"{where}: {told}; {_TO_FILL}")
    order = {item.session_id: i for i, item in reversed([*enumerate(items)])}
    listed = sorted(known.values(), key=lambda i: (order.get(i.session_id, 0), i.sequence_id, i.start, i.end))
    return [_settled(item, mine, others) for item in listed]


def _settled(item: Item, mine: Review, others: Sequence[Review]) -> Reviewed:
    if item.item not in mine:
        return Reviewed(item)
    said = mine[item.item][1]
    apart = any(
        other[item.item][1].is_sure and other[item.item][1].verdict != said.verdict
        for other in others
        if item.item in other
    )
    # The reviewer decided on what the line showed, and a later run may propose something else.
    shown = said.item if said.verdict is not None else item
    return Reviewed(shown, said.verdict, said.original, said.reviewer, said.is_sure and not apart)


def write_review(path: Path, reviewed: Sequence[Reviewed]) -> None:
    """Writes the review file whole or not at all; only its owner reads it."""
    write_private(path, ({**asdict(one.item), **{key: getattr(one, key) for key in _FILLED}} for one in reviewed))


def is_over(reviewed: Sequence[Reviewed]) -> bool:
    """Whether 95 % of the items are resolved."""
    return 100 * sum(one.resolved for one in reviewed) >= ENOUGH * len(reviewed)


def agreement(reviewed: Sequence[Reviewed], others: Sequence[Review]) -> dict[str, Any]:
    """How far the reviewer and the proposals, and the reviewers, say the same of what is personal."""
    own = [_rating(one.verdict) for one in reviewed]
    proposed = [_rating(one.item.proposed) for one in reviewed]
    by_others = [
        [_rating(other[one.item.item][1].verdict) if one.item.item in other else MISSING for one in reviewed]
        for other in others
    ]
    told: dict[str, Any] = {"reviewer_and_proposal": _measures([own, proposed])}
    if others:
        told["reviewers"] = _measures([own, *by_others])
    return told


def _rating(verdict: str | None) -> int:
    return MISSING if verdict in (None, UNSURE) else int(verdict in (TRUE, MISSED))


def _measures(columns: Sequence[Sequence[int]]) -> dict[str, Any]:
    ratings = np.array(columns, np.int64).T.reshape(-1, len(columns))
    rated = (ratings != MISSING).sum(axis=1) >= 2
    told: dict[str, Any] = {"items": int(rated.sum()), "raters": len(columns)}
    if not told["items"]:
        return told
    alike = [len({*row} - {MISSING}) == 1 for row in ratings[rated].tolist()]
    told["agreed"] = sum(alike) / len(alike)
    measures = {"krippendorff_alpha": krippendorff_alpha, "gwet_ac1": gwet_ac1}
    if len(columns) == 2:
        measures = {"cohen_kappa": cohen_kappa, **measures}
    for name, measure in measures.items():
        try:
            value = measure(ratings, 2)
            told[name] = {key: round(number, 4) for key, number in value._asdict().items()}
        except ValueError as error:
            told[name] = {"undefined": str(error)}
    return told
