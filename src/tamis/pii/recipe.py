"""What a run on personal data was asked to do: one dataclass a verb."""

from __future__ import annotations

from dataclasses import dataclass, field

from tamis.errors import UsageError
from tamis.recipe import at_least, one_of

DETECTORS = ("rules", "presidio", "model", "cascade", "llm")
REMEDY = "name each in --scan_columns, --drop_columns or --keep_columns"
"""What makes text columns that nobody looked at fit to be published."""
OPERATORS = ("tag", "mask", "hash", "encrypt", "surrogate", "keep")


@dataclass(frozen=True)
class RedactRecipe:
    """Takes personal data out of sessions or text, and leaves the maths.

    Args:
        dataset_name: The rows: a file (jsonl, json, csv, tsv, parquet, txt), a folder, or a data set on the Hub.
        output_dir: Where `redacted` with the suffix of the rows, `spans.jsonl`, `offsets.jsonl` and `run.yaml` go.
        detector: What finds it: `cascade` (rules and a token model propose, a small reviewer decides), `rules`
            (ten times as fast; misses more), `presidio`, `model` or `llm`.
        operator: What stands in its place: `tag`, `mask`, `hash`, `encrypt` (undone with the key), `surrogate`
            (undone with the map), or `keep` (nothing is changed, and the spans say what would be).
        spans_output: The file of the spans, in place of `spans.jsonl` in the folder.
        roster: A file of names, one a line, that are personal wherever they stand; for `rules` and `cascade`.
        threshold: The least score of a span: `0.6`, or of one label, `PERSON=0.6`. May be repeated.
        key_file: The file that holds the secret key, for `hash`, `encrypt` and repeatable surrogates.
        surrogate_map: Where the originals of surrogates go, for `tamis restore`; readable by its owner only.
            With it, a value has the same surrogate in all sessions.
        text_column: The column, or the messages' key, that holds the text, where it has an unusual name.
        scan_columns: Another text column that is scanned too. May be repeated, as the next two.
        drop_columns: A column that is left out.
        keep_columns: A text column that holds nothing personal, and stays as it is.
        maths_guard: Keeps what looks like maths, unless more speaks for a person than its look.
        num_proc: Processes that share the sessions.
        explain: Prints each span with its reason.
        model_name_or_path: The model of `model`, or Presidio's spaCy model; each has its own.
        llm: The chat model of `llm`, or the one that reviews for `cascade`: `packaged`, a folder or a model on the
            Hub, `http://host:port/v1#model`, or `provider:model`.
        llm_prompt: `basic`, `maths-aware` or `segment-aware`.
        llm_window: Characters of text in one prompt.
        llm_budget: The most that is asked: `200 requests` or `50000 tokens`; of each process.
        llm_cache: A file that keeps the answers, which hold personal data; readable by its owner only.
        allow_remote: A host that the chat model's text may be sent to. May be repeated.
        dataset_config: The data set's config, where it has several.
        dataset_split: The split to read.
        dataset_revision: The data set's revision on the Hub.
    """

    dataset_name: str
    output_dir: str
    detector: str = "cascade"
    operator: str = "tag"
    spans_output: str | None = None
    roster: str | None = None
    threshold: list[str] = field(default_factory=list)
    key_file: str | None = None
    surrogate_map: str | None = None
    text_column: str | None = None
    scan_columns: list[str] = field(default_factory=list)
    drop_columns: list[str] = field(default_factory=list)
    keep_columns: list[str] = field(default_factory=list)
    maths_guard: bool = True
    num_proc: int = 1
    explain: bool = False
    model_name_or_path: str | None = None
    llm: str | None = None
    llm_prompt: str = "segment-aware"
    llm_window: int = 3000
    llm_budget: str | None = None
    llm_cache: str | None = None
    allow_remote: list[str] = field(default_factory=list)
    dataset_config: str | None = None
    dataset_split: str = "train"
    dataset_revision: str | None = None

    def __post_init__(self) -> None:
        one_of("detector", self.detector, DETECTORS)
        one_of("operator", self.operator, OPERATORS)
        at_least(self, 1, "num_proc")
        thresholds(self)
        if self.surrogate_map is not None and self.operator != "surrogate":
            raise UsageError(f"--surrogate_map: --operator {self.operator} makes no surrogates")
        if self.roster is not None and self.detector not in ("rules", "cascade"):
            raise UsageError(f"--roster: is for rules and cascade, not for {self.detector}")
        if self.detector == "llm" and self.llm is None:
            raise UsageError("--detector llm: needs --llm, the chat model")
        if self.llm is not None and self.detector not in ("llm", "cascade"):
            raise UsageError(f"--llm: is for llm and cascade, not for {self.detector}")
        if self.model_name_or_path is not None and self.detector not in ("model", "presidio"):
            raise UsageError(f"--model_name_or_path: is for model and presidio, not for {self.detector}")
        if self.allow_remote and self.llm is None:
            raise UsageError(f"--allow_remote: {self.detector} sends nothing anywhere")


