"""One study of the ranking: rows, splits and similarities to the figures of every method."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import ranking_data
import ranking_measures as measures

CHOOSE, CONFIRM = (0, 1, 2), (3, 4)
FURTHER = tuple(range(5, 25))  # the same rows divided again: how much hangs on the division
PARTS = {"choose": CHOOSE, "confirm": CONFIRM, "five": CHOOSE + CONFIRM, "further": FURTHER}
AGGREGATES = ("mean", "max", "topk")


class Method(NamedTuple):
    """One way to score: which similarity (over how many blocks), how it is aggregated, and whether contrasted."""

    similarity: str
    blocks: int | None
    aggregate: str
    contrast: bool

    def __str__(self) -> str:
        how = self.aggregate + (", contrast" if self.contrast else "")
        parts = (self.similarity, how, f"K = {self.blocks}" if self.blocks else "")
        return ", ".join(part for part in parts if part)


DEFAULT = Method("cosine", 4, "mean", False)


class Study:
    """The rows, the splits, and every two rows' similarity of each kind."""

    def __init__(
        self, records: list[dict[str, Any]], similarities: dict[tuple[str, int | None], np.ndarray]
    ) -> None:
        self.records, self.similarities = records, similarities
        self.splits = [measures.split(records, seed) for seed in (*CHOOSE, *CONFIRM, *FURTHER)]
        self.groups = np.array([r["group"] for r in records])
        kinds = np.array([r["source"] for r in records])
        self.neutral = np.flatnonzero(np.isin(kinds, ("refusal", "gsm8k", "dolly")))
        self.lists = {
            name: measures.pairs_of(records, np.flatnonzero(kinds == f"list-{name}").tolist())
            for name in ranking_data.LISTS
        }
        flat = {
            "answer length": np.array([len(r["completion"]) for r in records], float),
            "random": np.random.default_rng(0).random(len(records)),
        }
        self.fixed = {Method(name, None, "", False): values for name, values in flat.items()}

    def scores(self, method: Method, split: int) -> np.ndarray:
        """Every row's score by the targets of a split."""
        if method in self.fixed:
            return self.fixed[method]
        similarity, one = self.similarities[method.similarity, method.blocks], self.splits[split]
        values = measures.aggregate(similarity, one.targets, method.aggregate)
        if method.contrast:
            values = values - measures.aggregate(similarity, one.contrast, method.aggregate)
        return values

    def methods(self, *names: str) -> list[Method]:
        """Every method on these similarities."""
        keys = [key for key in self.similarities if key[0] in names]
        return [Method(*key, how, c) for key in keys for how in AGGREGATES for c in (False, True)]

    def wins(self, method: Method, splits: tuple[int, ...]) -> np.ndarray:
        """The length-matched pairs of these splits that the method orders rightly."""
        return np.concatenate([measures.pair_wins(self.scores(method, s), self.splits[s].pairs) for s in splits])

    def best(self, *names: str) -> Method:
        """The method with the highest AUROC within length-matched pairs of the three splits that choose."""
        return max(
            self.methods(*names), key=lambda m: (self.wins(m, CHOOSE).mean(), -(m.blocks or 0), m == DEFAULT)
        )

    def measured(self, method: Method, splits: tuple[int, ...]) -> dict[str, Any]:
        """All figures of a method, the mean over splits (pairs and lists: over all their pairs)."""
        found: dict[str, Any] = {}
        for call, names in (
            (self._all, ("all_auroc", "all_auprc", "all_precision", "all_base")),
            (self._same, ("same_auroc", "same_auprc", "same_base")),
        ):
            found |= zip(names, np.mean([call(method, s) for s in splits], axis=0), strict=True)
        found["pairs_auroc"] = self.wins(method, splits).mean()
        for name, pairs in self.lists.items():
            wins = [measures.pair_wins(self.scores(method, s), pairs) for s in splits]
            found[f"list_{name}_auroc"] = np.mean(wins)
        return {name: round(float(value), 3) for name, value in found.items()}

    def intervals(self, method: Method) -> dict[str, list[float]]:
        """Value, low and high on the splits that confirm."""
        splits = [self.splits[s] for s in CONFIRM]
        scores = [self.scores(method, s) for s in CONFIRM]
        everything = [np.r_[one.harmless, self.neutral] for one in splits]
        weights, _ = measures.pair_weights([one.pairs for one in splits])
        return {
            "all_auroc": measures.row_interval(scores, splits, everything, None),
            "all_precision": measures.precision_interval(scores, splits, everything),
            "same_auroc": measures.row_interval(scores, splits, [one.harmless for one in splits], self.groups),
            "pairs_auroc": measures.pair_interval(self.wins(method, CONFIRM), weights),
        } | {
            f"list_{name}_auroc": measures.pair_interval(
                np.mean([measures.pair_wins(s, pairs) for s in scores], axis=0), measures.pair_weights([pairs])[0]
            )
            for name, pairs in self.lists.items()
        }

    def sizes(self) -> dict[str, Any]:
        """How many rows and pairs the splits hold, and how many groups of pairs a bootstrap draws from."""
        return {
            "splits": [
                {field: len(getattr(one, field)) for field in one._fields}
                for one in self.splits[: len(CHOOSE + CONFIRM)]
            ],
            "list_pairs": {name: len(pairs) for name, pairs in self.lists.items()},
            "clusters": {
                name: measures.pair_weights([self.splits[s].pairs for s in splits], draws=1)[1]
                for name, splits in PARTS.items()
            },
        }

    def differences(self, chosen: Method, others: list[Method]) -> dict[str, dict[str, list[float]]]:
        """AUROC within pairs of the chosen method minus each other's, with intervals over the same pairs."""
        found: dict[str, dict[str, list[float]]] = {}
        for name, splits in PARTS.items():
            weights, _ = measures.pair_weights([self.splits[s].pairs for s in splits])
            wins = self.wins(chosen, splits)
            found[name] = {str(m): measures.pair_interval(wins - self.wins(m, splits), weights) for m in others}
        return found

    def factors(self, *names: str) -> dict[str, dict[str, list[list[float]]]]:
        """Each setting's AUROC within pairs, the mean over all others: `[parts][without contrast, with it]`."""
        values = {m: [self.wins(m, part).mean() for part in PARTS.values()] for m in self.methods(*names)}
        found: dict[str, dict[str, list[list[float]]]] = {}
        for field in ("similarity", "blocks", "aggregate"):
            for level in sorted({getattr(m, field) for m in values}):
                mine = {m: value for m, value in values.items() if getattr(m, field) == level}
                means = [
                    np.mean([v for m, v in mine.items() if m.contrast is with_it], axis=0)
                    for with_it in (False, True)
                ]
                found.setdefault(field, {})[str(level)] = np.transpose(means).round(3).tolist()
        return found

    def _all(self, method: Method, split: int) -> tuple[float, float, float, float]:
        return measures.against_all(self.scores(method, split), self.splits[split], self.neutral)

    def _same(self, method: Method, split: int) -> tuple[float, float, float]:
        return measures.against_same(self.scores(method, split), self.splits[split], self.groups)
