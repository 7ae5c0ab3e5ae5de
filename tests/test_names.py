"""Other people's names: shown as they are, and nothing more than shown."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

from tamis.names import in_markdown, is_local, printable, shown

HOSTILE = (
    "<script>alert(1)</script>",
    "a|b",
    "a\\|b",
    "[x](https://evil.example)",
    "www.evil.example",
    "me@evil.example",
    "__bold__ *it* ~~gone~~",
    "`code` $x$",
    "&amp; &#124;",
    "![](x)",
)


@pytest.mark.parametrize("name", HOSTILE)
def test_markdown_gets_nothing_that_means_something_to_it(name: str) -> None:
    made = in_markdown(name)
    assert html.unescape(made) == name, "a reader sees the name as it was given"
    left = re.sub(r"&#\d+;", "", made)
    assert not {*left} & {*"<>|\\[]*`~$&!@:#"} and "www." not in made.lower()
    assert not re.search(r"(?<![^\W_])_|_(?![^\W_])", left)


@pytest.mark.parametrize(
    "name", ["personas_math", "v1.5", "pool.jsonl", "a/b-c (2), 日本語", "{c}", 'it\'s "x"', "ünï 🧀 \ufffd"]
)
def test_an_ordinary_name_stays_legible(name: str) -> None:
    assert in_markdown(name) == name


@pytest.mark.parametrize("name", ["a\nb", "a\r\n---\nb", "a\u2028b", "\u202egnp.exe", "a\x0cb"])
def test_a_name_is_one_line_and_runs_one_way(name: str) -> None:
    assert printable(name).isprintable() and "\ufffd" in printable(name)
    assert len(in_markdown(name).splitlines()) == 1


def test_no_name_is_said_to_be_none() -> None:
    assert printable("") == printable(None) == "(no name)"


def test_a_path_loses_its_folders_and_a_name_on_the_hub_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret" / "pool").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    for path in (
        str(tmp_path / "secret" / "pool"),
        "secret/pool",
        "./gone/pool",
        "~/pool",
        "a/b/pool",
        "secret/../pool",
    ):
        assert is_local(path) and shown(path) == "pool"
    assert shown("data/pool.jsonl") == "pool.jsonl" and shown("secret/pool/..") == "secret"
    assert not is_local("allenai/tulu-3-sft-mixture") and shown("allenai/tulu-3-sft-mixture").startswith(
        "allenai/"
    )