def thresholds(recipe: RedactRecipe) -> tuple[float | None, dict[str, float]]:
    """The least score of all spans, None where the detector's own counts, and those of single labels."""
    least: float | None = None
    labels: dict[str, float] = {}
    for text in recipe.threshold:
        label, equals, number = text.rpartition("=")
        try:
            value = float(number)
        except ValueError as error:
            raise UsageError(f"--threshold {text}: not a number, or LABEL=NUMBER") from error
        if not 0 <= value <= 1 or (equals and not label):
            raise UsageError(f"--threshold {text}: not a score from 0 to 1, or LABEL=SCORE")
        if equals:
            labels[label] = value
        else:
            least = value
    return least, labels


@dataclass(frozen=True)
class RestoreRecipe:
    """Puts back what `tamis redact` encrypted or gave surrogates.

    Args:
        dataset_name: The redacted file, or its folder.
        output_dir: Where `restored` with the suffix of the rows goes.
        key_file: The key that encrypted it.
        surrogate_map: The map of its surrogates.
        text_column: The column, or the messages' key, that holds the text, where it has an unusual name.
    """

    dataset_name: str
    output_dir: str
    key_file: str | None = None
    surrogate_map: str | None = None
    text_column: str | None = None

    def __post_init__(self) -> None:
        if (self.key_file is None) == (self.surrogate_map is None):
            raise UsageError("restore needs --key_file for what was encrypted, or --surrogate_map for surrogates")


@dataclass(frozen=True)
class SegmentRecipe:
    """Says of every message whether it is maths, and shows a session with its densities.

    Args:
        dataset_name: The sessions: a file (jsonl, json, csv, parquet, txt), a folder, or a data set on the Hub.
        output_dir: Where `segments.jsonl` goes: ids, labels and densities, and no text.
        dataset_config: The data set's config, where it has several.
        dataset_split: The split to read.
        dataset_revision: The data set's revision on the Hub.
        text_column: The column that holds the text, where it has an unusual name.
        session_id: The session that is shown; the first, if left out.
        encoder: The sentence-transformers model whose embeddings let neighbours join: a folder, a model on the
            Hub, or `packaged`; `none` calls only what is dense by itself maths.
        density: The density from which on a message is maths by itself; by default as vocabulary.yaml says.
        similarity: The least cosine of a neighbour to its segment; by default as vocabulary.yaml says.
        device: Where the encoder runs.
    """

    dataset_name: str
    output_dir: str
    dataset_config: str | None = None
    dataset_split: str = "train"
    dataset_revision: str | None = None
    text_column: str | None = None
    session_id: str | None = None
    encoder: str = "packaged"
    density: float | None = None
    similarity: float | None = None
    device: str = "cpu"

    def __post_init__(self) -> None:
        if self.density is not None and not 0 < self.density <= 1:
            raise UsageError(f"--density {self.density}: has to be over 0, and 1 at most")
        if self.similarity is not None and not -1 <= self.similarity <= 1:
            raise UsageError(f"--similarity {self.similarity}: a cosine is from -1 to 1")


