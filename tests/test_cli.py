"""The command line: what it takes, what it refuses and how, and the five verbs from rows to a loaded data set."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import MISSING, asdict, dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import datasets
import pytest
import yaml

import tamis
import tiny
from tamis import cli
from tamis.errors import WorkError

TOKEN = "hf_thisMustNeverBeWritten"
REQUIRED = {
    "embed": {"dataset_name": "rows.jsonl", "output_dir": "out"},
    "score": {"index": "index", "target": "rows.jsonl", "output_dir": "out"},
    "select": {"scores": "scores", "output_dir": "out"},
    "report": {"selection": "selection", "output_dir": "out"},
    "export": {"selection": "selection", "output_dir": "out"},
    "download": {"repo_id": "me/data", "output_dir": "out"},
    "redact": {"dataset_name": "chat.jsonl", "output_dir": "out"},
    "restore": {"dataset_name": "out", "output_dir": "back", "key_file": "key"},
    "segment": {"dataset_name": "chat.jsonl", "output_dir": "out"},
    "deid-audit": {"dataset_name": "chat.jsonl", "output_dir": "out"},
    "hub": {"root": "root"},
    "verify": {"index": "index"},
}
HEAVY = {
    "torch",
    "transformers",
    "datasets",
    "pyarrow",
    "numpy",
    "gradio",
    "sklearn",
    "pandas",
    "matplotlib",
    "jinja2",
    "huggingface_hub",
    "starlette",
    "uvicorn",
}
BLOCK = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Block())
from tamis.cli import main
sys.exit(main(sys.argv[1:]))
"""

Received = Callable[..., dict[str, Any]]
Refusal = Callable[..., str]


def flags(verb: str, **more: str) -> list[str]:
    """The verb with its required flags."""
    return [verb, *(part for name, value in {**REQUIRED[verb], **more}.items() for part in (f"--{name}", value))]


