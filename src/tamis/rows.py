"""Rows of a data set to conversations: which form they have, who they are, and why a row cannot be used."""

from __future__ import annotations

import csv
import glob
import hashlib
import json
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tamis.chat import Message, RowError
from tamis.errors import UsageError, missing_extra
from tamis.row_ids import renamed

if TYPE_CHECKING:
    from datasets import Dataset

_FILE_FORMATS = {".jsonl": "json", ".json": "json", ".csv": "csv", ".parquet": "parquet"}
_TURNS = ("messages", "conversations", "conversation")
_ROLES = {role: role for role in ("system", "developer", "user", "assistant", "tool", "function")}
_ROLES |= {"human": "user", "gpt": "assistant", "observation": "tool", "function_response": "tool"}
_PAIRS = (("prompt", "completion"), ("prompt", "response"), ("question", "answer"))
UNDERSTOOD = (
    "messages (role/content), conversations (from/value), prompt + completion (or response), "
    "instruction [+ input or context] + output (or response), question + answer"
)


@dataclass(frozen=True)
class Row:
    """One conversation.

    Attributes:
        row_id: The `id` (or `row_id`) column as text, or else the row's position; `#2`, `#3` mark repeated ids.
        index: The row's position in the source.
        source: The `source` column, or the data set's own name.
        language: The `language` (or `lang`) column; None where it has to be detected.
        record: The columns that hold the conversation.
    """

    row_id: str
    index: int
    source: str
    language: str | None
    record: Mapping[str, Any]


@dataclass(frozen=True)
class Rows:
    """A data set whose rows are conversations.

    Attributes:
        dataset: The data set itself, with every column it came with.
        name: What it was loaded from.
        form: The form that was found, for example `prompt + completion`.
        columns: The columns of that form.
    """

    dataset: Dataset
    name: str
    form: str
    columns: tuple[str, ...]

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.dataset)

    @property
    def row_ids(self) -> list[str]:
        """Every row's id, each exactly once."""
        return [self._renamed.get(index, name) for index, name in enumerate(self._given_ids())]

    @cached_property
    def _renamed(self) -> dict[int, str]:
        return renamed(self._given_ids) if self._id_column else {}

    @cached_property
    def _id_column(self) -> str | None:
        return next((name for name in ("id", "row_id") if name in self.dataset.column_names), None)

    def _given_ids(self) -> Iterator[str]:
        if self._id_column is None:
            yield from map(str, range(len(self)))
            return
        batches = self.dataset.select_columns([self._id_column]).iter(1000)
        values = chain.from_iterable(batch[self._id_column] for batch in batches)
        yield from (_given_id(value, index) for index, value in enumerate(values))

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 of all ids and conversations in order: equal wherever the rows lie, in every format."""
        return self.prefix_fingerprints([len(self)])[0]

    def prefix_fingerprints(self, ends: Iterable[int]) -> list[str]:
        """The fingerprints that the first rows alone would have, for each of the ascending numbers of them."""
        total, found, rows = hashlib.sha256(), [], self.rows()
        done = 0
        for end in ends:
            for row in islice(rows, end - done):
                source = row.source if "source" in self.dataset.column_names else None
                content = _without_none([row.row_id, source, row.language, row.record])
                text = json.dumps(content, ensure_ascii=False, default=str, sort_keys=True)
                total.update(text.encode(errors="surrogatepass") + b"\n")
            done = end
            found.append(total.hexdigest())
        return found

    def rows(self, start: int = 0, stop: int | None = None) -> Iterator[Row]:
        """The rows from `start` up to `stop`."""
        names = self.dataset.column_names
        language = next((name for name in ("language", "lang") if name in names), None)
        source = "source" if "source" in names else None
        wanted = [*self.columns, *(name for name in (language, source, self._id_column) if name)]
        end = len(self) if stop is None else min(stop, len(self))
        part = self.dataset.select_columns(wanted).select(range(start, end) or ())
        path = Path(self.name).absolute()
        own_name = path.stem if path.suffix in _FILE_FORMATS else path.name
        try:
            for index, record in enumerate(part, start):
                given = record[self._id_column] if self._id_column else None
                yield Row(
                    row_id=self._renamed.get(index) or _given_id(given, index),
                    index=index,
                    source=str(record[source]) if source and record[source] not in (None, "") else own_name,
                    language=str(record[language]) if language and record[language] else None,
                    record={name: record[name] for name in self.columns},
                )
        except UnicodeDecodeError as error:  # text is decoded when a row is read, not when the file is
            raise UsageError(f"{self.name}: cannot be read: {error}") from error


def _given_id(value: Any, index: int) -> str:
    return str(index) if value in (None, "") else str(value)


def read_rows(
    name: str,
    *,
    config: str | None = None,
    split: str = "train",
    revision: str | None = None,
    max_samples: int | None = None,
) -> Rows:
    """The rows of a file, a folder or a data set on the Hub, with the form that their columns have.

    Raises:
        UsageError: There is no such file, data set, config or split; it cannot be read; it has no rows; or its
            columns have no form that is understood (the message names those seen and those understood).
    """
    dataset = _load(name, config, split, revision)
    if max_samples is not None:
        dataset = dataset.select(range(min(max_samples, len(dataset))))
    if len(dataset) == 0:
        raise UsageError(f"{name}: there are no rows in it")
    form, columns = _recognise(name, dataset.column_names)
    return Rows(dataset, name, form, columns)


def conversation(record: Mapping[str, Any]) -> list[Message]:
    """The messages of a record, whatever form it has.

    Raises:
        RowError: A message is missing, empty, of the wrong type or of an unknown role; the message says which.
    """
    columns = list(record)
    if columns[0] in _TURNS:
        turns = record[columns[0]]
        if not isinstance(turns, list) or not turns:
            raise RowError(f"{columns[0]} is empty" if not turns else f"{columns[0]} is not a list")
        return _checked(turns)
    prompt, answer = record[columns[0]], record[columns[-1]]
    if isinstance(prompt, list) and isinstance(answer, list):
        return _checked([*prompt, *answer])
    if len(columns) == 3:
        extra = record[columns[1]]
        if isinstance(extra, str) and extra.strip() and isinstance(prompt, str):
            prompt = f"{prompt}\n\n{extra}"
        elif extra is not None and not isinstance(extra, str):
            raise RowError(f"{columns[1]} is not text")
    return _checked([{"role": "user", "content": prompt}, {"role": "assistant", "content": answer}])


def detect_language(messages: Sequence[Message]) -> str:
    """The ISO 639-1 code of the conversation's language, by `py3langid`, from its first 2,000 characters."""
    try:
        import py3langid
    except ImportError as error:
        raise missing_extra("attribution", error) from error
    spoken = [message["content"] or "" for message in messages if message["role"] in ("user", "assistant")]
    return str(py3langid.classify(" ".join(spoken)[:2000])[0])


