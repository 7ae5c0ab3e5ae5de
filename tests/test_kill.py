"""Killed anywhere, by a real SIGKILL, and run again: the same bytes as undisturbed, and no whole shard made twice.

A child is forked from a server that has imported everything, so that its whole life is work. It dies at a random
moment, or just before its n-th write (a file opened to write, a rename, a folder made) in the output folder.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tamis import cli

VERBS = {"embed": "index", "score": "scores", "select": "selection", "export": "dataset"}
SHARD_ROWS, FIRST_ROWS = 4, 30
_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(
    [
        "tamis.gradients.embed",
        "tamis.influence.scores",
        "tamis.dataset_folder",
        "datasets",
        "transformers.models.llama.modeling_llama",
        "pytest",
    ]
)


@dataclass(frozen=True)
class Made:
    """The four folders of an undisturbed run, the writes that each took, and the seconds."""

    folder: Path
    writes: dict[str, int]
    seconds: dict[str, float]

    def arguments(self, verb: str, out: Path) -> list[str]:
        return [*_arguments(verb, self.folder), "--output_dir", str(out)]


def _arguments(verb: str, folder: Path) -> list[str]:
    flags: dict[str, dict[str, Any]] = {
        "embed": {"dataset_name": folder / "pool.jsonl", "model_name_or_path": folder / "model", "last_k": 2},
        "score": {"index": folder / "index", "target": folder / "target.jsonl"},
        "select": {"scores": folder / "scores"},
        "export": {"selection": folder / "selection"},
    }
    flags["embed"] |= {"proj_dim": 8, "max_length": 64, "shard_rows": SHARD_ROWS}
    flags["append"] = flags["embed"]
    given = [part for name, value in flags[verb].items() for part in (f"--{name}", str(value))]
    return ["embed", "--append", *given] if verb == "append" else [verb, *given]


def command(arguments: list[str], out: str, log: str, last_write: int | None) -> None:
    """Runs in the child: the command line, its output to `log`, dead before the write of number `last_write`."""
    for stream in (1, 2):
        os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
    seen = 0

    def hook(event: str, values: tuple[Any, ...]) -> None:
        nonlocal seen
        if event not in ("open", "os.rename", "os.mkdir") or not str(values[0]).startswith(out):
            return
        if event == "open" and (values[1] is None or not {*"wax+"} & {*str(values[1])}):
            return
        if seen == last_write:
            os.kill(os.getpid(), signal.SIGKILL)
        seen += 1

    sys.addaudithook(hook)
    code = cli.main(arguments)
    Path(f"{log}.writes").write_text(str(seen))
    sys.exit(code)


def run(
    arguments: list[str], out: Path, log: Path, *, last_write: int | None = None, moment: float | None = None
) -> int:
    """The exit code of a child: -9 where it was killed."""
    child = _SERVER.Process(target=command, args=(arguments, str(out), str(log), last_write))
    child.start()
    child.join(moment)
    if moment is not None and child.exitcode is None:
        child.kill()
    child.join()
    assert child.exitcode is not None
    return child.exitcode


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    import tiny  # not at the top: every child imports this file

    folder = tmp_path_factory.mktemp("undisturbed")
    tiny.saved(folder / "model")
    for name, rows in (("pool", 42), ("target", 6)):
        turns = [
            [
                {"role": "user", "content": f"what is {i}?"},
                {"role": "assistant", "content": f"{name} {'yes ' * (1 + i % 5)}"},
            ]
            for i in range(rows)
        ]
        known = [{"id": f"{name}{i}", "source": "ab"[i % 2], "language": "en"} for i in range(rows)]
        lines = [{**known[i], "messages": turns[i]} for i in range(rows)]
        (folder / f"{name}.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    run(["--help"], folder, folder / "help.log")  # starts the server
    writes, seconds = {}, {}
    for verb, name in VERBS.items():
        log = folder / f"{verb}.log"
        began = time.monotonic()
        arguments = [*_arguments(verb, folder), "--output_dir", str(folder / name)]
        assert run(arguments, folder / name, log) == 0, log.read_text()
        seconds[verb] = time.monotonic() - began
        writes[verb] = int(Path(f"{log}.writes").read_text())
    few = [*_arguments("embed", folder), "--max_samples", str(FIRST_ROWS), "--output_dir", str(folder / "few")]
    assert run(few, folder / "few", folder / "few.log") == 0
    shutil.copytree(folder / "few", folder / "appended")
    appending = [*_arguments("append", folder), "--output_dir", str(folder / "appended")]
    assert run(appending, folder / "appended", folder / "append.log") == 0
    writes["append"] = int((folder / "append.log.writes").read_text())
    return Made(folder, writes, seconds)


def ends_well(made: Made, verb: str, out: Path, log: Path) -> None:
    """Runs the killed command to its end, and looks at what is there."""
    import pools

    whole = len([*out.rglob("shard-*.safetensors")])
    assert run(made.arguments(verb, out), out, log) == 0, log.read_text()
    assert log.read_text().count("already there") == whole
    assert pools.contents(out) == pools.contents(made.folder / VERBS[verb])
    assert (out / "run.yaml").is_file()


def killed_while_appending(made: Made, last: int, out: Path) -> None:
    """The old index is there; its last shard is of two rows, and has to be made anew."""
    import pools

    shutil.copytree(made.folder / "few", out)
    logs = [out.with_suffix(f".{n}.log") for n in (1, 2)]
    assert run(made.arguments("append", out), out, logs[0], last_write=last) == -signal.SIGKILL
    assert run(made.arguments("append", out), out, logs[1]) == 0, logs[1].read_text()
    assert pools.contents(out) == pools.contents(made.folder / "index")


def _points(seed: int, counts: dict[str, int]) -> list[tuple[str, float]]:
    """A verb and a share of its run, spread evenly, each a little off."""
    chance = random.Random(seed)
    return [(verb, (i + chance.random()) / count) for verb, count in counts.items() for i in range(count)]


FEW = {"embed": 3, "score": 2, "select": 1, "export": 1}
MANY = {"embed": 26, "score": 12, "select": 6, "export": 6}


@pytest.mark.parametrize(("verb", "share"), _points(1, FEW))
def test_killed_before_a_write(verb: str, share: float, made: Made, tmp_path: Path) -> None:
    out = tmp_path / "out"
    last = int(share * made.writes[verb])
    assert run(made.arguments(verb, out), out, tmp_path / "first.log", last_write=last) == -signal.SIGKILL
    ends_well(made, verb, out, tmp_path / "second.log")


@pytest.mark.parametrize(("verb", "share"), _points(2, {"embed": 1, "score": 1}))
def test_killed_at_a_moment(verb: str, share: float, made: Made, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(made.arguments(verb, out), out, tmp_path / "first.log", moment=share * made.seconds[verb])
    ends_well(made, verb, out, tmp_path / "second.log")


@pytest.mark.parametrize("share", [0.2, 0.7])
def test_killed_while_appending(share: float, made: Made, tmp_path: Path) -> None:
    killed_while_appending(made, int(share * made.writes["append"]), tmp_path / "out")


@pytest.mark.slow
def test_killed_before_every_write_of_appending(made: Made, tmp_path: Path) -> None:
    for last in range(made.writes["append"]):
        killed_while_appending(made, last, tmp_path / str(last))


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
def test_killed_before_every_write(verb: str, made: Made, tmp_path: Path) -> None:
    for last in range(made.writes[verb]):
        out = tmp_path / str(last)
        log = tmp_path / f"{last}.log"
        assert run(made.arguments(verb, out), out, log, last_write=last) == -signal.SIGKILL
        ends_well(made, verb, out, tmp_path / f"{last}-second.log")


@pytest.mark.slow
@pytest.mark.parametrize(("verb", "share"), _points(3, MANY))
def test_killed_at_many_moments(verb: str, share: float, made: Made, tmp_path: Path) -> None:
    test_killed_at_a_moment(verb, share, made, tmp_path)


@pytest.mark.slow
def test_killed_again_and_again(made: Made, tmp_path: Path) -> None:
    """A run that is never let to its end gets there all the same."""
    out, chance = tmp_path / "out", random.Random(4)
    for _ in range(8):
        moment = made.seconds["embed"] * (0.5 + 0.4 * chance.random())
        run(made.arguments("embed", out), out, tmp_path / "first.log", moment=moment)
    ends_well(made, "embed", out, tmp_path / "second.log")


def test_the_command_itself_killed(made: Made, tmp_path: Path) -> None:
    """`python -m tamis.cli`, as it is started by a person, killed once two shards are there."""
    out = tmp_path / "out"
    started = [sys.executable, "-m", "tamis.cli", *made.arguments("embed", out)]
    with subprocess.Popen(started, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while len([*out.glob("shard-*")]) < 2 and process.poll() is None:
            time.sleep(0.002)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    ends_well(made, "embed", out, tmp_path / "second.log")
