"""A README's YAML: what the Hub reads out of it, and why it would refuse it."""

from __future__ import annotations

import json
import re
from typing import Any

import yaml

_BLOCK = re.compile(r"\A---[ \t]*\r?\n(.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)


def read_card(text: str) -> tuple[dict[str, Any], list[str], list[str]]:
    """The metadata of a README; then what is wrong with it, and what is missing, as sentences."""
    block = _BLOCK.match(text)
    if block is None:
        return {}, [], ["empty or missing yaml metadata in repo card"]
    try:
        fields = yaml.safe_load(block[1])
    except yaml.YAMLError as error:
        return {}, [f"YAML Metadata Error: {error}"], []
    if not isinstance(fields, dict):
        return {}, [] if fields is None else ["YAML Metadata Error: not a mapping"], ["empty yaml metadata"]
    try:
        fields = json.loads(json.dumps(fields, default=str, allow_nan=False))  # dates become text
    except (TypeError, ValueError) as error:
        return {}, [f"YAML Metadata Error: {error}"], []
    return fields, _faults(fields), []


def tags_of(card: dict[str, Any]) -> list[str]:
    """The tags that lists are filtered by."""
    tags = [tag for tag in _listed(card.get("tags")) if isinstance(tag, str)]
    for key in ("license", "language", "task_categories", "size_categories", "datasets", "base_model"):
        singular = "dataset" if key == "datasets" else key
        tags += [f"{singular}:{value}" for value in _listed(card.get(key))]
    return tags


def _faults(card: dict[str, Any]) -> list[str]:
    texts = ("license", "language", "tags", "task_categories", "size_categories", "datasets")
    found = [
        f'"{key}" must be a string or a list of strings'
        for key in texts
        if not all(isinstance(value, str) for value in _listed(card.get(key)))
    ]
    configs = card.get("configs", [])
    if not isinstance(configs, list) or not all(isinstance(one, dict) and "config_name" in one for one in configs):
        return [*found, '"configs" must be a list of mappings with a config_name']
    names = [one["config_name"] for one in configs]
    if len({*map(str, names)}) < len(names):
        found.append('"configs" names a config twice')
    return found


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]
