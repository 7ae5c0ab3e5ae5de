"""Pages that are whole by themselves, from the templates that come with tamis."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tamis.errors import missing_extra


def environment(filters: Mapping[str, Callable[[Any], str]]) -> Any:
    """What renders a page of `templates/`: text is escaped, and a name that is not given is an error.

    Args:
        filters: What a template calls its numbers' formats, beside `count` and `percent`.

    Raises:
        UsageError: An extra is missing.
    """
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise missing_extra("report", error) from error
    made = Environment(
        loader=PackageLoader("tamis"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"count": "{:,}".format, "percent": "{:.1%}".format, **filters}
    return made