def _load(name: str, config: str | None, split: str, revision: str | None) -> Dataset:
    try:
        import datasets
    except ImportError as error:
        raise missing_extra("attribution", error) from error
    datasets.disable_progress_bars()
    path, folder = Path(name), False
    try:
        folder = path.is_dir()
        saved = any((path / state).is_file() for state in ("state.json", "dataset_dict.json"))
        if config is not None and (saved or path.is_file()):
            raise UsageError(f"{name}: there is no config {config!r} in it")
        if path.is_file():
            return _load_file(path, split)
        if saved:
            return _of_split(datasets.load_from_disk(name), name, split)
        is_path = path.suffix in _FILE_FORMATS or name.startswith((".", "/", "~")) or name.count("/") > 1
        if is_path and not folder:
            raise UsageError(f"{name}: there is no such file or folder")
        if folder:
            return datasets.load_dataset(str(path.absolute()), config, split=split, cache_dir=_cache_of(path))
        return datasets.load_dataset(name, config, split=split, revision=revision)
    except UsageError:
        raise
    except Exception as error:  # a loader may raise anything; the last cause is the one that says what is wrong
        cause: BaseException = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        reason = f"cannot be read: {' '.join(str(cause).split()) or type(cause).__name__}"
        if "corresponds to no data" in reason or "BatchSize must be greater than 0" in reason:
            reason = "there are no rows in it"
        elif folder and not any(child.suffix in (*_FILE_FORMATS, ".arrow") for child in path.rglob("*")):
            reason = f"there is no {', '.join(_FILE_FORMATS)} file in it"
        raise UsageError(f"{name}: {reason}") from error


def _cache_of(folder: Path) -> str:
    """A cache for a folder as it is now: `datasets` shares one between folders of one name and card."""
    import datasets

    files = [path for path in sorted(folder.absolute().rglob("*")) if path.is_file()]
    state = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in files]
    key = hashlib.sha256(json.dumps(state).encode()).hexdigest()[:16]
    return str(Path(datasets.config.HF_DATASETS_CACHE) / "tamis" / key)


