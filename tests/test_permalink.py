"""A selection made anywhere is made again anywhere: its fields travel, and its digests check what comes out."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml

import pools
from tamis import cli
from tamis.dataset_folder import export
from tamis.errors import UsageError
from tamis.influence.scores import score
from tamis.influence.targets import shares
from tamis.permalink import parse, query, read
from tamis.recipe import ExportRecipe, ScoreRecipe, SelectRecipe
from tamis.selection import portable, select

N = 30
Done = Callable[..., dict[str, Any]]
Refused = Callable[..., str]


@pytest.fixture
def done(capsys: pytest.CaptureFixture[str]) -> Done:
    """Runs a command line that succeeds; what it reports."""

    def call(*arguments: object) -> dict[str, Any]:
        code = cli.main([*map(str, arguments), "--format", "json"])
        said = capsys.readouterr()
        assert code == 0, said.err
        return dict(json.loads(said.out))

    return call


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Refused:
    """Runs a command line that is refused and writes nothing; its sentence."""

    def call(*arguments: object) -> str:
        before = sorted(tmp_path.rglob("*"))
        assert cli.main([*map(str, arguments)]) == 2
        said = capsys.readouterr()
        assert said.err.startswith("tamis: ") and said.err.count("\n") == 1 and said.out == ""
        assert sorted(tmp_path.rglob("*")) == before
        return said.err

    return call


def rows(folder: Path | str) -> dict[str, list[dict[str, Any]]]:
    return {name: pq.read_table(Path(folder) / f"{name}.parquet").to_pylist() for name in ("kept", "removed")}


def pool(folder: Path, text: str = "") -> Path:
    """A pool's index, two targets' and one of safe rows, in a folder."""
    path = pools.write(folder / "pool.jsonl", pools.records(N, text))
    u, v = pools.factors(N, 1)
    known = {"dataset_name": path, "output_dir": str(folder / "index")}
    pools.index(folder / "index", u, v, rows=pools.read_rows(path), recipe=known)
    for seed, name in enumerate(("a", "b", "safe"), 2):
        pools.index(folder / name, *pools.factors(4, seed))
    return folder


@pytest.fixture
def here(tmp_path: Path) -> Path:
    return pool(tmp_path / "here")


@pytest.fixture
def there(here: Path) -> Path:
    """The same indexes, elsewhere."""
    return Path(shutil.copytree(here, here.with_name("there")))


KINDS: dict[str, list[str]] = {
    "plain": ["--target", "a"],
    "layers": ["--target", "a", "--similarity", "layer-cosine"],
    "dot": ["--target", "a", "--similarity", "dot", "--contrast", "safe"],
    "nearest": ["--target", "a", "--aggregate", "max"],
    "few": ["--target", "a", "--aggregate", "topk", "--topk", "3"],
    "mixed": ["--target", "a", "--target", "b", "--weight", "0.1", "--weight", "0.6"],
    "equal": ["--target", "a", "--target", "b"],
    "split": ["--target", "index", "--split_targets", "--weight", "3", "--weight", "0.7", "--weight", "0.1"],
}
CHOICES: dict[str, list[str]] = {
    "ratio": ["--ratio", "0.13"],
    "half": [],
    "subset": ["--ratio", "0.3", "--source", "maths", "--source", "code", "--language", "en"],
}


def in_folder(arguments: list[str], folder: Path) -> list[str]:
    """The flags with folders for the names of indexes."""
    return [str(folder / one) if one in ("a", "b", "safe", "index") else one for one in arguments]


def sets(arguments: list[str]) -> list[str]:
    """Of the flags, those that no recipe has: which rows."""
    pairs = pairwise(arguments)
    return [part for flag, value in pairs if flag in ("--target", "--contrast") for part in (flag, value)]


def made(done: Done, folder: Path, kind: str, choice: str) -> dict[str, Any]:
    index, out = folder / "index", folder.with_name("out")
    done("score", "--index", index, *in_folder(KINDS[kind], folder), "--output_dir", out / "scores")
    return done("select", "--scores", out / "scores", *CHOICES[choice], "--output_dir", out / "selection")


@pytest.mark.parametrize(
    ("kind", "choice"), [(kind, "ratio") for kind in KINDS] + [("plain", choice) for choice in CHOICES]
)
def test_a_card_makes_the_same_selection_elsewhere(
    kind: str, choice: str, here: Path, there: Path, done: Done, tmp_path: Path
) -> None:
    first = made(done, here, kind, choice)
    folder = export(ExportRecipe(str(tmp_path / "out/selection"), str(tmp_path / "card"))).folder
    card = tmp_path / "alone.md"
    card.write_bytes((folder / "README.md").read_bytes())
    where = sets(in_folder(KINDS[kind], there))
    scored = done("score", "--index", there / "index", *where, "--recipe", card, "--output_dir", tmp_path / "s")
    again = done("select", "--scores", tmp_path / "s", "--recipe", card, "--output_dir", tmp_path / "x")
    assert rows(tmp_path / "x") == rows(tmp_path / "out/selection")
    assert again["digest"] == first["digest"] and again["link"] == first["link"]
    assert "repeated" in scored["recipe"] and "repeated" in again["recipe"]
    assert (tmp_path / "x/selection.yaml").read_bytes() == (tmp_path / "out/selection/selection.yaml").read_bytes()


@pytest.mark.parametrize("form", ["link", "question", "url", "file", "folder", "card folder"])
def test_every_form_of_a_recipe_says_the_same(form: str, here: Path, done: Done, tmp_path: Path) -> None:
    first = made(done, here, "few", "subset")
    selection = tmp_path / "out/selection"
    given = {
        "link": first["link"],
        "question": f"?{first['link']}",
        "url": f"https://example.org/spaces/sieve/?{first['link']}#rows",
        "file": selection / "selection.yaml",
        "folder": selection,
        "card folder": tmp_path / "card",
    }[form]
    if form == "card folder":
        export(ExportRecipe(str(selection), str(given)))
    assert read(str(given)) == portable(yaml.safe_load((selection / "selection.yaml").read_text()))
    done("select", "--scores", tmp_path / "out/scores", f"--recipe={given}", "--output_dir", tmp_path / "x")
    assert rows(tmp_path / "x") == rows(selection)
    run = yaml.safe_load((tmp_path / "x/run.yaml").read_text())
    assert run["recipe"] == first["link"] and (run["ratio"], run["source"]) == (0.3, ["maths", "code"])
    done("select", "--config", tmp_path / "x/run.yaml", "--output_dir", tmp_path / "y")
    assert rows(tmp_path / "y") == rows(selection)


def test_a_recipe_in_a_file_is_like_one_in_a_flag(here: Path, done: Done, tmp_path: Path) -> None:
    first = made(done, here, "plain", "subset")
    config = {"scores": str(tmp_path / "out/scores"), "recipe": first["link"], "output_dir": str(tmp_path / "x")}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
    assert done("select", "--config", tmp_path / "config.yaml")["digest"] == first["digest"]


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (["--ratio", "0.2"], "--ratio 0.2: the recipe has 0.3"),
        (["--source", "chat"], "--source chat: the recipe has maths code"),
        (["--language", "en", "--language", "de"], "--language en de: the recipe has en"),
    ],
)
def test_a_flag_that_contradicts_is_refused(
    flags: list[str], named: str, here: Path, done: Done, refused: Refused, tmp_path: Path
) -> None:
    link = made(done, here, "few", "subset")["link"]
    arguments = ["select", "--scores", tmp_path / "out/scores", "--output_dir", tmp_path / "x", "--recipe", link]
    assert named in refused(*arguments, *flags)
    config = tmp_path / "config.yaml"
    config.write_text(yaml.safe_dump({"ratio": 0.2}))
    assert "--ratio 0.2: the recipe has 0.3" in refused(*arguments, "--config", config)


def test_a_flag_that_agrees_is_not(here: Path, done: Done, tmp_path: Path) -> None:
    first = made(done, here, "few", "subset")
    more = ["--ratio", ".30", "--source", "code", "--source", "maths"]
    arguments = ["select", "--scores", tmp_path / "out/scores", "--output_dir", tmp_path / "x"]
    assert done(*arguments, *more, "--recipe", first["link"])["digest"] == first["digest"]


@pytest.mark.parametrize(
    ("kind", "change", "parts"),
    [
        ("plain", {"index": "a"}, ["--index"]),
        ("plain", {"--target": "b"}, ["--target"]),
        ("plain", {"--contrast": "safe"}, ["--contrast (none there"]),
        ("dot", {"--contrast": "b"}, ["--contrast"]),
        ("dot", {"--contrast": "b", "--target": "safe"}, ["--target", "--contrast"]),
        ("mixed", {"--weight": "0.5"}, ["--weight"]),
    ],
)
def test_other_scores_are_refused_by_what_differs(
    kind: str,
    change: dict[str, str],
    parts: list[str],
    here: Path,
    done: Done,
    refused: Refused,
    tmp_path: Path,
) -> None:
    link = made(done, here, kind, "ratio")["link"]
    arguments = dict(zip(KINDS[kind][::2], KINDS[kind][1::2], strict=True)) if kind != "mixed" else {}
    flags = [part for pair in {**arguments, **change}.items() if pair[0] != "index" for part in pair]
    flags = [*(KINDS["equal"] if kind == "mixed" else []), *flags, *(flags if kind == "mixed" else [])]
    index = here / change.get("index", "index")
    said = refused(
        "score", "--index", index, *in_folder(flags, here), "--recipe", link, "--output_dir", here / "s"
    )
    assert "these differ: " in said
    listed = said.partition("these differ: ")[2].partition("; give")[0]
    assert [one.partition(" (")[0] for one in listed.split("), ")] == [one.partition(" (")[0] for one in parts]
    assert all(part in listed for part in parts)


def test_scores_of_sets_with_other_names_are_other_scores(
    here: Path, done: Done, refused: Refused, tmp_path: Path
) -> None:
    link = made(done, here, "equal", "ratio")["link"]
    shutil.copytree(here / "b", here / "c")
    flags = ["--target", here / "a", "--target", here / "c", "--recipe", link, "--output_dir", here / "s"]
    assert "the names of the target sets" in refused("score", "--index", here / "index", *flags)


def test_another_selection_is_refused_by_what_differs(
    here: Path, done: Done, refused: Refused, tmp_path: Path
) -> None:
    (tmp_path / "ids.txt").write_text("3\n")
    scores = tmp_path / "out/scores"
    made(done, here, "plain", "ratio")
    keep = ["--ratio", "0.13", "--keep", tmp_path / "ids.txt"]
    link = done("select", "--scores", scores, *keep, "--output_dir", tmp_path / "k")["link"]
    again = ["select", "--scores", scores, "--recipe", link, "--output_dir"]
    assert "these differ: --keep" in refused(*again, tmp_path / "x")
    assert done(*again, tmp_path / "x", *keep)["link"] == link
    (tmp_path / "more.txt").write_text("3\n4\n")
    assert "these differ: --keep" in refused(*again, tmp_path / "y", "--keep", tmp_path / "more.txt")
    flags = ["--target", here / "b", "--output_dir", tmp_path / "others"]
    done("score", "--index", here / "index", *flags)
    said = refused("select", "--scores", tmp_path / "others", "--recipe", link, "--output_dir", tmp_path / "z")
    assert "these differ: --target" in said and "--keep" in said


def test_without_a_digest_it_says_that_nothing_was_checked(here: Path, done: Done, tmp_path: Path) -> None:
    made(done, here, "plain", "ratio")
    arguments = ["select", "--scores", tmp_path / "out/scores", "--output_dir", tmp_path / "x"]
    report = done(*arguments, "--recipe", "?ratio=0.4")
    assert "no selection to check" in report["recipe"] and report["removed"].startswith("12 of 30")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("https://e.org/?ratio=0.2&output_dir=/etc", "unknown key 'output_dir'"),
        ("?ratio=0.2&scores=/etc/passwd", "the link's scores '/etc/passwd' is not one"),
        ("?keep=../ids.txt", "the link's keep"),
        ("?index=file:///etc/passwd", "the link's index"),
        ("?target=rows.jsonl", "the link's target"),
        ("?recipe=other.md", "unknown key 'recipe'"),
        ("?ratio=0.2&ratio=0.3", "has ratio twice"),
        ("?ratio=much", "the link's ratio 'much' is not one"),
        ("?ratio=nan", "the link's ratio"),
        ("?ratio=1.5", "--ratio 1.5: not from 0 to 1"),
        ("?weight=1e999", "the link's weight"),
        ("?topk=2.5", "the link's topk"),
        ("?split_targets=yes", "the link's split_targets"),
        ("?source=%ff", "holds no recipe in its query"),
        ("https://e.org/page", "holds no recipe in its query"),
        ("file:///etc/passwd", "holds no recipe in its query"),
        ("?a", "holds no recipe in its query"),
        ("nothing.yaml", "there is no such file"),
        ("x" * 5000, "there is no such file"),
        (f"?source={'x' * 5000}", "no such source"),
        ("?source=%1b%5b2J", "--source \N{REPLACEMENT CHARACTER}[2J: no such source"),
    ],
)
def test_a_link_of_anybody_is_fields_and_digests_or_refused(
    text: str, named: str, tmp_path: Path, refused: Refused
) -> None:
    scores = pools.scored(tmp_path, [0.1, 0.2, 0.3])
    assert named in refused("select", "--scores", scores, "--output_dir", tmp_path / "x", f"--recipe={text}")


@pytest.mark.parametrize(
    "content",
    [
        "",
        "ratio: 0.2\n",
        "- a\n",
        "link: [1]\n",
        "{",
        "---\nlicense: mit\n---\n",
        "---\ntamis: 1\n---\n",
        "---\ntamis: {recipe: 1}\n---\n",
        "---\ntamis: {recipe: {ratio: {a: 1}}}\n---\n",
        "---\ntamis: {recipe: {ratio: [[1]]}}\n---\n",
        "---\ntamis: {recipe: {output_dir: x}}\n---\n",
        "---\ntamis: {recipe: {ratio: 0.2}, keep: /etc/passwd}\n---\n",
        "---\n&a [*a]\n---\n",
    ],
)
def test_a_file_without_a_recipe_is_named(content: str, tmp_path: Path, refused: Refused) -> None:
    scores = pools.scored(tmp_path, [0.1, 0.2, 0.3])
    file = tmp_path / "it.md"
    file.write_text(content)
    said = refused("select", "--scores", scores, "--output_dir", tmp_path / "x", "--recipe", file)
    assert f"--recipe {file}: " in said


def test_a_folder_without_a_recipe_is_named(tmp_path: Path, refused: Refused) -> None:
    scores = pools.scored(tmp_path, [0.1, 0.2, 0.3])
    said = refused("select", "--scores", scores, "--output_dir", tmp_path / "x", "--recipe", scores)
    assert f"--recipe {scores}: neither selection.yaml nor README.md is in this folder" in said


def test_a_file_of_references_to_references_costs_nothing(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x]", *(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]" for i in range(1, 60))]
    (tmp_path / "it.md").write_text("---\n" + "\n".join(lines) + "\ntamis: {recipe: {source: *a59}}\n---\n")
    with pytest.raises(UsageError, match="neither text nor a number"):
        read(str(tmp_path / "it.md"))


@pytest.mark.parametrize("seed", range(20))
def test_a_query_gives_back_what_it_was_made_of(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0, 1, rng.integers(1, 9)).tolist()
    block = {
        "recipe": {
            "similarity": "layer-cosine",
            "aggregate": "topk",
            "topk": int(rng.integers(1, 99)),
            "split_targets": True,
            "weight": weights,
            "ratio": float(rng.uniform()),
            "source": ["a b", "ü&=?#+%", "", "c,d"],
            "language": ["en"],
        },
        "selection": "0" * 12,
        "scores": "1" * 12,
        "index": "2" * 12,
        "target": ["3" * 12, "3" * 12],
        "contrast": "4" * 12,
        "keep": "5" * 64,
    }
    assert parse(query(block)) == block
    assert parse(f"https://example.org/a?{query(block)}") == block
    assert query(block).isascii() and " " not in query(block)


@pytest.mark.parametrize("seed", range(50))
def test_shares_taken_as_weights_are_the_same_shares(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0, 10, rng.integers(2, 40)).tolist()
    first = shares(weights, [""] * len(weights))
    assert shares(first, [""] * len(weights)) == first


def test_a_link_holds_neither_paths_nor_row_ids(tmp_path: Path) -> None:
    (tmp_path / "keep.txt").write_text("7\n")
    scores = pools.scored(tmp_path, np.linspace(0, 1, 12))
    facts = select(SelectRecipe(scores, str(tmp_path / "s"), 0.25, keep=str(tmp_path / "keep.txt"))).facts
    assert {*parse(facts["link"])} == {"recipe", "selection", "scores", "index", "target", "keep"}
    assert "/" not in facts["link"] and tmp_path.name not in facts["link"]


def test_the_library_repeats_a_recipe_too(tmp_path: Path) -> None:
    scores = pools.scored(tmp_path, np.linspace(0, 1, 12))
    facts = select(SelectRecipe(scores, str(tmp_path / "s"), 0.25)).facts
    again = select(SelectRecipe(scores, str(tmp_path / "t"), 0.25, recipe=facts["link"]))
    assert again.facts["digest"] == facts["digest"]
    with pytest.raises(UsageError, match=r"--ratio 0.2: the recipe has 0.25"):
        select(SelectRecipe(scores, str(tmp_path / "u"), recipe=facts["link"]))
    index = str(tmp_path / "index")
    other = ScoreRecipe(index, index, str(tmp_path / "v"), similarity="dot", recipe=facts["link"])
    with pytest.raises(UsageError, match="--similarity dot: the recipe has cosine"):
        score(other)
