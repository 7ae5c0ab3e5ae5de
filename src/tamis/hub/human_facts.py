"""`card.yaml`: what people know of an artefact and no file of a run says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tamis.errors import UsageError

_GATED = ("heading", "description", "prompt", "fields", "button_content")
_TEXT = ("pretty_name", "summary", "license", "license_name", "license_link", "citation", "contact")
_TEXTS = ("language", "tags", "references", "not_established")
_DATA = ("task_categories", "benchmark", *(f"extra_gated_{name}" for name in _GATED))
_SPACE = ("emoji", "colorFrom", "colorTo", "short_description")
_USE = ("intended_uses", "limitations")
KEYS = {
    kind: (*_TEXT, "sources", *_TEXTS, *more)
    for kind, more in {
        "dataset": _DATA,
        "gradients": _DATA,
        "annotated": (*_USE, *_DATA),
        "model": (*_USE, *_DATA[2:]),
        "metric": (*_USE, *_SPACE),
        "space": _SPACE,
    }.items()
}
"""What a `card.yaml` may say, by kind of card."""

_LISTS = (*_TEXTS, "task_categories")
_OF_A_SOURCE = ("name", "url", "license", "note")
_OF_A_BENCHMARK = ("name", "description", "evaluation_framework", "tasks")
_OF_A_TASK = ("id", "config", "split")
_COLOURS = ("red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray")
_SHORT = 60  # the Hub's own limit


def read_human_facts(path: Path | str, kind: str) -> dict[str, Any]:
    """What a `card.yaml` says; text in place of a list of one becomes that list.

    Args:
        path: The file.
        kind: The card's: one of `KEYS`.

    Raises:
        UsageError: The file cannot be read, has an unknown key or a value of another kind, or names a licence that
            allows more than a source's.
    """
    try:
        found = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UsageError(f"{path}: cannot be read: {' '.join(str(error).split())}") from error
    _refuse_keys(str(path), found, KEYS[kind])
    facts = {
        name: [value] if name in _LISTS and isinstance(value, str) else value for name, value in found.items()
    }
    for name, value in facts.items():
        if said := _fault(name, value):
            raise UsageError(f"{path}: {name}: {said}")
    _refuse_licence(str(path), facts)
    return facts


def _refuse_keys(where: str, found: Any, valid: tuple[str, ...]) -> None:
    if not isinstance(found, dict):
        raise UsageError(f"{where}: no keys and values in it; valid: {', '.join(valid)}")
    unknown = [key for key in found if key not in valid]
    if unknown:
        raise UsageError(f"{where}: unknown key {unknown[0]!r}; valid: {', '.join(valid)}")


def _fault(name: str, value: Any) -> str | None:
    """What is wrong with a value."""
    if name in _LISTS:
        return None if _texts(value) else "not a list of text"
    if name == "sources":
        return _fault_of_sources(value)
    if name == "benchmark":
        return _fault_of_a_benchmark(value)
    if name == "extra_gated_fields":
        return None if isinstance(value, dict) else "not keys and values"
    if not isinstance(value, str) or not value.strip():
        return "not text"
    if name.startswith("color") and value not in _COLOURS:
        return f"{value!r} is not one of {', '.join(_COLOURS)}"
    if name == "short_description" and len(value) > _SHORT:
        return f"longer than {_SHORT} characters"
    return None


def _fault_of_sources(value: Any) -> str | None:
    if not isinstance(value, list) or not all(isinstance(one, dict) and "name" in one for one in value):
        return "not a list of sources with a name"
    for one in value:
        if not {*one} <= {*_OF_A_SOURCE} or not _texts([*one.values()]):
            return f"a source holds text as {', '.join(_OF_A_SOURCE)}"
    return None


def _fault_of_a_benchmark(value: Any) -> str | None:
    if not isinstance(value, dict) or {*value} != {*_OF_A_BENCHMARK}:
        return f"has to hold {', '.join(_OF_A_BENCHMARK)}"
    tasks = value["tasks"]
    whole = isinstance(tasks, list) and tasks
    if not whole or not all(isinstance(task, dict) and {*task} == {*_OF_A_TASK} for task in tasks):
        return f"a task has to hold {', '.join(_OF_A_TASK)}"
    texts = [value[name] for name in _OF_A_BENCHMARK[:-1]] + [text for task in tasks for text in task.values()]
    return None if _texts(texts) else "holds something that is not text"


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) and text.strip() for text in value)


def _refuse_licence(where: str, facts: Mapping[str, Any]) -> None:
    """A licence may not allow what that of a source forbids."""
    if any(_non_commercial(str(facts.get(name, ""))) for name in ("license", "license_name")):
        return
    for source in facts.get("sources", []):
        if _non_commercial(source.get("license", "")):
            raise UsageError(
                f"{where}: license: {facts.get('license', 'missing')}, but the source {source['name']} is "
                f"{source['license']}: the licence has to be a non-commercial one too, such as cc-by-nc-4.0"
            )


def _non_commercial(licence: str) -> bool:
    return re.search(r"\bnc\b|non-?commercial", licence.lower()) is not None