def _of_split(saved: Any, name: str, split: str) -> Dataset:
    splits = saved if isinstance(saved, dict) else {"train": saved, str(saved.split or "train"): saved}
    if split not in splits:
        raise UsageError(f"{name}: there is no split {split!r} in it, but {', '.join(splits)}")
    return splits[split].with_format(None)  # rows as plain Python, whatever format was saved with them


def _load_file(path: Path, split: str) -> Dataset:
    import datasets

    if path.suffix not in _FILE_FORMATS:
        raise UsageError(f"{path}: not a {', '.join(_FILE_FORMATS)} file")
    if path.stat().st_size == 0:
        raise UsageError(f"{path}: the file is empty")
    kind = _FILE_FORMATS[path.suffix]
    options: dict[str, Any] = {"data_files": glob.escape(str(path)), "split": split}
    if kind == "csv":
        # A cell of a CSV file has no type: an answer of "5" or "NA" is text.
        with path.open(encoding="utf-8-sig", newline="") as file:
            header = next(filter(None, csv.reader(file)), [])
        text = datasets.Value("string")
        features = datasets.Features({column or f"Unnamed: {i}": text for i, column in enumerate(header)})
        with warnings.catch_warnings():  # where a row has more cells than there are columns
            warnings.filterwarnings("error", message="Length of header or names")
            return datasets.load_dataset(kind, features=features, na_filter=False, index_col=False, **options)
    try:
        return datasets.load_dataset(kind, **options)
    except datasets.exceptions.DatasetGenerationError:
        # The columns are those of the first 10 MB: where later rows have others, the file is read in one piece.
        if kind != "json" or path.stat().st_size <= 10 << 20:
            raise
        return datasets.load_dataset(kind, chunksize=path.stat().st_size, **options)


def _recognise(name: str, seen: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    for turns in _TURNS:
        if turns in seen:
            return turns, (turns,)
    for prompt, answer in _PAIRS:
        if prompt in seen and answer in seen:
            return f"{prompt} + {answer}", (prompt, answer)
    answer_column = next((column for column in ("output", "response") if column in seen), None)
    if "instruction" in seen and answer_column:
        extra = tuple(column for column in ("input", "context") if column in seen)[:1]
        columns = ("instruction", *extra, answer_column)
        return " + ".join(columns), columns
    raise UsageError(f"{name}: no conversation in the columns {', '.join(seen)}; understood: {UNDERSTOOD}")


def _checked(turns: Sequence[Any]) -> list[Message]:
    messages = []
    for i, turn in enumerate(turns, 1):
        if not isinstance(turn, Mapping):
            raise RowError(f"message {i} is not a message but {type(turn).__name__}")
        given = turn.get("role") if turn.get("role") is not None else turn.get("from")
        role = _ROLES.get(given) if isinstance(given, str) else None
        if role is None:
            raise RowError(f"message {i} has the unknown role {given!r}")
        content = _text(turn.get("content") if turn.get("content") is not None else turn.get("value"))
        calls = role == "assistant" and bool(turn.get("tool_calls"))
        if content is not None and not isinstance(content, str):
            raise RowError(f"message {i} ({role}) has content of type {type(content).__name__}, not text")
        if content is None and not calls:
            raise RowError(f"message {i} ({role}) has no content")
        if role in ("user", "assistant") and not (content or "").strip() and not calls:
            raise RowError(f"message {i} ({role}) is empty")
        rest = {k: v for k, v in turn.items() if k not in ("role", "from", "content", "value")}
        messages.append({"role": role, "content": content, **_without_none(rest)})
    return messages


def _text(content: Any) -> Any:
    """The text of a list of text parts; anything else as it is."""
    if not isinstance(content, list) or not content:
        return content
    parts = [part for part in content if isinstance(part, Mapping) and part.get("type") in (None, "text")]
    texts = [part["text"] for part in parts if isinstance(part.get("text"), str)]
    return "".join(texts) if len(texts) == len(content) else content


def _without_none(value: Any) -> Any:
    """A value without the keys that are None: Arrow gives every message the keys of all."""
    if isinstance(value, Mapping):
        return {key: _without_none(inner) for key, inner in value.items() if inner is not None}
    return [_without_none(inner) for inner in value] if isinstance(value, list) else value
