"""What ranking a pool against a new target set costs, and what an exact cut costs, at the size of Tulu 3.

    python benchmarks/score.py
    python benchmarks/score.py --format json --rows 20000
    python benchmarks/score.py --highest

A synthetic index of 939,343 rows x 28 modules of random factors, 3.4 GB in the real format (shards of 512 rows),
is written to a temporary folder by a process of its own, and read once, so that the cache is warm. Measured apart,
in wall and in CPU seconds: the scores against the mean of 2,000 targets (from opening the indexes to an array),
the ranking (sort by score and row id), the writing, and the cut of a fifth of the rows on loaded columns. One
thread, unless OMP_NUM_THREADS says more.

`--highest` measures instead the scores that need every pair: the nearest target, and the mean of the ten nearest.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from tamis.gradients.shard import EmbeddedRow, Part
from tamis.gradients.store import GradientIndex, IndexWriter
from tamis.influence.scores import DEFAULT_TOPK, ranked
from tamis.influence.similarity import collapse, highest, similarities
from tamis.provenance import write_parquet
from tamis.selection import decide

ROWS, TARGETS, MODULES, DIM, SHARD_ROWS = 939_343, 2_000, 28, 32, 512
RATIO = 0.2


def make(folder: Path, rows: int, seed: int) -> None:
    """Writes an index of random factors of about unit norm over a row."""
    rng = np.random.default_rng(seed)
    identity = {
        "gradient": {"modules": [f"m{i}" for i in range(MODULES)], "proj_dim": DIM},
        "data": {"fingerprint": f"random, seed {seed}", "rows": rows},
    }
    size = (DIM * MODULES**0.5) ** -0.5
    starts = enumerate(range(0, rows, SHARD_ROWS))
    parts = [Part(n, range(start, min(start + SHARD_ROWS, rows)), str(start)) for n, start in starts]
    with IndexWriter(folder, identity, {"recipe": {}, "form": "messages"}) as writer:
        for part in parts:
            factors = rng.standard_normal((2, len(part.rows), MODULES, DIM), np.float32)
            u, v = (factors * size).astype(np.float16)
            known = [
                EmbeddedRow(f"r{i}", i, f"s{i % 18}", "en", 700, 400, [], 1.0 + i % 7, 0.7, 500.0, f"{i:x}")
                for i in part.rows
            ]
            writer.write(part, u, v, known, [])
        writer.finish(parts)


def prepare(work: Path, rows: int) -> None:
    """The pool and the target set in the folder, made unless they are there; the pool is read once."""
    work.mkdir(parents=True, exist_ok=True)
    if not (work / "target" / "manifest.json").exists():
        needed = 1.3 * rows * MODULES * DIM * 4
        if shutil.disk_usage(work).free < needed:
            sys.exit(f"{work}: needs {needed / 1e9:.1f} GB of disk")
        command = [sys.executable, __file__, "--make", "--rows", str(rows), "--work_dir", str(work)]
        subprocess.run(command, check=True)
    if len(GradientIndex(work / "pool")) != rows:
        sys.exit(f"{work}: holds an index of another number of rows; name another --work_dir")
    for path in sorted((work / "pool").iterdir()):
        with path.open("rb") as stream:
            while stream.read(1 << 24):
                pass


class Watch:
    """Wall and CPU seconds of each part, and the highest RssAnon (memory that no file stands behind) over all."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.cpu: dict[str, float] = {}
        self.peaks: dict[str, float] = {}
        self._part, self._stop = "", threading.Event()
        threading.Thread(target=self._sample, daemon=True).start()

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Measures the block under this name."""
        self._part = name
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        self.seconds[name], self.cpu[name] = time.perf_counter() - wall, time.process_time() - cpu
        self._part = ""

    def _sample(self) -> None:
        while not self._stop.wait(0.02):
            status = Path("/proc/self/status").read_text()
            now = int(status.partition("RssAnon:")[2].split()[0]) / 1024
            self.peaks[self._part] = max(self.peaks.get(self._part, 0.0), now)


def measure(work: Path, rows: int) -> dict[str, object]:
    """Scores, ranks, writes and cuts once; every figure that is printed."""
    watch = Watch()
    with watch.part("score"):
        pool, target = GradientIndex(work / "pool"), GradientIndex(work / "target")
        values = similarities(pool, collapse(target, "cosine"), "cosine")
    with watch.part("rank"):
        table = ranked(pool.rows, values)
    with watch.part("write"):
        write_parquet(work / "scores.parquet", table)
    cuts = []
    inside = np.ones(len(table), bool)
    for _ in range(5):
        with watch.part("select"):
            decided, first = decide(table, inside, [], [], RATIO)
            removed = int((decided["order"].to_numpy() >= first).sum())
        cuts.append((watch.seconds["select"], watch.cpu["select"]))
    assert removed == rows // 5
    wall, cpu = sorted(cuts)[2]
    named = (("score", ""), ("rank", "rank_"), ("write", "write_"))
    return {
        "rows": rows,
        **{f"{name}seconds": round(watch.seconds[part], 2) for part, name in named},
        **{f"{name}cpu_seconds": round(watch.cpu[part], 2) for part, name in named},
        "select_ms": round(wall * 1000, 1),
        "select_cpu_ms": round(cpu * 1000, 1),
        "peak_rss_mb": round(watch.peaks.get("score", 0.0)),
        "peak_rss_all_mb": round(max(watch.peaks.values(), default=0.0)),
        "removed": removed,
    }


def measure_highest(work: Path, rows: int) -> dict[str, object]:
    """The scores by the nearest target and by the nearest ten."""
    watch, found = Watch(), {}
    for name, count in (("max", 1), ("topk", DEFAULT_TOPK)):
        with watch.part(name):
            values = highest(GradientIndex(work / "pool"), GradientIndex(work / "target"), "cosine", count)
        assert np.isfinite(values).all()
        found[name] = {
            "nearest": count,
            "seconds": round(watch.seconds[name], 1),
            "cpu_seconds": round(watch.cpu[name], 1),
            "rows_per_cpu_second": round(rows / watch.cpu[name], 1),
            "peak_rss_mb": round(watch.peaks.get(name, 0.0)),
        }
    return {"rows": rows, **found}


def main() -> None:
    """Makes the index, measures and prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--format", choices=["text", "json"], default="text")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--highest", action="store_true", help="the nearest targets instead of the mean")
    parser.add_argument("--work_dir", help="where the index is written and stays; a temporary folder by default")
    parser.add_argument("--keep", action="store_true", help="keep the result in benchmarks/results")
    parser.add_argument("--make", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    work = Path(options.work_dir or tempfile.mkdtemp(prefix="tamis-score-"))
    if options.make:
        make(work / "pool", options.rows, 0)
        make(work / "target", TARGETS, 1)
        return
    try:
        prepare(work, options.rows)
        result = (measure_highest if options.highest else measure)(work, options.rows)
        result |= {
            "modules": MODULES,
            "targets": TARGETS,
            "threads": int(os.environ["OMP_NUM_THREADS"]),
            "load_average": round(os.getloadavg()[0], 1),
            "cores": os.cpu_count(),
        }
    finally:
        if not options.work_dir:
            shutil.rmtree(work)
    if options.keep:
        path = Path(__file__).parent / "results" / ("score_highest.json" if options.highest else "score.json")
        path.write_text(json.dumps(result, indent=1) + "\n")
    if options.format == "json":
        print(json.dumps(result))
        return
    for name, value in result.items():
        print(f"{name:<20} {value}")


if __name__ == "__main__":
    main()
