"""Why a data set or an index may be published as a demo only: what it was made from is not the real thing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tamis import demo
from tamis.recipe import PACKAGED_MODEL


def limits(model: str | None, source: Mapping[str, Any]) -> list[str]:
    """The reasons; none, if it may go under any name.

    Args:
        model: The decoder's name.
        source: Where the source rows lie, by scores' metadata.
    """
    rows = Path(str(source.get("dataset_name", "")))
    found = ["the packaged decoder"] if model == PACKAGED_MODEL else []
    if source.get("max_samples") is not None:
        found.append(f"the first {source['max_samples']} rows alone")
    if rows.exists() and rows.absolute().is_relative_to(Path(demo.__file__).parent):
        found.append("the demo's rows")
    return found
