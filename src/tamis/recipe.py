"""What a run was asked to do: a dataclass, the YAML that gives it back, and a short digest that names it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Protocol

from tamis.errors import UsageError

DEFAULT_MODEL = "Qwen/Qwen3-0.6B"
PACKAGED_MODEL = "packaged"
"""The name of the decoder that comes from the package index (SmolLM2-135M-Instruct, Apache-2.0)."""

STANDARD_RATIOS = tuple(f"{percent / 100:.2f}" for percent in range(5, 55, 5))
"""The ratios that every exported folder has a config for."""


@dataclass(frozen=True)
class EmbedRecipe:
    """Embeds rows as projected gradients: one pass, one gradient index.

    Args:
        dataset_name: The rows: a file (jsonl, json, csv, parquet), a folder, or a data set on the Hub.
        output_dir: The gradient index's folder.
        dataset_config: The data set's config, where it has several.
        dataset_split: The split to read.
        dataset_revision: The data set's revision on the Hub.
        model_name_or_path: The decoder: a folder, a model on the Hub, or `packaged`.
        model_revision: The model's revision on the Hub.
        last_k: How many of the last blocks' gradients are taken.
        proj_dim: Columns of each of the two random projections.
        max_length: The window in tokens.
        max_samples: Takes only the first rows.
        batch_tokens: The most tokens of one batch, padding included; the default is for a CPU. Where a GPU's
            memory does not hold a batch, it and all after it are halved.
        shard_rows: Source rows of one shard: what a killed run loses at most.
        dtype: Compute type: `auto` is float32 on a CPU and bfloat16 on a GPU.
        device: `auto`, `cpu`, `cuda`, ...
        seed: The projections' seed.
        trust_remote_code: Lets a model's repo run its own code.
        append: Goes on with an index of the same recipe whose rows are the first of those that there are now.
        dry_run: Writes nothing; embeds a few rows and estimates time and disk.
    """

    dataset_name: str
    output_dir: str
    dataset_config: str | None = None
    dataset_split: str = "train"
    dataset_revision: str | None = None
    model_name_or_path: str = DEFAULT_MODEL
    model_revision: str | None = None
    last_k: int = 4
    proj_dim: int = 32
    max_length: int = 2048
    max_samples: int | None = None
    batch_tokens: int = 1024
    shard_rows: int = 512
    dtype: str = "auto"
    device: str = "auto"
    seed: int = 0
    trust_remote_code: bool = False
    append: bool = False
    dry_run: bool = False

    def __post_init__(self) -> None:
        at_least(self, 1, "last_k", "proj_dim", "max_samples", "batch_tokens", "shard_rows")
        at_least(self, 2, "max_length")


@dataclass(frozen=True)
class ScoreRecipe:
    """Scores every row of a gradient index by its similarity to a target set.

    Args:
        index: The pool's gradient index: a folder, or a data set on the Hub.
        target: The target set: rows (embedded with the index's own recipe), or a gradient index. May be repeated:
            every set has a column of its own, and the score is their mean.
        output_dir: Where `scores.parquet` goes.
        similarity: `cosine` over all modules together, `dot` (keeps the norms), or `layer-cosine` (every module
            weighs the same).
        aggregate: The `mean` over the targets, the similarity to the nearest one (`max`), or the mean of the K
            nearest (`topk`). The mean costs seconds, the others a product with every target.
        topk: K, with `--aggregate topk`; 10 where it is left out.
        contrast: Safe rows or their index, like a target: what is similar to them has less of a score (the
            aggregate over the target minus that over these).
        split_targets: Makes a target set of each `source` among the target rows: of each category of harm, where
            that column holds them.
        weight: The weight of each target set in the score, repeated like `--target`; of split sets in the order of
            their names.
        target_config: The target data set's config, where it has several.
        target_split: The target data set's split.
        device: Where the target rows are embedded.
        index_revision: The index's revision, where it lies on the Hub.
        recipe: Scores as another selection did: its selection.yaml, its card (README.md, or the data set on the
            Hub; #NAME after it for a variant) or its link. Its fields need no flags, and what comes out must have
            its digest.
    """

    index: str
    target: list[str] | str
    output_dir: str
    similarity: str = "cosine"
    aggregate: str = "mean"
    topk: int | None = None
    contrast: str | None = None
    split_targets: bool = False
    weight: list[float] = field(default_factory=list)
    target_config: str | None = None
    target_split: str = "train"
    device: str = "auto"
    index_revision: str | None = None
    recipe: str | None = None

    def __post_init__(self) -> None:
        at_least(self, 1, "topk")
        object.__setattr__(self, "target", [self.target] if isinstance(self.target, str) else [*self.target])
        object.__setattr__(self, "weight", [float(weight) for weight in self.weight])

    @property
    def targets(self) -> list[str]:
        """The target sets, one or more."""
        return [*self.target]


@dataclass(frozen=True)
class SelectRecipe:
    """Cuts the highest-scored share of the rows, exactly.

    Args:
        scores: The folder (or file) of scores.
        output_dir: Where `kept.parquet`, `removed.parquet` and `selection.yaml` go.
        ratio: The share to remove, from 0 to 1; the number removed is floor(ratio x rows), in exact arithmetic.
        source: Sieves only the rows of this source, and keeps all others. May be repeated.
        language: Sieves only the rows of this language, and keeps all others. May be repeated.
        keep: A file of row ids, one a line, that are never removed.
        remove: A file of row ids, one a line, that are always removed.
        recipe: Selects as another selection did: its selection.yaml, its card (README.md, or the data set on the
            Hub; #NAME after it for a variant) or its link. Its fields need no flags, and what comes out must have
            its digest.
    """

    scores: str
    output_dir: str
    ratio: float = 0.2
    source: list[str] = field(default_factory=list)
    language: list[str] = field(default_factory=list)
    keep: str | None = None
    remove: str | None = None
    recipe: str | None = None


@dataclass(frozen=True)
class ExportRecipe:
    """Writes a data set folder that plain `load_dataset` reads at any standard ratio.

    Args:
        selection: The selection's folder.
        output_dir: The data set's folder.
        row_group_rows: Rows of one Parquet row group: small groups make `filters=` cheap and column projection
            dear.
        card: A `card.yaml` of what no file says, for the data set's card: name, licence, sources, citation, ...
        leave_out_removed: Writes no removed row: only configs at the selection's own ratio and above.
        variant: The variant's name, where several share a repository: before each config's name, and a folder of
            files.
    """

    selection: str
    output_dir: str
    row_group_rows: int = 1000
    card: str | None = None
    leave_out_removed: bool = False
    variant: str | None = None

    def __post_init__(self) -> None:
        at_least(self, 1, "row_group_rows")
        if self.variant is not None and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_]*", self.variant):
            raise UsageError(f"--variant {self.variant}: letters, digits and _ only")


@dataclass(frozen=True)
class DownloadRecipe:
    """Takes from a published data set what is left of it at any ratio, and reads little more than that.

    Args:
        repo_id: The data set, which `tamis export` made: its name on the Hub, or its folder. Its flag may be left
            out: `tamis download my-name/my-data`.
        output_dir: The data set's new folder.
        ratio: The share to leave out, from 0 to 1; exact, as `tamis select` cuts.
        source: Takes only the rows of this source, cut among themselves. May be repeated.
        language: Takes only the rows of this language, cut among themselves. May be repeated.
        revision: The branch, tag or commit on the Hub.
        variant: The variant's name, where several share the data set.
    """

    repo_id: str
    output_dir: str
    ratio: float = 0.2
    source: list[str] = field(default_factory=list)
    language: list[str] = field(default_factory=list)
    revision: str | None = None
    variant: str | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.ratio <= 1:
            raise UsageError(f"--ratio {self.ratio}: not from 0 to 1")
        object.__setattr__(self, "ratio", float(self.ratio))


@dataclass(frozen=True)
class ReportRecipe:
    """Writes one page about a selection, report.html, and its figures.

    Args:
        selection: The selection's folder.
        output_dir: Where `report.html` and its figures as PNG files go.
        index: The gradient index that was scored; adds norms, truncation and lengths.
    """

    selection: str
    output_dir: str
    index: str | None = None


@dataclass(frozen=True)
class VerifyRecipe:
    """Looks at every byte of a gradient index; writes nothing.

    Args:
        index: The gradient index; its flag may be left out: `tamis verify INDEX`.
    """

    index: str


@dataclass(frozen=True)
class PublishRecipe:
    """Publishes a folder as one release: checked here, sent as a pull request, read back, merged, tagged.

    Args:
        folder: The folder, with its card (README.md); its flag may be left out: `tamis publish FOLDER`.
        repo_id: The repository, namespace/name; made where it is not there.
        repo_type: `dataset`, `model` or `space`.
        revision: The branch; anything but main takes one commit, and is not merged.
        tag: The version's tag.
        private: Makes the repository private.
        gated: Lets people in on request only: `auto` or `manual`.
        card: Of a gradient index, the card.yaml of what people know; other folders have their card.
        public: Lets everybody read a gradient index, which can leak its pool; it is private otherwise.
        replace: Lets the release replace what tamis did not make.
        dry_run: Sends nothing; checks the folder, and shows the files and the card.
    """

    folder: str
    repo_id: str
    repo_type: str = "dataset"
    revision: str = "main"
    tag: str | None = None
    private: bool = False
    gated: str | None = None
    card: str | None = None
    public: bool = False
    replace: bool = False
    dry_run: bool = False

    def __post_init__(self) -> None:
        one_of("repo_type", self.repo_type, ("dataset", "model", "space"))
        if self.gated is not None:
            one_of("gated", self.gated, ("auto", "manual"))
        if not re.fullmatch(r"[\w.-]+/[\w.-]+", self.repo_id):
            raise UsageError(f"--repo_id {self.repo_id}: not a repository's name, such as my-name/my-data")


@dataclass(frozen=True)
class ReleaseRecipe:
    """Publishes all that a manifest lists, in its order; stops before the first that is not ready.

    Args:
        namespace: Whose the repositories are.
        manifest: The manifest.
        tag: The version's tag.
        dry_run: Sends nothing; says what each release would be.
    """

    namespace: str
    manifest: str = "release.yaml"
    tag: str | None = None
    dry_run: bool = False


@dataclass(frozen=True)
class HubRecipe:
    """Serves a small Hub on 127.0.0.1, to try publishing on: models, data sets, Spaces; no Xet. Ctrl-C stops it.

    Args:
        root: The folder that keeps its repositories and tokens.
        port: The port; 0 takes a free one.
    """

    root: str
    port: int = 8471

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise UsageError(f"--port {self.port}: has to be from 0 to 65535")


class Recipe(Protocol):
    """What a run that writes a folder was asked to do: any dataclass that names the folder."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def output_dir(self) -> str:
        """The folder."""
        ...


def one_of(name: str, value: str, known: tuple[str, ...]) -> None:
    """Refuses a value that is not one of those known."""
    if value not in known:
        raise UsageError(f"--{name} {value}: not one of {', '.join(known)}")


def at_least(recipe: object, least: int, *names: str) -> None:
    """Refuses fields that are there and less than the least."""
    for name in names:
        value = getattr(recipe, name)
        if value is not None and value < least:
            raise UsageError(f"--{name} {value}: has to be at least {least}")


def to_dict(recipe: Recipe) -> dict[str, Any]:
    """The recipe's fields that are not at their defaults of None or empty: what its YAML holds."""
    return {key: value for key, value in asdict(recipe).items() if value not in (None, [])}


def digest(fields: Mapping[str, Any]) -> str:
    """Twelve hexadecimal digits that name what the fields say, whatever their order."""
    text = json.dumps(fields, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]
