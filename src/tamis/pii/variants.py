"""Annotated sessions to a data set folder: the whole, its maths, the rest, word by word, and with surrogates.

Each config has the same three splits, and a session lies in one of them, by its id alone: another release, or
another config, never moves a session from training to testing.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any

from tamis.errors import UsageError
from tamis.hub import cards
from tamis.hub.human_facts import read_human_facts
from tamis.names import is_local, shown
from tamis.pii import segments
from tamis.pii.density import vocabulary
from tamis.pii.keyed import new_key, read_key
from tamis.pii.labels import LABELS, SYNONYMS
from tamis.pii.operators import Operator, applied
from tamis.pii.reading import read_sessions
from tamis.pii.sessions import Annotated, Message, Session
from tamis.pii.spans import Span
from tamis.provenance import claim_folder, whole, write_whole
from tamis.recipe import digest, to_dict

CONFIGS = ("full", "maths", "non_maths", "token_classification", "surrogate")
SPLITS = ("train", "validation", "test")
TAGS = ("O", *(f"{begin}-{label}" for label in LABELS for begin in "BI"))
"""The names of the word tags."""
SYNTHETIC = "synthetic-"
"""How the ids of invented sessions begin: they may not be published as if they were real ones."""

_TENTHS = {**dict.fromkeys(range(8), "train"), 8: "validation", 9: "test"}
_WORD = re.compile(r"\w+|[^\w\s]")
_PACKAGED = "all-MiniLM-L6-v2"
_AT_ONCE = 256  # sessions


@dataclass(frozen=True)
class VariantsRecipe:
    """Writes the variants of annotated sessions as a data set folder.

    Args:
        dataset_name: The sessions with their spans: a file, a folder, or a data set on the Hub, in the transcript
            form of MathEd-PII or in the form of sessions.
        output_dir: The data set's folder.
        dataset_config: The data set's config, where it has several.
        dataset_split: The split to read.
        dataset_revision: The data set's revision on the Hub.
        label: The label of ours that stands for another: `NAME=PERSON`; `NRP=` leaves its spans out.
        encoder: As of `tamis segment`: what decides which messages are maths, beside their own density.
        key_file: The file with the secret key of the surrogates; without it they are others each time.
        card: The card.yaml with what people know of the data set.
    """

    dataset_name: str
    output_dir: str
    dataset_config: str | None = None
    dataset_split: str = "train"
    dataset_revision: str | None = None
    label: list[str] = field(default_factory=list)
    encoder: str = "packaged"
    key_file: str | None = None
    card: str | None = None

    def __post_init__(self) -> None:
        for given in self.label:
            if not re.fullmatch(rf"[^=]+=({'|'.join(LABELS)})?", given):
                raise UsageError(
                    f"--label {given}: not LABEL=OURS with one of {', '.join(LABELS)}, or LABEL= alone"
                )

    @property
    def labels(self) -> dict[str, str]:
        """Other names of labels, and ours for each; no text for what is left out."""
        return {**SYNONYMS, **{name: ours for name, _, ours in (given.partition("=") for given in self.label)}}


@dataclass(frozen=True)
class Variants:
    """What was written.

    Attributes:
        folder: The data set's folder.
        rows: The rows of each config.
        facts: What the card says.
    """

    folder: Path
    rows: dict[str, int]
    facts: dict[str, Any]

    @property
    def synthetic(self) -> int:
        """How many of the sessions are invented ones."""
        return int(self.facts["synthetic"])


@dataclass
class _Counts:
    """What is counted while the files are written."""

    sessions: Counter[str] = field(default_factory=Counter)
    messages: Counter[str] = field(default_factory=Counter)
    holding: Counter[str] = field(default_factory=Counter)
    spans: dict[str, Counter[str]] = field(default_factory=dict)
    synthetic: int = 0


def split_of(session_id: str) -> str:
    """The split of a session: eight of ten are for training, one for validation, one for testing."""
    return _TENTHS[int(hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()[:8], 16) % 10]


def write_variants(recipe: VariantsRecipe) -> Variants:
    """Writes the Parquet files of all configs, the card, and `eval.yaml` where the card.yaml asks for one.

    Raises:
        UsageError: The sessions, the card.yaml or the key cannot be read, there are no spans, or one has a label
            that is none of ours.
    """
    human = read_human_facts(recipe.card, "annotated") if recipe.card else {}
    _refuse_benchmark(recipe.card, human)
    operator = Operator("surrogate", read_key(recipe.key_file) or new_key())
    embed = segments.named_embedder(recipe.encoder)
    read = read_sessions(
        recipe.dataset_name,
        config=recipe.dataset_config,
        split=recipe.dataset_split,
        revision=recipe.dataset_revision,
    )
    first = next(read, None)
    if first is None or first.spans is None:
        what = "no session in it" if first is None else "its messages have no spans"
        raise UsageError(f"{recipe.dataset_name}: {what}; an annotated data set is needed")
    name = digest({key: value for key, value in to_dict(recipe).items() if key != "output_dir"})
    folder, counts = claim_folder(recipe, name), _Counts()
    with ExitStack() as files:
        tables = {(config, split): _Table(files, folder, config, split) for config in CONFIGS for split in SPLITS}
        sessions = chain([first], read)
        while group := list(islice(sessions, _AT_ONCE)):
            labels = segments.segment_all([one.session for one in group], embed)
            for annotated, found in zip(group, labels, strict=True):
                split = split_of(annotated.session.session_id)
                spans = _ours(recipe, annotated)
                rows = _rows(annotated.session, spans, [one.label for one in found], operator, counts)
                for config, made in rows.items():
                    tables[config, split].rows += made
            for table in tables.values():
                table.flush()
    facts = _facts(recipe, folder, name, counts)
    if (text := cards.eval_yaml(human)) is not None:
        write_whole(folder / "eval.yaml", text.encode())
    write_whole(folder / "README.md", cards.render("annotated", facts, human).encode())
    return Variants(folder, {config: one["rows"] for config, one in facts["configs"].items()}, facts)


class _Table:
    """One Parquet file as it grows."""

    def __init__(self, files: ExitStack, folder: Path, config: str, split: str) -> None:
        import pyarrow.parquet as pq

        path = folder / "data" / config / f"{split}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        self._schema = features(config).arrow_schema
        self._writer = files.enter_context(pq.ParquetWriter(files.enter_context(whole(path)), self._schema))
        self.rows: list[dict[str, Any]] = []

    def flush(self) -> None:
        """Writes the rows that were gathered."""
        import pyarrow as pa

        if self.rows:
            self._writer.write_table(pa.Table.from_pylist(self.rows, schema=self._schema))
            self.rows = []


def features(config: str) -> Any:
    """The columns of a config, as `datasets.Features`."""
    from datasets import ClassLabel, Features, List, Value

    text, number = Value("string"), Value("int64")
    if config == "token_classification":
        ids = {"session_id": text, "sequence_id": number, "role": text, "segment": text}
        words = {"tokens": List(text), "starts": List(number), "ner_tags": List(ClassLabel(names=list(TAGS)))}
        return Features({**ids, **words})
    spans = List({"start": number, "end": number, "label": text})
    message = {"sequence_id": number, "role": text, "content": text, "segment": text, "spans": spans}
    return Features({"session_id": text, "messages": List(message)})


def words_of(content: str, spans: Sequence[Span]) -> dict[str, list[Any]]:
    """The words and signs of a message, where each begins, and its tag: a word that a span touches is of it.

    Args:
        content: The message.
        spans: Its spans, in order, none overlapping another.
    """
    tags: list[str] = []
    tokens, starts = [], []
    last: Span | None = None
    for found in _WORD.finditer(content):
        span = next((one for one in spans if one.start < found.end() and one.end > found.start()), None)
        tags.append("O" if span is None else f"{'I' if span is last else 'B'}-{span.label}")
        tokens.append(found[0])
        starts.append(found.start())
        last = span
    return {"tokens": tokens, "starts": starts, "ner_tags": [TAGS.index(tag) for tag in tags]}


def _ours(recipe: VariantsRecipe, annotated: Annotated) -> list[list[Span]]:
    """The spans of each message in order, with labels of ours."""
    names = recipe.labels
    spans = [
        sorted(replace(span, label=names.get(span.label.upper(), span.label)) for span in found)
        for found in annotated.spans or ((),) * len(annotated.session)
    ]
    where = f"{recipe.dataset_name}: session {annotated.session.session_id}"
    for message, found in zip(annotated.session, spans, strict=True):
        found[:] = [span for span in found if span.label]
        for span in found:
            if span.label not in LABELS:
                raise UsageError(
                    f"{where}: the label {span.label} is none of ours; say which in --label {span.label}="
                )
        if any(one.end > other.start for one, other in pairwise(found)):
            raise UsageError(f"{where}: spans of message {message.sequence_id} overlap")
    return spans


def _rows(
    session: Session, spans: list[list[Span]], labels: Sequence[str], operator: Operator, counts: _Counts
) -> dict[str, list[dict[str, Any]]]:
    """A session's rows in each config."""
    said = [_message(*one) for one in zip(session, labels, spans, strict=True)]
    new = operator.replacements(session, spans)
    replaced = [
        _message(changed, label, moved)
        for message, label, found, texts in zip(session, labels, spans, new, strict=True)
        for changed, moved in (_replaced(message, found, texts),)
    ]
    chosen = {
        "full": said,
        "maths": [one for one in said if one["segment"] == segments.MATHS],
        "non_maths": [one for one in said if one["segment"] == segments.NON_MATHS],
        "surrogate": replaced,
    }
    _count(session.session_id, chosen, counts)
    rows = {config: [{"session_id": session.session_id, "messages": of}] for config, of in chosen.items() if of}
    rows["token_classification"] = [
        {
            "session_id": session.session_id,
            **{key: one[key] for key in ("sequence_id", "role", "segment")},
            **words_of(one["content"], found),
        }
        for one, found in zip(said, spans, strict=True)
    ]
    return rows