@dataclass(frozen=True)
class DeidAuditRecipe:
    """Audits a corpus that somebody redacted, or says with `--certify` how much a sample may have missed.

    Args:
        dataset_name: The redacted corpus: a file (jsonl, json, csv, tsv, parquet, txt), a folder, or a data set on
            the Hub; the provider's tags in its text, its spans, or both.
        output_dir: Where `review.jsonl` and `statistics.json` go; with `--certify`, `sample.jsonl` and then
            `statement.html` and `statement.json`. The two .jsonl files hold text: never publish them.
        detector: What looks for missed identifiers: `rules`, `presidio`, `model`, `cascade` or `llm`.
        roster: A file of names, one a line, that are personal wherever they stand; for `rules` and `cascade`.
        threshold: The least score of what the detector finds: `0.6`, or of one label, `PERSON=0.6`. May be
            repeated.
        model_name_or_path: The model of `model` or `llm`.
        allow_remote: A host that text may be sent to, for `llm`. May be repeated.
        review: Another reviewer's filled copy of `review.jsonl`. May be repeated.
        surrogates: Writes the corpus with surrogates, once 95 % of the items are resolved.
        key_file: The file that holds the secret key under which surrogates are drawn; without it they are others
            in every run.
        certify: Draws a random sample for review by a person; once that is filled in, writes the statement.
        sample_size: How many messages are drawn; 300 where neither this nor `--bound` is given.
        bound: Draws as many as keep the upper bound at this many in 1,000 messages if nothing is found in them.
        reviewer: Who reviewed, as it is to stand in the statement. May be repeated.
        seed: Of the sample.
        encoder: What lets neighbours of maths join its segment, as of `tamis segment`; `none` for no encoder.
        text_column: The column, or the messages' key, that holds the text, where it has an unusual name.
        dataset_config: The data set's config, where it has several.
        dataset_split: The split to read.
        dataset_revision: The data set's revision on the Hub.
    """

    dataset_name: str
    output_dir: str
    detector: str = "rules"
    roster: str | None = None
    threshold: list[str] = field(default_factory=list)
    model_name_or_path: str | None = None
    allow_remote: list[str] = field(default_factory=list)
    review: list[str] = field(default_factory=list)
    surrogates: bool = False
    key_file: str | None = None
    certify: bool = False
    sample_size: int | None = None
    bound: float | None = None
    reviewer: list[str] = field(default_factory=list)
    seed: int = 0
    encoder: str = "packaged"
    text_column: str | None = None
    dataset_config: str | None = None
    dataset_split: str = "train"
    dataset_revision: str | None = None

    def __post_init__(self) -> None:
        self.looked_for()
        at_least(self, 1, "sample_size")
        if self.sample_size is not None and self.bound is not None:
            raise UsageError("--sample_size and --bound both say how many messages are drawn: give one of them")
        if self.bound is not None and not 0 < self.bound < 1000:
            raise UsageError(f"--bound {self.bound}: has to be between 0 and 1000, of 1,000 messages")
        for flag, is_for in (("surrogates", False), ("review", False), ("sample_size", True), ("bound", True)):
            if getattr(self, flag) and self.certify != is_for:
                raise UsageError(f"--{flag}: is {'for' if is_for else 'not for'} --certify")
        if self.key_file is not None and not self.surrogates:
            raise UsageError("--key_file: is for --surrogates")

    def looked_for(self) -> RedactRecipe:
        """How missed identifiers are found, as `tamis redact` would."""
        return RedactRecipe(
            self.dataset_name,
            self.output_dir,
            detector=self.detector,
            operator="keep",
            roster=self.roster,
            threshold=self.threshold,
            model_name_or_path=self.model_name_or_path,
            allow_remote=self.allow_remote,
            text_column=self.text_column,
        )
