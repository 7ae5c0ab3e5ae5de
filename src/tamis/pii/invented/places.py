"""Towns, addresses and schools."""

# ruff: noqa: ARG001  a value may hang on its owner, or not

from __future__ import annotations

from random import Random

from tamis.pii.invented.owner import Owner, one, places


def town(rng: Random, owner: Owner, half: str) -> str:
    """A town, with its state at times."""
    made = f"{one(rng, half, 'town_heads')}{rng.choice(places()['town_tails'])}"
    place = rng.choice((one(rng, half, "cities"), one(rng, half, "cities"), made))
    return rng.choices(
        (place, f"{place}, {rng.choice(places()['states'])}", f"{place} {rng.choice(places()['states'])}"),
        (6, 1, 0.5),
    )[0]


def address(rng: Random, owner: Owner, half: str) -> str:
    """A street address, with more or less behind it."""
    street = (
        f"{rng.randrange(1, 9999)}"
        f" {rng.choices(('', 'N ', 'West ', 'S. '), (8, 1, 1, 1))[0]}{one(rng, half, 'street_names')}"
        f" {rng.choice(places()['street_kinds'])}"
    )
    if rng.random() < 0.1:
        street = (
            f"{rng.choice(('Calle', 'Avenida', 'Av.', 'C/', 'Rue', 'Rua'))} {one(rng, half, 'street_names')}"
            f" {rng.choice(('', '#', 'No. '))}{rng.randrange(1, 400)}"
        )
    flat = rng.choices(
        (
            "",
            f" Apt {rng.randrange(1, 40)}{rng.choice('ABC')}",
            f", Apt. {rng.randrange(1, 400)}",
            f" #{rng.randrange(1, 60)}",
            f" Unit {rng.randrange(1, 20)}",
        ),
        (6, 1, 1, 1, 1),
    )[0]
    place, state, code = (
        one(rng, half, "cities"),
        rng.choice(places()["states"]),
        f"{rng.randrange(10000, 99999)}",
    )
    tail = rng.choices(
        (
            "",
            f", {place}",
            f", {place}, {state} {code}",
            f", {place}, {state}",
            f" in {place}",
            f" {place} {state} {code}",
        ),
        (7, 2, 2, 1, 0.6, 1),
    )[0]
    return rng.choices((street + flat + tail, f"P.O. Box {rng.randrange(10, 9999)}{tail}"), (40, 1))[0]


def school(rng: Random, owner: Owner, half: str) -> str:
    """A school's name as people write it."""
    stem = rng.choice(
        (
            one(rng, half, "school_names"),
            one(rng, half, "street_names"),
            f"{one(rng, half, 'town_heads')}{rng.choice(places()['town_tails'])}",
        )
    )
    kind = rng.choice(places()["school_kinds"])
    other = (
        f"{rng.choice(('P.S.', 'PS', 'I.S.', 'IS', 'M.S.', 'MS', 'JHS', 'P.S./I.S.'))} {rng.randrange(2, 399)}",
        f"{one(rng, half, 'saints')} {rng.choice(places()['saint_kinds'])}",
        f"Escuela {rng.choice(('Primaria ', 'Secundaria ', ''))}{stem}",
        f"Colegio {stem}",
        f"{stem} {rng.choice(places()['special_kinds'])}",
    )
    return rng.choices((f"{stem} {kind}", rng.choice(other)), (3, 1))[0]