def _message(message: Message, segment: str, spans: Sequence[Span]) -> dict[str, Any]:
    shown_spans = [{"start": one.start, "end": one.end, "label": one.label} for one in spans]
    ids = {"sequence_id": message.sequence_id, "role": message.role}
    return {**ids, "content": message.content, "segment": segment, "spans": shown_spans}


def _count(session_id: str, chosen: Mapping[str, Sequence[Mapping[str, Any]]], counts: _Counts) -> None:
    counts.synthetic += session_id.startswith(SYNTHETIC)
    counts.sessions[split_of(session_id)] += 1
    for config in ("full", segments.MATHS, segments.NON_MATHS):
        counts.messages[config] += len(chosen[config])
        counts.holding[config] += sum(bool(one["spans"]) for one in chosen[config])
        counts.spans.setdefault(config, Counter()).update(
            span["label"] for one in chosen[config] for span in one["spans"]
        )


def _facts(recipe: VariantsRecipe, folder: Path, name: str, counts: _Counts) -> dict[str, Any]:
    """What the card says."""
    place = {key: getattr(recipe, f"dataset_{key}") for key in ("config", "split", "revision")}
    configs = {
        config: {
            **cards.parquet_facts(folder, [f"data/{config}/{split}.parquet" for split in SPLITS]),
            "splits": {split: cards.parquet_facts(folder, [f"data/{config}/{split}.parquet"]) for split in SPLITS},
            "features": features(config)._to_yaml_list(),
        }
        for config in CONFIGS
    }
    limits = vocabulary()["thresholds"]
    return {
        "source": cards.source_facts({"dataset_name": recipe.dataset_name, **place}),
        "digest": name,
        "default": "full",
        "languages": [],
        "rows": configs["full"]["rows"],
        "sessions": {split: counts.sessions[split] for split in SPLITS},
        "synthetic": counts.synthetic,
        "messages": dict(counts.messages),
        "holding": dict(counts.holding),
        "spans": {
            label: {config: found[label] for config, found in counts.spans.items()}
            for label in LABELS
            if counts.spans["full"][label]
        },
        "configs": configs,
        "tamis": {
            "digest": name,
            "source": shown(recipe.dataset_name) if is_local(recipe.dataset_name) else recipe.dataset_name,
            "encoder": _PACKAGED if recipe.encoder == segments.PACKAGED_ENCODER else shown(recipe.encoder),
            "density": float(limits["density"]),
            "similarity": float(limits["similarity"]),
        },
    }


def _refuse_benchmark(card: str | None, human: Mapping[str, Any]) -> None:
    for task in human.get("benchmark", {}).get("tasks", []):
        if task["config"] not in CONFIGS or task["split"] not in SPLITS:
            raise UsageError(
                f"{card}: benchmark: no config {task['config']!r} with a split {task['split']!r}; there are "
                f"{', '.join(CONFIGS)}, each with {', '.join(SPLITS)}"
            )


def _replaced(message: Message, spans: Sequence[Span], texts: Sequence[str]) -> tuple[Message, list[Span]]:
    """The message with surrogates, and where they stand."""
    content, offsets = applied(message.content, spans, texts)
    moved = [Span(start, end, span.label) for span, (_, _, start, end) in zip(spans, offsets, strict=True)]
    return Message(message.sequence_id, message.role, content), moved
