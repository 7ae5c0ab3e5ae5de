"""A data set as a user meets it: every config is loaded, and counted against the footers of its files.

The same check runs on the folder before anything is sent, and on the pull request before it is merged.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from pathlib import Path
from typing import Any

from tamis.errors import WorkError
from tamis.gradients.verify import verify
from tamis.hub.bundle import Bundle
from tamis.hub.configs import configs, infos, paths_of, splits_of
from tamis.hub.front_matter import split
from tamis.recipe import VerifyRecipe


def check_bundle(bundle: Bundle, folder: Path) -> dict[str, int]:
    """The rows of each config of a folder, before anything of it is sent.

    Raises:
        WorkError: A config is not right, or a gradient index is not whole.
    """
    if bundle.repo_type != "dataset":
        return {}
    if bundle.is_index:
        found = verify(VerifyRecipe(str(folder)))
        return {"rows": found.rows, **({"excluded": found.excluded} if found.excluded else {})}
    from fsspec.implementations.local import LocalFileSystem

    place = str(folder.absolute())
    return check_configs(place, bundle.card, LocalFileSystem(), place)


def check_configs(
    place: str,
    card: str,
    files: Any,
    root: str,
    *,
    only: Collection[str] | None = None,
    revision: str | None = None,
) -> dict[str, int]:
    """The rows of each config.

    Args:
        place: What `load_dataset` is given: a folder, or a repository.
        card: The card's text.
        only: The configs that are looked at; all, if None.
        files: An fsspec file system.
        root: Where in it the repository's files begin.
        revision: The commit.

    Raises:
        WorkError: A config does not load, has another number of rows than its card says, or other columns; the
            message names it.
    """
    import datasets

    logging.getLogger("datasets").setLevel(logging.CRITICAL)  # what it says of a bad file stands in our sentence
    metadata, _ = split(card)
    known = infos(metadata)
    footers: dict[str, tuple[int, Any]] = {}
    counts: dict[str, int] = {}
    for config in configs(metadata):
        name = str(config["config_name"])
        if only is not None and name not in only:
            continue
        try:
            for path in paths_of(config):
                if path not in footers:
                    footers[path] = _footer(files, f"{root}/{path}")
            streamed = {
                split_: datasets.load_dataset(place, name, split=split_, revision=revision, streaming=True)
                for split_ in splits_of(config)
            }
            first = {split_: next(iter(rows), None) for split_, rows in streamed.items()}
            features = next(iter(streamed.values())).features
        except Exception as error:  # a loader may raise anything
            raise WorkError(f"{place}: the config {name} does not load: {' '.join(str(error).split())}") from error
        said = {one["name"]: one["num_examples"] for one in known.get(name, {}).get("splits", [])}
        rows = {split_: sum(footers[path][0] for path in paths) for split_, paths in splits_of(config).items()}
        counts[name] = sum(rows.values())
        for split_, found_rows in rows.items():
            where = f"{place}: the config {name}" + (f", split {split_}," if len(rows) > 1 else "")
            if name in known and said.get(split_) != found_rows:
                raise WorkError(f"{where} has {found_rows} rows, and its card says {said.get(split_)}")
            if (first[split_] is None) != (found_rows == 0):
                raise WorkError(f"{where} has {found_rows} rows, and none is read")
        for path in paths_of(config):
            found = datasets.Features.from_arrow_schema(footers[path][1])
            if features is not None and {**found} != {**features}:
                raise WorkError(f"{place}: the columns of {path} are not those that the card says of {name}")
    return counts


def _footer(files: Any, path: str) -> tuple[int, Any]:
    import pyarrow.parquet as pq

    with files.open(path, "rb") as stream:
        file = pq.ParquetFile(stream)
        return file.metadata.num_rows, file.schema_arrow
