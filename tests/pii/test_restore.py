"""What was encrypted or given surrogates comes back, byte for byte, and to nobody without the key or the map."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from stand_in import PEOPLE
from test_redact import FORMS, SAID, jsonl, parquet, sessions, tables

from tamis.errors import UsageError
from tamis.pii.recipe import RedactRecipe, RestoreRecipe
from tamis.pii.redact import redact
from tamis.pii.restore import restore


@pytest.fixture
def key(tmp_path: Path) -> str:
    (tmp_path / "key").write_text("0123456789abcdef" * 2)
    return str(tmp_path / "key")


def there(tmp_path: Path, name: str, content: bytes, key: str, operator: str, **more: Any) -> RestoreRecipe:
    """The recipe that undoes a redaction of a file of these bytes."""
    (tmp_path / name).write_bytes(content)
    recipe = RedactRecipe(str(tmp_path / name), str(tmp_path / "out"), operator=operator, key_file=key, **more)
    if operator == "surrogate":
        recipe = RedactRecipe(**{**vars(recipe), "surrogate_map": str(tmp_path / "map")})
    done = redact(recipe, PEOPLE)
    assert b"amal" not in done.file.read_bytes() and sum(done.labels.values())
    undone = {"surrogate_map": str(tmp_path / "map")} if operator == "surrogate" else {"key_file": key}
    return RestoreRecipe(str(tmp_path / "out"), str(tmp_path / "back"), **undone)


@pytest.mark.parametrize("operator", ["encrypt", "surrogate"])
@pytest.mark.parametrize("name", FORMS)
def test_every_form_comes_back_byte_for_byte(tmp_path: Path, key: str, name: str, operator: str) -> None:
    content = FORMS[name][0]
    recipe = there(tmp_path, name, content, key, operator)
    done = restore(recipe)
    assert done.file.read_bytes() == content and done.left == 0
    assert done.file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("operator", ["encrypt", "surrogate"])
def test_rows_of_parquet_and_scanned_columns_come_back(tmp_path: Path, key: str, operator: str) -> None:
    rows = [{**row, "title": "Jamal's maths"} for row in sessions(SAID)]
    recipe = there(tmp_path, "a.parquet", parquet(rows), key, operator, scan_columns=["title"])
    assert tables(restore(recipe).file.read_bytes()) == tables(parquet(rows))


def test_another_key_or_map_gives_nothing(tmp_path: Path, key: str) -> None:
    recipe = there(tmp_path, "a.jsonl", jsonl(sessions(SAID)), key, "encrypt")
    (tmp_path / "key").write_text("another key of that length")
    with pytest.raises(UsageError, match="no text that this key encrypted"):
        restore(recipe)
    assert not [*Path(recipe.output_dir).glob("*restored*")]
    (tmp_path / "map").write_text("{}\n")
    with pytest.raises(UsageError, match="is not a map that redact wrote"):
        restore(RestoreRecipe(recipe.dataset_name, recipe.output_dir, surrogate_map=str(tmp_path / "map")))
    with pytest.raises(UsageError, match="needs --key_file"):
        RestoreRecipe(recipe.dataset_name, recipe.output_dir)


def test_a_text_that_was_changed_is_named(tmp_path: Path, key: str) -> None:
    recipe = there(tmp_path, "a.txt", SAID[0].encode(), key, "surrogate")
    file = tmp_path / "out" / "redacted.txt"
    file.write_bytes(b"x" + file.read_bytes())
    with pytest.raises(UsageError, match="line 1: was changed after it was redacted"):
        restore(recipe)


def test_rows_that_were_left_out_are_counted(tmp_path: Path, key: str) -> None:
    recipe = there(tmp_path, "a.jsonl", jsonl(sessions(SAID)), key, "surrogate")
    file = tmp_path / "out" / "redacted.jsonl"
    file.write_bytes(file.read_bytes().splitlines(keepends=True)[1])
    done = restore(recipe)
    assert done.file.read_bytes() == jsonl(sessions(SAID)[1:]) and done.left == done.restored == 4
