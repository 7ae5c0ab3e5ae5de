"""Every way of finding personal data in one table: privacy, utility and speed, on the same sessions.

    python evaluation/run_detection.py --gold dev=../shared/data/pii/dev.jsonl --output_dir detection
    python evaluation/run_detection.py --synthetic 500 --mathdial test.jsonl --gsm8k test.jsonl \
        --detectors presidio rules model cascade --output_dir detection

Writes detection.json (every figure), detection.md (tables) and detection.png. A detector that runs in another
environment, such as GLiNER, stands in the table by its spans.jsonl: `--spans GLiNER=dev=spans.jsonl`. README.md
beside this script says how to make one. Detectors read the messages alone, never the gold.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from negatives import gsm8k, mathdial

from tamis.errors import UsageError
from tamis.figures import privacy_and_utility
from tamis.pii import comparison
from tamis.pii.comparison_page import page
from tamis.pii.detect.detector import Detector
from tamis.pii.guard import guard
from tamis.pii.reading import read_sessions
from tamis.pii.segments import MATHS, segment_all, sentence_embedder
from tamis.pii.sessions import Annotated

DENSITIES = {"generated": None, "generated, realistic": 0.017}
"""Spans a message; None is the generator's default."""


def _presidio() -> Detector:
    from tamis.pii.detect.presidio import PresidioDetector

    return PresidioDetector(labels={})


def _presidio_custom() -> Detector:
    from tamis.pii.detect.presidio import PresidioDetector
    from tamis.pii.detect.rules import RulesDetector

    return PresidioDetector(beside=[RulesDetector()], labels={})


def _rules() -> Detector:
    from tamis.pii.detect.rules import RulesDetector

    return RulesDetector()


def _model() -> Detector:
    from tamis.pii.detect.model import ModelDetector

    return ModelDetector()


def _cascade() -> Detector:
    from tamis.pii.detect.cascade import CascadeDetector

    return CascadeDetector()


DETECTORS: dict[str, Callable[[], Detector]] = {
    "presidio": _presidio,
    "presidio+rules": _presidio_custom,
    "rules": _rules,
    "model": _model,
    "cascade": _cascade,
}


def named(text: str, parts: int) -> list[str]:
    """The parts of NAME=...=FILE.

    Raises:
        UsageError: There are fewer.
    """
    found = text.split("=", parts - 1)
    if len(found) != parts or not all(found):
        raise UsageError(f"{text}: write {'NAME=FILE' if parts == 2 else 'DETECTOR=SET=FILE'}")
    return found


def sets(options: argparse.Namespace) -> Iterator[tuple[str, str, list[Annotated]]]:
    """Name, kind and sessions of every set that is asked for."""
    for text in options.gold:
        name, path = named(text, 2)
        yield name, "annotated", list(read_sessions(path))
    if options.synthetic:
        from tamis.pii.synthetic import generate

        for name, density in DENSITIES.items():
            more = {} if density is None else {"density": density}
            found = generate(sessions=options.synthetic, seed=options.seed, templates="held_out", **more)
            yield name, "annotated", list(found)
    for name, read in (("MathDial", mathdial), ("GSM8K", gsm8k)):
        if path := getattr(options, name.lower()):
            yield name, "negative", read(Path(path))


def compare(options: argparse.Namespace, embed: Any) -> dict[str, Any]:
    """Every figure of every detector on every set."""
    detectors = [DETECTORS[name]() for name in options.detectors]
    made = {}
    for name, kind, gold in sets(options):
        gold = gold[: options.max_sessions]
        segments = segment_all([known.session for known in gold], embed)
        maths = np.array([line.label == MATHS for session in segments for line in session], bool)
        runs = [comparison.run(detector, gold) for detector in detectors]
        for text in options.spans:
            detector, where, path = named(text, 3)
            runs += [comparison.read_run(detector, Path(path), gold)] if where == name else []
        stock = next((found for found in runs if found.name == comparison.BASELINE), None)
        made[name] = {
            "kind": kind,
            "about": comparison.about(gold),
            "rows": comparison.rows(gold, runs, maths, guard, seed=options.seed, resamples=options.resamples),
            "baseline_entities": comparison.baseline_entities(stock, gold) if stock else {},
        }
        print(f"{name}: {made[name]['about']['messages']:,} messages, {len(runs)} detectors", flush=True)
    return {"sets": made, "seed": options.seed, "cores": os.cpu_count()}


def points(rows: dict[str, dict[str, Any]]) -> list[tuple[str, float, float]]:
    """What the figure shows of each row."""
    return [(name, row["character"]["recall"], row["maths"]["preserved"]) for name, row in rows.items()]


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--gold", nargs="+", default=[], metavar="NAME=FILE", help="annotated sessions")
    parser.add_argument("--synthetic", type=int, default=0, metavar="SESSIONS", help="sessions to generate")
    parser.add_argument("--mathdial", metavar="FILE", help="dialogues to count false positives on")
    parser.add_argument("--gsm8k", metavar="FILE", help="problems to count false positives on")
    parser.add_argument("--detectors", nargs="+", choices=DETECTORS, default=["presidio", "rules"])
    parser.add_argument("--spans", nargs="+", default=[], metavar="DETECTOR=SET=FILE", help="spans made elsewhere")
    parser.add_argument("--encoder", default="packaged", help="for the segments; `none`: by density alone")
    parser.add_argument("--max_sessions", type=int, help="of each set")
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output_dir", type=Path, required=True)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs, and writes the three files."""
    options = parsed(arguments)
    embed = None if options.encoder == "none" else sentence_embedder(options.encoder)
    result = compare(options, embed)
    if not result["sets"]:
        raise UsageError("name sessions with --gold, --synthetic, --mathdial or --gsm8k")
    options.output_dir.mkdir(parents=True, exist_ok=True)
    (options.output_dir / "detection.json").write_text(json.dumps(result, indent=1) + "\n")
    shown = next((part for part in result["sets"].values() if part["kind"] == "annotated"), None)
    if shown:
        (options.output_dir / "detection.png").write_bytes(privacy_and_utility(points(shown["rows"])).light)
    (options.output_dir / "detection.md").write_text(page(result, "detection.png" if shown else None))
    print(f"wrote {options.output_dir}")


if __name__ == "__main__":
    main()