def run(*arguments: str, cwd: Path, code: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own, with pipes in place of a terminal."""
    start = ["-c", code] if code else ["-m", "tamis.cli"]
    return subprocess.run(
        [sys.executable, *start, *arguments],
        cwd=cwd,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )


def one_line(stderr: str) -> str:
    """The one line that an error is."""
    assert re.fullmatch(r"tamis: [^\n]+\n", stderr), stderr
    return stderr.removeprefix("tamis: ").strip()


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def received(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Received:
    """Gives the recipe that a verb would be run with."""
    for name, verb in cli.VERBS.items():
        monkeypatch.setitem(cli.VERBS, name, replace(verb, run=asdict))

    def call(*arguments: str) -> dict[str, Any]:
        assert cli.main([*arguments, "--format", "json"]) == 0
        return json.loads(capsys.readouterr().out)

    return call


@pytest.fixture
def refusal(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Refusal:
    """Gives the one line of an error of exit code 2 that printed and wrote nothing else."""

    def call(*arguments: str) -> str:
        before = sorted(tmp_path.rglob("*"))
        assert cli.main(list(arguments)) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert sorted(tmp_path.rglob("*")) == before
        return one_line(printed.err)

    return call


def recipe_file(**keys: Any) -> str:
    Path("recipe.yaml").write_text(yaml.safe_dump(keys, allow_unicode=True), encoding="utf-8")
    return "recipe.yaml"


# What is taken


@pytest.mark.parametrize("verb", REQUIRED)
def test_flags_and_a_file_say_the_same(verb: str, received: Received) -> None:
    by_flags = received(*flags(verb))
    assert by_flags == asdict(cli.VERBS[verb].recipe(**REQUIRED[verb]))
    assert received(verb, "--config", recipe_file(**REQUIRED[verb])) == by_flags


def test_the_index_to_verify_and_the_data_set_to_download_need_no_flag(received: Received) -> None:
    assert received("verify", "a") == received("verify", "--index", "a") == received("verify", "--index=a")
    by_flags = received(*flags("download"))
    assert received("download", "me/data", "--output_dir", "out") == by_flags and by_flags["ratio"] == 0.2
    assert received("verify", "a", "--config", recipe_file(index="b")) == {"index": "a"}


@pytest.mark.parametrize(
    ("verb", "in_file", "flag", "expected"),
    [
        ("select", {"scores": "of file"}, ["--scores", "of flag"], {"scores": "of flag"}),
        ("select", {"keep": "of file"}, ["--keep", "of flag"], {"keep": "of flag"}),
        ("select", {"ratio": 0.3}, ["--ratio", "0.5"], {"ratio": 0.5}),
        ("select", {"source": ["f", "g"]}, ["--source", "a", "--source=b"], {"source": ["a", "b"]}),
        (
            "select",
            {"source": ["f"], "language": ["en"]},
            ["--source", "a"],
            {"source": ["a"], "language": ["en"]},
        ),
        ("embed", {"max_samples": 3}, ["--max_samples=4"], {"max_samples": 4}),
        ("embed", {"max_samples": 3}, ["--max_samples", "null"], {"max_samples": None}),
        ("embed", {"dry_run": False}, ["--dry_run"], {"dry_run": True}),
        ("embed", {"dry_run": True}, ["--no_dry_run"], {"dry_run": False}),
        ("embed", {"dry_run": True, "trust_remote_code": True}, [], {"dry_run": True, "trust_remote_code": True}),
    ],
)
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize(
    "config", [["--config", "recipe.yaml"], ["--config=recipe.yaml"]], ids=["space", "equals"]
)
def test_a_flag_wins_over_the_file_wherever_it_stands(
    verb: str,
    in_file: dict[str, Any],
    flag: list[str],
    expected: dict[str, Any],
    before: bool,
    config: list[str],
    received: Received,
) -> None:
    recipe_file(**{**REQUIRED[verb], **in_file})
    recipe = received(verb, *flag, *config) if before else received(verb, *config, *flag)
    assert {name: recipe[name] for name in expected} == expected


def test_the_later_of_two_files_wins(received: Received) -> None:
    Path("a.yaml").write_text("scores: a\nratio: 0.1\n")
    Path("b.yaml").write_text("scores: b\noutput_dir: out\n")
    recipe = received("select", "--config", "a.yaml", "--config", "b.yaml")
    assert (recipe["scores"], recipe["ratio"]) == ("b", 0.1)


TEXTS = [
    *("123", "007", "1e3", "0x10", "1_000", "1.50", "-", "2024-01-01", "null", "~", "true", "no", "None"),
    *(
        "[x]",
        '["a", "b"]',
        "{a: 1}",
        "a: b",
        "a, b",
        "- x",
        "#1.txt",
        "a #b",
        "!!int 3",
        "*a",
        "&a",
        "%x",
        "@x",
        "|",
        ">",
    ),
    *(
        "'q'",
        '"q"',
        "it's",
        "a  b",
        " a ",
        "a\tb",
        "C:\\n",
        "a=b",
        "ünï 数学 😀",
        "\x85",
        "\u2028",
        "a\nb",
        "select.scores",
    ),
]


@pytest.mark.parametrize("text", TEXTS)
def test_text_stays_the_text_it_is(text: str, received: Received) -> None:
    lists = received(
        *flags("select"), f"--source={text}", *(["--source", text] if text != "-" else []), "--source", "b"
    )
    assert lists["source"] == [text, *([text] if text != "-" else []), "b"]
    for verb, name in (
        ("embed", "dataset_name"),
        ("embed", "dataset_config"),
        ("score", "similarity"),
        ("select", "keep"),
    ):
        assert received(*flags(verb), f"--{name}={text}")[name] == text
        if text != "-":
            assert received(*flags(verb), f"--{name}", text)[name] == text


def test_target_sets_and_weights_are_lists_and_one_set_needs_none(received: Received) -> None:
    sets = ["--target", "b=c.jsonl", "--weight", ".7", "--weight=3e-1"]
    given = received(*flags("score"), *sets)
    assert (given["target"], given["weight"]) == (["rows.jsonl", "b=c.jsonl"], [0.7, 0.3])
    keys = {**REQUIRED["score"], "target": ["rows.jsonl", "b=c.jsonl"], "weight": [0.7, 0.3]}
    assert received("score", "--config", recipe_file(**keys)) == given
    assert received("score", "--config", recipe_file(**keys), "--target", "x")["target"] == ["x"]
    whole = received("score", "--config", recipe_file(**{**keys, "weight": [7, 3]}))["weight"]
    assert [repr(weight) for weight in whole] == ["7.0", "3.0"]


@pytest.mark.parametrize(
    ("verb", "name", "text", "value"),
    [
        ("score", "topk", "5", 5),
        ("select", "ratio", "0.29", 0.29),
        ("select", "ratio", ".2", 0.2),
        ("select", "ratio", "1", 1.0),
        ("select", "ratio", "1e-1", 0.1),
        ("embed", "seed", "-3", -3),
        ("embed", "seed", "0", 0),
        ("embed", "max_samples", "12", 12),
    ],
)
def test_numbers(verb: str, name: str, text: str, value: float, received: Received) -> None:
    given = received(*flags(verb), f"--{name}", text)[name]
    assert (given, type(given)) == (value, type(value))
    in_file = received(verb, "--config", recipe_file(**REQUIRED[verb], **{name: value}))[name]
    assert (in_file, type(in_file)) == (value, type(value))


def test_a_whole_number_in_a_file_is_a_ratio_too(received: Received) -> None:
    assert repr(received("select", "--config", recipe_file(**REQUIRED["select"], ratio=1))["ratio"]) == "1.0"


def test_what_a_run_yaml_says_of_its_run_is_not_a_key(received: Received) -> None:
    keys = {**REQUIRED["select"], "provenance": {"time": "now", "versions": {"torch": "2"}, "digest": "007"}}
    assert received("select", "--config", recipe_file(**keys)) == received(*flags("select"))


# What is refused, and how


@pytest.mark.parametrize("verb", REQUIRED)
@pytest.mark.parametrize(
    "flag", [["--nope", "3"], ["--nope=3"], ["--output-dir", "x"], ["--outp", "x"], ["stray"]]
)
def test_an_unknown_flag_fails_and_the_valid_ones_are_named(verb: str, flag: list[str], refusal: Refusal) -> None:
    message = refusal(*flags(verb), *flag)
    assert flag[0] in message
    for field in fields(cli.VERBS[verb].recipe):
        assert f"--{field.name}" in message
    if flag != ["stray"] or cli.VERBS[verb].positional is None:
        assert flag[0] in refusal(verb, *flag)


@pytest.mark.parametrize("flag", ["--source+", "--print_config", "--sour", "--conf"])
def test_there_are_no_flags_but_those_of_the_help(flag: str, refusal: Refusal) -> None:
    assert f"unrecognized arguments: {flag} x; valid: --scores" in refusal(*flags("select"), flag, "x")


def test_a_flag_of_another_verb_is_unknown(refusal: Refusal) -> None:
    assert "--source a; valid: --dataset_name" in refusal(*flags("embed"), "--source", "a")


@pytest.mark.parametrize("verb", REQUIRED)
@pytest.mark.parametrize("key", ["nope", "output-dir", "config", "verb", "source+", "format", 3])
def test_an_unknown_key_fails_and_the_valid_ones_are_named(verb: str, key: Any, refusal: Refusal) -> None:
    Path("recipe.yaml").write_text(yaml.safe_dump({**REQUIRED[verb], key: 1}))
    message = refusal(verb, "--config", "recipe.yaml")
    assert f"recipe.yaml: unknown key {key!r}" in message
    for field in fields(cli.VERBS[verb].recipe):
        assert field.name in message


@pytest.mark.parametrize(
    ("verb", "name", "text", "words"),
    [
        ("select", "ratio", "x", "not a number"),
        ("select", "ratio", "20%", "not a number"),
        ("score", "weight", "1/2", "not a number"),
        ("score", "topk", "all", "not a whole number"),
        ("select", "ratio", "nan", "not a number"),
        ("select", "ratio", "", "not a number"),
        ("embed", "seed", "1.5", "not a whole number"),
        ("embed", "last_k", "true", "not a whole number"),
        ("embed", "last_k", "null", "not a whole number"),
        ("embed", "max_samples", "[1]", "not a whole number"),
        ("export", "row_group_rows", "a: b", "not a whole number"),
    ],
)
def test_a_value_of_the_wrong_type_names_the_flag(
    verb: str, name: str, text: str, words: str, refusal: Refusal
) -> None:
    message = refusal(*flags(verb), f"--{name}", text)
    assert message.startswith(f"--{name} ")
    assert message.endswith(words)


@pytest.mark.parametrize(
    ("verb", "keys", "named"),
    [
        ("embed", {"seed": "x"}, "--seed x: not a whole number"),
        ("embed", {"seed": None}, "--seed: a value is missing"),
        ("embed", {"dataset_name": 7}, "--dataset_name 7: not text"),
        ("embed", {"dataset_name": None}, "required: --dataset_name"),
        ("embed", {"dataset_split": None}, "--dataset_split: a value is missing"),
        ("embed", {"dataset_config": ["a"]}, "--dataset_config ['a']: not text"),
        ("embed", {"dry_run": "maybe"}, "dry_run 'maybe': not true or false"),
        ("embed", {"dry_run": None}, "dry_run None: not true or false"),
        ("embed", {"provenance": 3}, "--provenance 3"),
        ("select", {"source": "a"}, "source 'a': not a list of text"),
        ("score", {"target": [1]}, "target [1]: not text or a list of text"),
        ("score", {"target": []}, "target []: not text or a list of text"),
        ("score", {"target": None}, "target None: not text or a list of text"),
        ("score", {"weight": 1}, "weight 1: not a list of numbers"),
        ("score", {"weight": ["1"]}, "weight ['1']: not a list of numbers"),
        ("score", {"weight": [True]}, "weight [True]: not a list of numbers"),
        ("select", {"source": [1]}, "source [1]: not a list of text"),
        ("select", {"source": None}, "source None: not a list of text"),
        ("select", {"ratio": [0.2]}, "--ratio [0.2]: not a number"),
    ],
)
def test_a_wrong_type_in_a_file_names_the_key(
    verb: str, keys: dict[str, Any], named: str, refusal: Refusal
) -> None:
    assert named in refusal(verb, "--config", recipe_file(**{**REQUIRED[verb], **keys}))


def test_a_number_that_only_this_yaml_takes_for_one_is_not_text(refusal: Refusal) -> None:
    Path("recipe.yaml").write_text("scores: s\noutput_dir: out\nsource: [1e3]\n")
    assert "source [1000.0]: not a list of text" in refusal("select", "--config", "recipe.yaml")


@pytest.mark.parametrize("verb", REQUIRED)
def test_missing_flags_are_named(verb: str, refusal: Refusal) -> None:
    optional = {field.name for field in fields(cli.VERBS[verb].recipe) if field.default is not MISSING}
    required = [name for name in REQUIRED[verb] if name not in optional]
    assert refusal(verb).endswith(", ".join(f"--{name}" for name in required))
    given = [name for name in required if name == "output_dir"]  # `verify` writes nothing, and has none
    message = refusal(verb, "--config", recipe_file(**dict.fromkeys(given, "out")))
    assert "output_dir" not in message
    assert all(f"--{name}" in message for name in required if name != "output_dir")


@pytest.mark.parametrize(
    ("end", "flag"),
    [
        (["--source"], "--source"),
        (["--source", "--language", "en"], "--source"),
        (["--config"], "--config"),
        (["--config", "--ratio", "1"], "--config"),
        (["--keep"], "--keep"),
        (["--keep", "--ratio", "1"], "--keep"),
        (["--dry_run"], "--dry_run"),
        (["--format", "xml"], "--format"),
    ],
)
def test_a_missing_or_unknown_value_names_the_flag(end: list[str], flag: str, refusal: Refusal) -> None:
    assert flag in refusal(*flags("select"), *end)


@pytest.mark.parametrize("value", ["--dry_run=false", "--dry_run=maybe", "--no_dry_run=true"])
def test_a_switch_takes_no_value(value: str, refusal: Refusal) -> None:
    assert "--dry_run" in refusal(*flags("embed"), value)


@pytest.mark.parametrize(
    "arguments", [["nope"], ["nope", "--config", "x"], ["--nope"], ["--source", "a", "select"], [""]]
)
def test_an_unknown_verb_names_the_verbs(arguments: list[str], refusal: Refusal) -> None:
    message = refusal(*arguments)
    assert all(verb in message for verb in cli.VERBS)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "No such file"),
        (b"", "no keys and values"),
        (b"# nothing\n", "no keys and values"),
        (b"- a\n", "no keys and values"),
        (b"5\n", "no keys and values"),
        (b"text\n", "no keys and values"),
        (b"a: [\n", "not YAML"),
        (b"a: b: c\n", "not YAML"),
        (b"\tx: 1\n", "not YAML"),
        (b"? [a]\n: 1\n", "not YAML"),
        (b"output_dir: !!python/object:os.system {}\n", "not YAML"),
        (b"\xff\xfe\x00", "not YAML"),
    ],
)
@pytest.mark.parametrize("name", ["bad.yaml", "a b/ü.yaml"])
def test_a_file_that_is_no_recipe_is_named(name: str, content: bytes | None, words: str, refusal: Refusal) -> None:
    if content is not None:
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_bytes(content)
    message = refusal("select", "--config", name)
    assert message.startswith(f"--config {name}: ")
    assert words in message


def test_a_folder_or_a_recipe_in_the_flag_itself_is_no_file(refusal: Refusal) -> None:
    assert "--config .: cannot be read" in refusal("select", "--config", ".")
    assert "--config {ratio: 0.5}: cannot be read" in refusal("select", "--config", "{ratio: 0.5}")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (flags("embed"), "rows.jsonl"),
        (flags("embed", dataset_name="a\nb.jsonl"), "a b.jsonl"),
        (flags("score"), "index"),
        (flags("score", similarity="nope"), "--similarity nope"),
        (flags("score", weight="-1"), "--weight -1.0: negative"),
        (flags("score", weight="nan"), "--weight nan: not a finite number"),
        (flags("select"), "scores"),
        (flags("select", ratio="1.5"), "--ratio 1.5"),
        (flags("export"), "selection"),
        (flags("report"), "selection"),
    ],
)
def test_what_a_verb_cannot_read_is_named_in_one_line(arguments: list[str], named: str, refusal: Refusal) -> None:
    assert named in refusal(*arguments)


def test_debug_shows_the_traceback_and_keeps_the_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*flags("select"), "--debug"]) == 2
    printed = capsys.readouterr()
    assert "Traceback (most recent call last)" in printed.err
    assert printed.err.splitlines()[-1].startswith("tamis: scores: no scores there")
    assert printed.out == ""


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (WorkError("row 3: its score\nis not finite"), 1, "row 3: its score is not finite"),
        (OSError(28, "No space left on device", "out/kept.parquet"), 1, "out/kept.parquet"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_work_that_fails_is_no_success(
    error: BaseException,
    code: int,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(recipe: Any) -> dict[str, Any]:
        raise error

    monkeypatch.setitem(cli.VERBS, "select", replace(cli.VERBS["select"], run=fail))
    assert cli.main(flags("select")) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert words in one_line(printed.err)


# Help, and what it costs


def test_alone_it_prints_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main([])
    assert stopped.value.code == 2
    printed = capsys.readouterr()
    assert printed.err == ""
    assert all(words in printed.out for words in (*cli.VERBS, "usage: tamis", "exit codes"))


@pytest.mark.parametrize("verb", ["", *REQUIRED])
def test_help_names_everything(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main([verb, "--help"] if verb else ["--help"])
    assert stopped.value.code == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    text = " ".join(printed.out.split())
    if not verb:
        assert all(f"{name} {of.help}" in text for name, of in cli.VERBS.items())
        return
    for field in fields(cli.VERBS[verb].recipe):
        described = re.search(
            rf"^ +{field.name}: (.+(?:\n {{12}}.+)*)", cli.VERBS[verb].recipe.__doc__ or "", re.MULTILINE
        )
        assert described
        flag = (
            f"--{field.name}, --no_{field.name}"
            if field.type == "bool"
            else f"--{field.name} {field.name.upper()}"
        )
        assert f"{flag} {' '.join(described[1].split())}" in text
    assert all(flag in text for flag in ("--config", "--format", "--debug"))
    assert "<function" not in text
    assert "provenance" not in text


@pytest.mark.parametrize(
    "code",
    ["import tamis; dir(tamis)", "from tamis.cli import main; main(['--help'])"]
    + [f"from tamis.cli import main; main(['{verb}', '--help'])" for verb in REQUIRED]
    + ["from tamis.cli import main; main(['select', '--nope'])"],
)
def test_help_and_the_package_import_nothing_heavy(code: str, tmp_path: Path) -> None:
    shown = f"import sys\ntry:\n {code}\nexcept SystemExit: pass\nprint(*sys.modules, file=sys.stderr)"
    done = run(cwd=tmp_path, code=shown)
    modules = {name.partition(".")[0] for name in done.stderr.split()}
    assert "tamis" in modules
    assert not modules & HEAVY


@pytest.mark.parametrize(
    "name",
    tamis.__all__,
)
def test_a_public_name_is_the_same_thing_at_every_access(name: str) -> None:
    assert getattr(tamis, name).__name__ == name
    assert getattr(tamis, name) is getattr(tamis, name)
    assert name in dir(tamis)


def test_there_are_no_other_names() -> None:
    assert sorted(tamis.__all__) == tamis.__all__
    assert "__version__" in dir(tamis)
    with pytest.raises(AttributeError, match="module 'tamis' has no attribute 'nope'"):
        tamis.nope  # noqa: B018
    with pytest.raises(ImportError):
        exec("from tamis import nope")


# From rows to a loaded data set


@dataclass(frozen=True)
class Chain:
    """The five verbs, each run once in a process of its own."""

    folder: Path
    done: dict[str, subprocess.CompletedProcess[str]]


SOURCES = ("007", "null", "a: b, [c] ünï")
EMBED = ("--last_k", "2", "--proj_dim", "8", "--model_name_or_path", "model")
VERB_OF = {"index": "embed", "scores": "score", "selection": "select", "page": "report", "data": "export"}


def chat(number: int, source: str) -> dict[str, Any]:
    question, answer = (
        f"What is {number} times {number}?",
        f"The answer is {number * number}, {source}." if number else "",
    )
    turns = [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
    return {"id": f"row {number}", "source": source, "language": "en", "messages": turns}


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Chain:
    """12 short chats and one without an answer; YAML would read the names of their sources as something else."""
    folder = tmp_path_factory.mktemp("chain")
    tiny.saved(folder / "model")
    rows = [chat(number, SOURCES[number % 3]) for number in range(13)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "target.jsonl").write_text("".join(json.dumps(chat(number, "target")) + "\n" for number in (3, 6)))
    sources = ("--source", "007", "--source", "null", f"--source={SOURCES[2]}")
    commands = {
        "embed": ("--dataset_name", "rows.jsonl", *EMBED, "--output_dir", "index"),
        "score": ("--index", "index", "--target", "target.jsonl", "--output_dir", "scores", "--format", "json"),
        "select": (
            "--scores",
            "scores",
            "--ratio",
            "0.25",
            "--output_dir",
            "selection",
            "--format",
            "json",
            *sources,
        ),
        "report": ("--selection", "selection", "--index", "index", "--output_dir", "page"),
        "export": ("--selection", "selection", "--output_dir", "data"),
    }
    done = {verb: run(verb, *flags, cwd=folder, HF_TOKEN=TOKEN) for verb, flags in commands.items()}
    return Chain(folder, done)


def bytes_of(folder: Path) -> dict[str, str]:
    """The digest of every file but those that hold the time."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "run.yaml"
    }


