"""What a gradient ranking has to beat: words, length and chance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tamis.errors import missing_extra


def tfidf(pool: Sequence[str], target: Sequence[str]) -> np.ndarray:
    """The mean cosine of each pool text to the target texts in TF-IDF space, `[pool]` float64.

    Raises:
        UsageError: scikit-learn is not installed.
        ValueError: There is no target text, or no text has a word in it.
    """
    try:
        from sklearn.feature_extraction.text import TfidfVectorizer
    except ImportError as error:
        raise missing_extra("demo", error) from error
    if not target:
        raise ValueError("there is no target text")
    vectors = TfidfVectorizer(sublinear_tf=True).fit_transform([*pool, *target])
    centre = np.asarray(vectors[len(pool) :].mean(axis=0)).ravel()
    return np.asarray(vectors[: len(pool)] @ centre).ravel()


def length(pool: Sequence[str]) -> np.ndarray:
    """The number of characters of each text, `[pool]` float64."""
    return np.array([len(text) for text in pool], dtype=np.float64)


def random(rows: int, seed: int = 0) -> np.ndarray:
    """Uniform random scores, `[rows]` float64."""
    return np.random.default_rng(seed).random(rows)
