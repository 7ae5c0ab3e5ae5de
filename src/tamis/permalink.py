"""A selection's recipe as a query string: the fields that make it again anywhere, and the digests that check it.

The string stands in `selection.yaml` and is printed by `tamis select`; a card holds the same as YAML. Neither
names a file, nor holds text of rows: whoever repeats a recipe names his own index, target and scores.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from math import isfinite
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import yaml

from tamis.errors import UsageError
from tamis.recipe import ScoreRecipe, SelectRecipe


def _boolean(text: str) -> bool:
    return {"true": True, "false": False}[text]


def _number(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError("not finite")
    return number


def _digest(text: str) -> str:
    if not re.fullmatch("[0-9a-f]{12}|[0-9a-f]{64}", text):
        raise ValueError("not a digest")
    return text


_FIELDS: dict[str, Callable[[str], Any]] = {
    "similarity": str,
    "aggregate": str,
    "topk": int,
    "split_targets": _boolean,
    "weight": _number,
    "ratio": _number,
    "source": str,
    "language": str,
}
_DIGESTS = ("selection", "scores", "index", "target", "contrast", "keep", "remove")
_OF_SCORES = (*[*_FIELDS][:5], "index", "target", "contrast")
_OF_SELECTIONS = (*[*_FIELDS][5:], "keep", "remove")
_LISTS = ("weight", "source", "language", "target")
_SELECTION, _CARD = "selection.yaml", "README.md"
_UNDERSTOOD = f"a {_SELECTION}, a card ({_CARD}, or its data set on the Hub) or a link"


def query(block: Mapping[str, Any]) -> str:
    """What travels of a selection, as `similarity=cosine&ratio=0.2&...`.

    Args:
        block: What `selection.portable` gives, or a card's `tamis` block, which holds more.

    Raises:
        UsageError: It is no such block.
    """
    recipe = block.get("recipe")
    if not isinstance(recipe, Mapping):
        raise UsageError(f"it holds no recipe of a selection; understood: {_UNDERSTOOD}")
    pairs = []
    for key, value in [*recipe.items(), *((key, block[key]) for key in _DIGESTS if key in block)]:
        for one in value if isinstance(value, list) else [value]:
            if not isinstance(one, str | int | float):
                raise UsageError(f"its {str(key)[:40]!r} is neither text nor a number")
            pairs.append((str(key), str(one).lower() if isinstance(one, bool) else str(one)))
    return urlencode(pairs)


def parse(text: str) -> dict[str, Any]:
    """What `selection.portable` gives, of a URL or its query string.

    Raises:
        UsageError: A key is unknown or stands twice, or a value does not fit it.
    """
    held = urlsplit(text).query if "://" in text else text.rpartition("?")[2]
    try:
        pairs = parse_qsl(held, keep_blank_values=True, strict_parsing=True, errors="strict")
    except ValueError:
        pairs = []
    if not pairs:
        raise UsageError("the link holds no recipe in its query (?similarity=...&ratio=...)")
    found: dict[str, Any] = {}
    for key, value in pairs:
        kind = _FIELDS.get(key, _digest if key in _DIGESTS else None)
        if kind is None:
            valid = ", ".join((*_FIELDS, *_DIGESTS))
            raise UsageError(f"the link has the unknown key {key[:40]!r}; valid: {valid}")
        try:
            one = kind(value)
        except (ValueError, KeyError) as error:
            raise UsageError(f"the link's {key} {value[:80]!r} is not one") from error
        if key in found and key not in _LISTS:
            raise UsageError(f"the link has {key} twice")
        found[key] = [*found.get(key, []), one] if key in _LISTS else one
    recipe = {key: value for key, value in found.items() if key in _FIELDS}
    return {"recipe": recipe, **{key: value for key, value in found.items() if key in _DIGESTS}}


def read(text: str) -> dict[str, Any]:
    """The recipe of a selection.yaml, of a card, here or on the Hub, or of a link, whose address nobody asks.

    Raises:
        UsageError: There is none, or it is not whole.
    """
    path, variant = Path(text), None
    if "://" in text or text.startswith("?") or ("=" in text and not _is_there(path)):
        try:
            return parse(text)
        except UsageError as error:
            raise UsageError(f"--recipe: {error}") from error
    if not _is_there(path) and "#" in text:
        before, _, variant = text.rpartition("#")
        path = Path(before)
    try:
        held = _file(path).read_text(encoding="utf-8") if _is_there(path) else _card_on_hub(str(path))
        return parse(query(_block(held, variant)))
    except (OSError, ValueError) as error:
        raise UsageError(f"--recipe {text}: {error.strerror if isinstance(error, OSError) else error}") from error


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a link may be longer than a name
        return False


def _file(path: Path) -> Path:
    """The file itself, or the one that says it in a folder."""
    if not path.is_dir():
        return path
    inside = [file for name in (_SELECTION, _CARD) if (file := path / name).is_file()]
    if not inside:
        raise UsageError(f"neither {_SELECTION} nor {_CARD} is in this folder")
    return inside[0]


def _card_on_hub(name: str) -> str:
    from tamis.hub.fetch import commit_of, is_repo_id
    from tamis.hub.ranges import HubFiles, text_of

    if not is_repo_id(name):
        raise UsageError(f"there is no such file; understood: {_UNDERSTOOD}")
    return text_of(HubFiles(name, commit_of(name)), _CARD)


def _block(text: str, variant: str | None) -> Mapping[str, Any]:
    """The `tamis` block of a card, or the recipe in a selection.yaml.

    Raises:
        ValueError: There is none.
    """
    from tamis.hub.front_matter import split

    if text.startswith("---"):
        return block_of(split(text)[0], variant)
    try:
        facts = yaml.safe_load(text)
    except yaml.YAMLError:
        facts = None
    link = facts.get("link") if isinstance(facts, dict) else None
    return parse(link) if isinstance(link, str) else {}


def block_of(metadata: Mapping[str, Any], variant: str | None) -> Mapping[str, Any]:
    """The `tamis` block of a card's front matter, or that of a variant among those that share it; empty if none.

    Raises:
        UsageError: There is no such variant; or there are only variants, and none is named.
    """
    block = metadata.get("tamis")
    block = block if isinstance(block, Mapping) else {}
    found = block.get("variants")
    variants = found if isinstance(found, Mapping) else {}
    if variant is None and "recipe" not in block and variants:
        raise UsageError(f"it holds the variants {', '.join(map(str, variants))}; name one")
    if variant is None:
        return block
    if not isinstance(variants.get(variant), Mapping):
        raise UsageError(f"it holds no variant {variant!r}, but {', '.join(map(str, variants)) or 'none'}")
    return dict(variants[variant])


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