def test_every_verb_succeeds_and_is_silent_on_stderr(chain: Chain) -> None:
    for verb, done in chain.done.items():
        assert (verb, done.returncode, done.stderr) == (verb, 0, "")
        assert done.stdout


def test_text_says_what_was_written(chain: Chain) -> None:
    text = chain.done["embed"].stdout
    assert text.startswith("wrote: index\nform: messages\nrows: 12\n")
    assert "  row 0: message 2 (assistant) is empty\n" in text
    assert 'load: load_dataset("data", "drop-25")' in chain.done["export"].stdout


def test_json_is_one_object_and_nothing_else(chain: Chain) -> None:
    scored, selected = (json.loads(chain.done[verb].stdout) for verb in ("score", "select"))
    assert all(chain.done[verb].stdout.count("\n") == 1 for verb in ("score", "select"))
    assert (scored["wrote"], scored["rows"], scored["excluded"], scored["target_rows"]) == ("scores", 12, 1, 2)
    assert len(scored["highest"]) == 5
    assert selected["removed"] == "3 of 12 sieved rows (base rate 25.0%)"
    assert sorted(line.rpartition(":")[0] for line in selected["by_source"]) == sorted(SOURCES)


def test_plain_load_dataset_reads_the_folder(
    chain: Chain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = partial(datasets.load_dataset, cache_dir=str(tmp_path))
    monkeypatch.chdir(chain.folder)
    printed = chain.done["export"].stdout.rpartition("load: ")[2]
    kept = eval(printed, {"load_dataset": load})["train"]
    removed = load("data", "removed-25")["train"]
    assert (len(kept), len(removed)) == (9, 3)
    assert sorted([*kept["id"], *removed["id"]]) == sorted(f"row {number}" for number in range(1, 13))
    assert min(removed["score"]) >= max(kept["score"])
    assert set(kept["source"]) <= set(SOURCES)
    assert load("data", "unscored")["train"]["id"] == ["row 0"]


@pytest.mark.parametrize("ratio", ["0", "1"])
def test_the_printed_line_loads_at_both_ends(
    ratio: str, chain: Chain, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        cli.main(["select", "--scores", str(chain.folder / "scores"), "--ratio", ratio, "--output_dir", "x"]) == 0
    )
    capsys.readouterr()
    Path("rows.jsonl").symlink_to(chain.folder / "rows.jsonl")
    assert cli.main(["export", "--selection", "x", "--output_dir", "d", "--format", "json"]) == 0
    printed = json.loads(capsys.readouterr().out)["load"]
    rows = eval(printed, {"load_dataset": partial(datasets.load_dataset, cache_dir=str(tmp_path))})["train"]
    assert len(rows) == (12 if ratio == "0" else 13)


@pytest.mark.parametrize("name", VERB_OF)
def test_run_yaml_runs_the_same_command_again(
    name: str, chain: Chain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(chain.folder)
    before = bytes_of(chain.folder / name)
    assert cli.main([VERB_OF[name], "--config", f"{name}/run.yaml"]) == 0
    assert bytes_of(chain.folder / name) == before
    other = tmp_path / "other"
    assert cli.main([VERB_OF[name], "--config", f"{name}/run.yaml", "--output_dir", str(other)]) == 0
    assert bytes_of(other) == before
    old, new = (yaml.safe_load((folder / "run.yaml").read_text()) for folder in (chain.folder / name, other))
    assert {**new, "output_dir": name, "provenance": None} == {**old, "provenance": None}
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("name", [*VERB_OF, "scores/target"])
def test_run_yaml_says_what_made_the_folder(name: str, chain: Chain) -> None:
    text = (chain.folder / name / "run.yaml").read_text(encoding="utf-8")
    made = yaml.safe_load(text)["provenance"]
    assert {"python", "tamis", "torch", "transformers", "datasets", "numpy", "pyarrow"} <= set(made["versions"])
    time = datetime.fromisoformat(made["time"])
    assert time.utcoffset() == timedelta(0)
    assert timedelta(0) <= datetime.now(UTC) - time < timedelta(hours=1)
    if (Path(tamis.__file__).parents[2] / ".git").exists():
        assert re.fullmatch(r"[0-9a-f]{40}", made["git_revision"])


def test_no_token_is_written(chain: Chain) -> None:
    files = [path for path in chain.folder.rglob("*") if path.is_file()]
    assert len(files) > 20
    assert not [path for path in files if TOKEN.encode() in path.read_bytes()]
    assert not any(TOKEN in done.stdout + done.stderr for done in chain.done.values())


@pytest.mark.parametrize("by_file", [True, False], ids=["file", "flag"])
def test_a_dry_run_writes_nothing(
    by_file: bool,
    chain: Chain,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(chain.folder)
    before = bytes_of(chain.folder)
    keys = {
        "dataset_name": "rows.jsonl",
        "output_dir": "dry",
        "model_name_or_path": "model",
        "last_k": 2,
        "proj_dim": 8,
    }
    arguments = ["--dry_run", *(part for name, value in keys.items() for part in (f"--{name}", str(value)))]
    if by_file:
        (tmp_path / "recipe.yaml").write_text(yaml.safe_dump({**keys, "dry_run": True}))
        arguments = ["--config", str(tmp_path / "recipe.yaml")]
    assert cli.main(["embed", *arguments, "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["dry_run"].startswith("13 rows of ")
    assert report["bytes_on_disk"] > 0
    assert bytes_of(chain.folder) == before
    assert not (chain.folder / "dry").exists()


def test_a_file_that_cannot_be_written_is_exit_1(chain: Chain, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["select", "--scores", str(chain.folder / "scores"), "--output_dir", "x"]
    assert cli.main(arguments) == 0
    Path("x/kept.parquet").unlink()
    Path("x/kept.parquet").mkdir()
    capsys.readouterr()
    assert cli.main(arguments) == 1
    assert "x/kept.parquet" in one_line(capsys.readouterr().err)


# What a shell does to it


@pytest.mark.parametrize(
    ("arguments", "missing", "named", "extra"),
    [
        (flags("embed"), {"torch"}, "torch", "attribution"),
        (flags("embed"), {"datasets"}, "datasets", "attribution"),
        (flags("embed"), {"torch", "datasets", "transformers", "tqdm"}, "tqdm", "attribution"),
        (flags("export", selection="selection"), {"datasets", "torch"}, "datasets", "attribution"),
        (flags("score", index="index", target="target.jsonl"), {"torch", "datasets"}, "datasets", "attribution"),
        (flags("report"), {"matplotlib"}, "matplotlib", "report"),
        (flags("report"), {"jinja2", "torch"}, "jinja2", "report"),
    ],
)
def test_a_missing_extra_is_named(
    arguments: list[str], missing: set[str], named: str, extra: str, chain: Chain
) -> None:
    before = sorted(chain.folder.rglob("*"))
    done = run(*arguments, cwd=chain.folder, code=BLOCK.format(names=missing))
    assert (done.returncode, done.stdout) == (2, "")
    assert one_line(done.stderr) == f"{named} is not installed: pip install 'tamis[{extra}]'"
    assert sorted(chain.folder.rglob("*")) == before


def test_scores_selections_and_reports_need_no_attribution(chain: Chain, tmp_path: Path) -> None:
    code = BLOCK.format(names={"torch", "datasets", "transformers", "tqdm", "sklearn"})
    targets = str(chain.folder / "scores" / "target")
    for arguments in (
        ["score", "--index", str(chain.folder / "index"), "--target", targets, "--output_dir", "s"],
        ["select", "--scores", "s", "--output_dir", "x"],
        ["report", "--selection", "x", "--index", str(chain.folder / "index"), "--output_dir", "r"],
    ):
        done = run(*arguments, cwd=tmp_path, code=code)
        assert (done.returncode, done.stderr) == (0, "")
    assert bytes_of(tmp_path / "s") == {
        k: v for k, v in bytes_of(chain.folder / "scores").items() if "target" not in k
    }


@pytest.mark.parametrize(
    "arguments", [["--help"], ["embed", "--help"], ["select", "--scores", "scores", "--output_dir", "y"]]
)
def test_a_reader_that_stops_reading_is_no_error(arguments: list[str], chain: Chain) -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "tamis.cli", *arguments]
    done = subprocess.run(command, cwd=chain.folder, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_a_result_that_cannot_be_printed_is_exit_1(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123
        command = [sys.executable, "-m", "tamis.cli", "--help"]
        done = subprocess.run(command, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert "No space left" in one_line(done.stderr)


def test_exit_codes_reach_the_shell(tmp_path: Path) -> None:
    for arguments, code in (([], 2), (["nope"], 2), (["select"], 2), (["--help"], 0)):
        done = run(*arguments, cwd=tmp_path)
        assert done.returncode == code
        assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())
