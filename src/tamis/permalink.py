"""A selection's recipe as a query string: the fields that make it again anywhere, and the digests that check it.

The string stands in `selection.yaml` and is printed by `tamis select`; a card holds the same as YAML. Neither
names a file, nor holds text of rows: whoever repeats a recipe names his own index, target and scores.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import yaml

from tamis.errors import UsageError
from tamis.recipe import ScoreRecipe, SelectRecipe


def _boolean(text: str) -> bool:
    return {"true": True, "false": False}[text.lower()]


def _digest(text: str) -> str:
    if not re.fullmatch("[0-9a-f]{12}|[0-9a-f]{64}", text):
        raise ValueError("not a digest")
    return text


_FIELDS: dict[str, Callable[[str], Any]] = {
    "similarity": str,
    "aggregate": str,
    "topk": int,
    "split_targets": _boolean,
    "weight": float,
    "ratio": float,
    "source": str,
    "language": str,
}
_DIGESTS = ("selection", "scores", "index", "target", "contrast", "keep", "remove")
_OF_SCORES = (*[*_FIELDS][:5], "index", "target", "contrast")
_OF_SELECTIONS = (*[*_FIELDS][5:], "keep", "remove")
_LISTS = ("weight", "source", "language", "target")
_SELECTION, _CARD = "selection.yaml", "README.md"
_UNDERSTOOD = f"a {_SELECTION}, a card ({_CARD}, or its data set on the Hub) or a link"
_LONGEST = 1 << 16


def query(block: Mapping[str, Any]) -> str:
    """What travels of a selection, as `similarity=cosine&ratio=0.2&...`.

    Args:
        block: What `selection.portable` gives, or a card's `tamis` block, which holds more.

    Raises:
        UsageError: It is no such block.
    """
    recipe = block.get("recipe")
    if not isinstance(recipe, Mapping):
        raise UsageError(f"--recipe: it holds no recipe of a selection; understood: {_UNDERSTOOD}")
    pairs = []
    for key, value in [*recipe.items(), *((key, block[key]) for key in _DIGESTS if key in block)]:
        for one in value if isinstance(value, list) else [value]:
            if not isinstance(one, str | int | float):
                raise UsageError(f"--recipe: its {key!s:.40} is neither text nor a number")
            pairs.append((str(key), str(one)))
    return urlencode(pairs)


def parse(text: str) -> dict[str, Any]:
    """What `selection.portable` gives, of a URL or its query string.

    Raises:
        UsageError: A key is unknown or stands twice, or a value does not fit it.
    """
    held = urlsplit(text).query if "://" in text else text.rpartition("?")[2]
    try:
        pairs = parse_qsl(held, keep_blank_values=True, strict_parsing=True, errors="strict")
    except ValueError as error:
        raise UsageError("--recipe: the link holds no recipe in its query (?similarity=...&ratio=...)") from error
    found: dict[str, Any] = {}
    for key, value in pairs:
        kind = _FIELDS.get(key, _digest if key in _DIGESTS else None)
        if kind is None:
            valid = ", ".join((*_FIELDS, *_DIGESTS))
            raise UsageError(f"--recipe: the link has the unknown key {key[:40]!r}; valid: {valid}")
        try:
            one = kind(value)
        except (ValueError, KeyError) as error:
            raise UsageError(f"--recipe: the link's {key} {value[:80]!r} is not one") from error
        if key in found and key not in _LISTS:
            raise UsageError(f"--recipe: the link has {key} twice")
        found[key] = [*found.get(key, []), one] if key in _LISTS else one
    recipe = {key: value for key, value in found.items() if key in _FIELDS}
    return {"recipe": recipe, **{key: value for key, value in found.items() if key in _DIGESTS}}


def read(text: str) -> dict[str, Any]:
    """The recipe of a selection.yaml, of a card, here or on the Hub, or of a link, whose address nobody asks.

    Raises:
        UsageError: There is none, or it is not whole.
    """
    if "://" in text or len(text) > _LONGEST:
        return parse(text[:_LONGEST])
    path = Path(text)
    if path.is_dir():
        path = next((file for name in (_SELECTION, _CARD) if (file := path / name).is_file()), path / _SELECTION)
    if path.is_file():
        try:
            return parse(query(_block(path.read_text(encoding="utf-8"))))
        except (OSError, ValueError, yaml.YAMLError) as error:
            reason = str(error).removeprefix("--recipe: ") if isinstance(error, UsageError) else "cannot be read"
            raise UsageError(f"--recipe {path}: {reason}") from error
    if "=" in text:
        return parse(text)
    from tamis.hub.fetch import is_repo_id, read_card

    if not is_repo_id(text):
        raise UsageError(f"--recipe {text}: there is no such file; understood: {_UNDERSTOOD}")
    try:
        return parse(query(_block(read_card(text))))
    except ValueError as error:
        raise UsageError(f"--recipe {text}: {str(error).removeprefix('--recipe: ')}") from error


def _block(text: str) -> Mapping[str, Any]:
    """The `tamis` block of a card, or the recipe in a selection.yaml.

    Raises:
        ValueError: There is none.
    """
    from tamis.hub.front_matter import split

    if text.startswith("---"):
        block = split(text)[0].get("tamis")
        return block if isinstance(block, Mapping) else {}
    facts = yaml.safe_load(text)
    link = facts.get("link") if isinstance(facts, dict) else None
    return parse(link) if isinstance(link, str) else {}


def defaults(verb: type, block: Mapping[str, Any]) -> dict[str, Any]:
    """The recipe's fields that a verb has: what holds where no flag says otherwise.

    Args:
        verb: `ScoreRecipe` or `SelectRecipe`.
        block: What `read` gives.
    """
    return {field.name: block["recipe"][field.name] for field in fields(verb) if field.name in block["recipe"]}


def asked(recipe: ScoreRecipe | SelectRecipe) -> dict[str, Any]:
    """The recipe that is to be repeated; empty where there is none.

    Raises:
        UsageError: It cannot be read, or what else was asked for contradicts it.
    """
    if recipe.recipe is None:
        return {}
    block = read(recipe.recipe)
    for name, wanted in defaults(type(recipe), block).items():
        given = getattr(recipe, name)
        if name != "weight" and not _same(name, wanted, given):  # weights are shares there, and any numbers here
            raise UsageError(
                f"--{name} {_shown(given)}: the recipe has {_shown(wanted)}, and cannot be repeated with another; "
                f"leave out --{name}, or --recipe"
            )
    return block


def refuse_other(asked: Mapping[str, Any], name: str, found: Mapping[str, Any]) -> None:
    """Refuses what came out where its digest is not the recipe's.

    Args:
        asked: The recipe that is to be repeated, as `asked` gives it.
        name: The digest that decides: `scores` or `selection`.
        found: What travels of what came out.

    Raises:
        UsageError: Another one is asked for; the message says which parts differ.
    """
    if name not in asked or asked[name] == found[name]:
        return
    there, here = ({**block["recipe"], **block} for block in (asked, found))
    keys = _OF_SCORES if name == "scores" else (*_OF_SCORES, *_OF_SELECTIONS)
    parts = [
        f"--{key} ({_shown(there.get(key))} there, {_shown(here.get(key))} here)"
        for key in keys
        if not _same(key, there.get(key), here.get(key))
    ] or ["the names of the target sets, which are those of their files"]
    raise UsageError(
        f"--recipe: what comes out is not its {name} {asked[name]}, but {found[name]}; these differ: "
        f"{', '.join(parts)}; give what it was made with, or leave out --recipe"
    )


def _same(name: str, there: Any, here: Any) -> bool:
    return there == here or (name in ("source", "language") and {*(there or [])} == {*(here or [])})


def _shown(value: Any) -> str:
    if value in (None, []):
        return "none"
    return " ".join(map(str, value))[:80] if isinstance(value, list) else str(value)[:80]
