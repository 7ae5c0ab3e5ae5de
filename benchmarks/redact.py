"""What finding personal data costs against Presidio on the same messages, and whether memory grows with sessions.

    python benchmarks/redact.py
    python benchmarks/redact.py --format json --sessions 20 --detector rules
    python benchmarks/redact.py --dataset_name sessions.jsonl --detector rules --detector model

Generated tutoring sessions, one thread. In each repeat every detector reads all messages in turn: stock Presidio's
`BatchAnalyzerEngine` with the packaged small English model, all messages in batches of 64; our rules and the token
model with the maths guard, session by session, to the spans that a redaction takes out. What is reported is the
median over repeats of messages per CPU second, and of the ratio to Presidio within a repeat.

For memory, `tamis redact` runs over so many sessions and over four times as many, each in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from tamis.pii.reading import read_sessions
from tamis.pii.recipe import RedactRecipe
from tamis.pii.redact import build, redact
from tamis.pii.sessions import Message, Session

OURS = ("rules", "model", "cascade")
MEMORY = (250, 1000)
"""How many sessions the two runs read whose memory is compared."""


def sessions(name: str | None, number: int, seed: int = 0) -> list[Session]:
    """The sessions of a file, or generated ones."""
    if name:
        return [known.session for known, _ in zip(read_sessions(name), range(number), strict=False)]
    from tamis.pii.synthetic import generate

    return [known.session for known in generate(sessions=number, seed=seed)]


def presidio(read: Sequence[Session]) -> Callable[[], object]:
    """Presidio over all messages at once, so that its batches are full."""
    from tamis.pii.detect.presidio import PresidioDetector  # a process that measures memory does not load it

    detector = PresidioDetector()
    texts = [message.content for session in read for message in session]
    one = Session("all", tuple(Message(place, "", text) for place, text in enumerate(texts)))
    return lambda: detector.detect(one)


def ours(name: str, read: Sequence[Session], model: str | None) -> Callable[[], object]:
    """One of our detectors with the guard, session by session, to settled spans, as `tamis redact` finds them."""
    folder = model if name == "model" else None
    redactor = build(RedactRecipe("", "", detector=name, model_name_or_path=folder), b"")

    def work() -> None:
        for session in read:
            redactor.found(session)

    return work


def measured(options: argparse.Namespace) -> dict[str, Any]:
    """Messages per CPU second of every system, and how they stand to Presidio."""
    read = sessions(options.dataset_name, options.sessions)
    messages = sum(len(session) for session in read)
    detectors = options.detector or ["rules", "model"]
    systems = {"presidio": presidio(read)} | {
        name: ours(name, read, options.model_name_or_path) for name in detectors
    }
    seconds: dict[str, list[float]] = {name: [] for name in systems}
    for turn in range(options.repeats + 1):
        for name, work in systems.items():
            begin = time.process_time()
            work()
            if turn:  # the first one loads what is loaded late
                seconds[name].append(time.process_time() - begin)
    found: dict[str, Any] = {}
    for name, taken in seconds.items():
        ratios = [base / own for base, own in zip(seconds["presidio"], taken, strict=True)]
        found[name] = {
            "messages_per_cpu_second": round(messages / statistics.median(taken), 1),
            "ratio_to_presidio": round(statistics.median(ratios), 2),
            "range": [round(min(ratios), 2), round(max(ratios), 2)],
        }
    return {"sessions": len(read), "messages": messages, "systems": found}


def write_sessions(path: Path, number: int, name: str | None) -> None:
    """So many sessions as a file; those of `--dataset_name` come again and again under new names."""
    with path.open("w", encoding="utf-8") as stream:
        few = sessions(name, min(number, 50))
        for place in range(number):
            lines = [
                {"sequence_id": line.sequence_id, "role": line.role, "content": line.content}
                for line in few[place % len(few)]
            ]
            stream.write(json.dumps({"session_id": f"s{place}", "messages": lines}) + "\n")


def peak(rows: Path, folder: Path) -> float:
    """The most memory that `tamis redact` with the rules holds, in MiB; it ends with this process."""
    redact(RedactRecipe(str(rows), str(folder), detector="rules"))
    status = Path("/proc/self/status").read_text()  # getrusage would count the parent's memory too
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def memory(name: str | None, numbers: Sequence[int]) -> dict[str, float]:
    """The peak for each number of sessions."""
    found = {}
    with tempfile.TemporaryDirectory(prefix="tamis-redact-") as work:
        for number in numbers:
            rows = Path(work) / f"{number}.jsonl"
            write_sessions(rows, number, name)
            command = [sys.executable, __file__, "--peak", str(rows), f"{work}/{number}"]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            found[str(number)] = round(float(done.stdout), 1)
    return found


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--format", choices=["text", "json"], default="text")
    parser.add_argument("--dataset_name", help="sessions to read in place of generated ones")
    parser.add_argument("--sessions", type=int, default=60)
    parser.add_argument("--detector", action="append", choices=OURS, help="rules and model by default")
    parser.add_argument("--model_name_or_path", help="the token model; the one that comes with tamis by default")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--memory", type=int, nargs=2, default=MEMORY, help="the two numbers of sessions")
    parser.add_argument("--keep", action="store_true", help="keep the result in benchmarks/results")
    parser.add_argument("--peak", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak:
        print(peak(*map(Path, options.peak)))
        return
    result = measured(options) | {
        "peak_memory_mb": memory(options.dataset_name, options.memory),
        "data": options.dataset_name or "generated",
        "load_average": round(os.getloadavg()[0], 1),
        "cores": os.cpu_count(),
    }
    if options.keep:
        path = Path(__file__).parent / "results" / "redact.json"
        path.write_text(json.dumps(result, indent=1) + "\n")
    if options.format == "json":
        print(json.dumps(result))
        return
    for name, value in result.items():
        print(f"{name:<20} {value}")


if __name__ == "__main__":
    main()
