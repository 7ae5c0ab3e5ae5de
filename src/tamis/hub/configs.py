"""A data set card's configs: their files, and one card for several releases that share a repository."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tamis.hub.front_matter import join, split

_SECTION = re.compile(r"<!-- variant (\S+) -->\n.*?<!-- end of \1 -->\n?", re.DOTALL)


def configs(metadata: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The configs that a card's front matter names."""
    return [one for one in metadata.get("configs") or [] if isinstance(one, dict) and "config_name" in one]


def config_names(metadata: Mapping[str, Any]) -> list[str]:
    """Their names."""
    return [str(config["config_name"]) for config in configs(metadata)]


def infos(metadata: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """`dataset_info` by config; a single one may stand alone, without a list."""
    found = metadata.get("dataset_info") or []
    listed = [found] if isinstance(found, dict) else found
    return {str(info.get("config_name", "default")): info for info in listed}


def paths_of(config: Mapping[str, Any]) -> list[str]:
    """The files of a config."""
    return [path for paths in splits_of(config).values() for path in paths]


def splits_of(config: Mapping[str, Any]) -> dict[str, list[str]]:
    """The files of each split of a config; what names no split is of `train`."""
    parts = config.get("data_files") or []
    found: dict[str, list[str]] = {}
    for part in [parts] if isinstance(parts, str) else parts:
        paths = part["path"] if isinstance(part, dict) else part
        name = part.get("split", "train") if isinstance(part, dict) else "train"
        found.setdefault(str(name), []).extend([paths] if isinstance(paths, str) else paths)
    return found


def merged(new: str, old: str | None, ours: set[str]) -> str:
    """The new card, with what the old one says of configs whose files lie elsewhere.

    So several variants share one repository: each has a folder of files, configs, and a section of the text.

    Args:
        new: The card to be published.
        old: The card that is there.
        ours: The folders of the new card's files.
    """
    try:
        before, text = split(old or "")
    except ValueError:
        return new
    metadata, body = split(new)
    mine = config_names(metadata)
    kept = [
        config
        for config in configs(before)
        if str(config["config_name"]) not in mine
        and not ours & {path.rpartition("/")[0] for path in paths_of(config)}
    ]
    if not kept:
        return new
    if any(config.get("default") for config in kept):
        for config in configs(metadata):
            config.pop("default", None)
    known = {name: info for name, info in infos(before).items() if name in config_names({"configs": kept})}
    metadata["configs"] = sorted([*configs(metadata), *kept], key=lambda config: str(config["config_name"]))
    metadata["dataset_info"] = [info for _, info in sorted({**known, **infos(metadata)}.items())]
    for key in ("language", "tags"):
        if both := {*(metadata.get(key) or []), *(before.get(key) or [])}:
            metadata[key] = sorted(both)
    old_block, block = before.get("tamis") or {}, metadata.get("tamis") or {}
    variants = sorted({**old_block.get("variants", {}), **block.get("variants", {})}.items())
    metadata["tamis"] = {**old_block, **block, **({"variants": dict(variants)} if variants else {})}
    return join(metadata, _with_sections(body, text))


def _with_sections(body: str, old: str) -> str:
    """The old text with our section in its place; where ours is no section, ours and then the old ones."""
    ours = {match[1]: match[0] for match in _SECTION.finditer(body)}
    theirs = {match[1]: match[0] for match in _SECTION.finditer(old)}
    sections = [section for _, section in sorted({**theirs, **ours}.items())]
    around = _SECTION.sub("", old if ours else body)
    return f"{around.rstrip()}\n\n{chr(10).join(sections)}" if sections else around
