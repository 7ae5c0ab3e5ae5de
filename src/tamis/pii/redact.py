"""A data set without what is personal in it: read, redacted session by session, written in its own form."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import IO, Any

from tamis.errors import UsageError
from tamis.pii.columns import edited, names_in, unscanned
from tamis.pii.detect.detector import Detector
from tamis.pii.keyed import new_key, read_key
from tamis.pii.operators import Operator, needs_key
from tamis.pii.processes import mapped
from tamis.pii.reading import Passage, passages
from tamis.pii.recipe import RedactRecipe, thresholds
from tamis.pii.records import Source, open_source
from tamis.pii.redactor import Redacted, Redactor
from tamis.pii.spans import Span
from tamis.pii.writing import writer
from tamis.provenance import claim_folder, whole, write_run
from tamis.recipe import digest, to_dict

SPANS, OFFSETS = "spans.jsonl", "offsets.jsonl"
_NOT_IN_DIGEST = ("output_dir", "num_proc", "explain", "scan_columns", "drop_columns", "keep_columns")


@dataclass
class Redaction:
    """What a run did.

    Attributes:
        folder: Where it wrote.
        file: The redacted rows.
        sessions: Their number; of rows without sessions, the number of pieces that they were read in.
        messages: Their number.
        labels: The number of spans of each label.
        guarded: The number of spans that the maths guard kept.
        unscanned: The text columns that nobody looked at.
    """

    folder: Path
    file: Path
    sessions: int = 0
    messages: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    guarded: int = 0
    unscanned: list[str] = field(default_factory=list)


def redact(
    recipe: RedactRecipe,
    detector: Detector | None = None,
    explain: Callable[[str], None] | None = None,
) -> Redaction:
    """Redacts a data set; everything is written, or nothing but `run.yaml`.

    Args:
        recipe: What is asked for. With several processes, a script calls this under `if __name__ == "__main__":`.
        detector: Finds personal data in place of the recipe's detector.
        explain: Takes a line about each span, which holds nothing of its text.

    Raises:
        UsageError: A row or a flag is wrong; the sentence names it.
        WorkError: The detector fails, or the disk is full.
    """
    _refuse_paths(recipe)
    key = read_key(recipe.key_file)
    source = open_source(recipe.dataset_name, recipe.dataset_config, recipe.dataset_split, recipe.dataset_revision)
    make = partial(build, recipe, needs_key(recipe.operator, key) or new_key(), detector)
    redactor = make()
    name = digest({key: value for key, value in to_dict(recipe).items() if key not in _NOT_IN_DIGEST})
    own = (f"redacted{source.suffix}", SPANS, OFFSETS)
    folder = claim_folder(recipe, name)
    done = Redaction(folder, folder / own[0])
    found = passages(source, recipe.text_column, recipe.scan_columns)
    work = mapped(redactor, make, found, recipe.num_proc)
    try:
        with ExitStack() as files:
            spans_path = Path(recipe.spans_output) if recipe.spans_output else folder / SPANS
            run = _Run(recipe, done, source, name, explain)
            run.open(files, spans_path)
            for passage, redacted in work:
                run.take(passage, redacted)
            run.close()
    finally:
        work.close()
    write_run(recipe, digest=name, unscanned=done.unscanned, spans=sum(done.labels.values()))
    return done


def build(recipe: RedactRecipe, key: bytes, detector: Detector | None = None) -> Redactor:
    """The redactor that a recipe describes."""
    from tamis.pii.detect import chosen

    least, labels = thresholds(recipe)
    operator = Operator(recipe.operator, key, across_sessions=recipe.surrogate_map is not None)
    return Redactor(detector or chosen.detector(recipe), operator, least, labels, recipe.maths_guard)


def _refuse_paths(recipe: RedactRecipe) -> None:
    folder = Path(recipe.output_dir).absolute()
    if recipe.surrogate_map and folder in Path(recipe.surrogate_map).absolute().parents:
        raise UsageError(f"--surrogate_map {recipe.surrogate_map}: lies in --output_dir, which may be published")
    read = [Path(name).resolve() for name in (recipe.dataset_name, recipe.key_file, recipe.roster) if name]
    for flag in ("spans_output", "surrogate_map"):
        path = getattr(recipe, flag)
        if path and Path(path).resolve() in read:
            raise UsageError(f"--{flag} {path}: is a file that is read; name another")
        if path and not Path(path).absolute().parent.is_dir() and Path(path).absolute().parent != folder:
            raise UsageError(f"--{flag} {path}: there is no such folder")


class _Run:
    """The files of one run, and what it counts."""

    def __init__(
        self,
        recipe: RedactRecipe,
        done: Redaction,
        source: Source,
        name: str,
        explain: Callable[[str], None] | None,
    ) -> None:
        self._recipe, self._done, self._source, self._name = recipe, done, source, name
        self._explain = explain
        self._columns: set[str] = set()
        self._unscanned: set[str] = set()
        self._rows: Any = None
        self._map: IO[bytes] | None = None

    def open(self, files: ExitStack, spans: Path) -> None:
        self._file = files.enter_context(whole(self._done.file))
        self._spans = files.enter_context(whole(spans))
        self._offsets = files.enter_context(whole(self._done.folder / OFFSETS))
        if self._recipe.surrogate_map:
            path = Path(self._recipe.surrogate_map)
            _refuse_other_map(path, self._name)
            self._map = files.enter_context(whole(path, 0o600))
            columns = {"text_column": self._recipe.text_column, "scan_columns": self._recipe.scan_columns}
            self._map.write(_line({"digest": self._name, "stem": self._source.stem, **columns}))

    def take(self, passage: Passage, redacted: Redacted) -> None:
        if self._rows is None:  # the source knows its form once a row was read
            self._rows = writer(self._source, self._file, self._recipe.drop_columns)
        rows = edited(passage, redacted.texts, redacted.offsets, self._recipe.drop_columns)
        for record, fields in zip(passage.records, rows, strict=True):
            self._rows.write(record, fields)
            if self._recipe.drop_columns or self._recipe.keep_columns or self._recipe.scan_columns:
                self._columns |= names_in(record.fields)
        self._unscanned |= unscanned(passage, (*self._recipe.drop_columns, *self._recipe.keep_columns))
        self._done.sessions += 1
        self._done.messages += len(redacted.spans)
        for i, message in enumerate(passage.annotated.session):
            key: dict[str, Any] = {
                "session_id": passage.annotated.session.session_id,
                "sequence_id": message.sequence_id,
                **({"column": message.role} if message.sequence_id < 0 else {}),
            }
            spans = redacted.spans[i]
            self._spans.write(_line({**key, "spans": [shown(span) for span in spans]}))
            if spans:
                self._offsets.write(_line({**key, "offsets": redacted.offsets[i]}))
            if spans and self._map:
                self._map.write(_line({**key, "spans": _originals(message.content, redacted, i)}))
            self._done.labels.update(span.label for span in spans)
            self._done.guarded += len(redacted.maths[i])
            if self._explain:
                self._say(key, redacted, i)

    def close(self) -> None:
        """Writes what is left.

        Raises:
            UsageError: A column that was named is in no row.
        """
        for flag in ("scan_columns", "drop_columns", "keep_columns"):
            for name in getattr(self._recipe, flag):
                if name not in self._columns:
                    raise UsageError(f"--{flag} {name}: {self._source.name} has no such column")
        self._rows.close()
        self._done.unscanned = sorted(self._unscanned)

    def _say(self, key: dict[str, Any], redacted: Redacted, i: int) -> None:
        assert self._explain
        told = [*redacted.spans[i], *(replace(s, reason=f"kept: {s.reason}") for s in redacted.maths[i])]
        for span in sorted(told):
            self._explain(
                f"{key['session_id']} {key['sequence_id']}: {span.start}-{span.end} {span.label} "
                f"{span.score:.2f} {span.reason}"
            )


def _refuse_other_map(path: Path, name: str) -> None:
    """Refuses to write over the map of another run, without which that one can never be restored."""
    if not path.exists():
        return
    try:
        with path.open("rb") as stream:
            first = json.loads(stream.readline())
        if first.get("digest") == name:
            return
    except (ValueError, AttributeError):
        pass
    raise UsageError(f"--surrogate_map {path}: is there, and not of this run; name another file")


def _originals(content: str, redacted: Redacted, i: int) -> list[dict[str, Any]]:
    return [
        {
            "start": new_start,
            "end": new_end,
            "original": content[start:end],
            "surrogate": redacted.texts[i][new_start:new_end],
        }
        for start, end, new_start, new_end in redacted.offsets[i]
    ]


def shown(span: Span) -> dict[str, Any]:
    """A span as it is written: nothing of its text."""
    place = {"start": span.start, "end": span.end, "label": span.label}
    return {**place, "score": round(span.score, 4), "reason": span.reason}


def _line(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields).encode() + b"\n"
