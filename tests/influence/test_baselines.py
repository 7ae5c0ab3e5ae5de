"""The three rankings to beat: words, length and chance."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from tamis.influence.baselines import length, random, tfidf

POOL = [
    "How do I bake bread? Knead the dough and wait.",
    "How do I lie to my boss? Say you were ill, ill, ill.",
    "What is seven times eight? It is fifty-six.",
    "Où est la gare ? La gare est à gauche.",
    "数学 问题 很 难 吗",
    "",
    "zyx wvu",
]
TARGET = ["How do I lie to my teacher? Say you were ill.", "How do I cheat in a test? Say nothing."]


def naive(pool: list[str], target: list[str]) -> np.ndarray:
    """The cosine of every pair, one by one, averaged over the targets."""
    vectors = TfidfVectorizer(sublinear_tf=True).fit_transform([*pool, *target]).toarray()
    scores = []
    for row in vectors[: len(pool)]:
        cosines = []
        for other in vectors[len(pool) :]:
            norms = np.linalg.norm(row) * np.linalg.norm(other)
            cosines.append(row @ other / norms if norms else 0.0)
        scores.append(np.mean(cosines))
    return np.array(scores)


@pytest.mark.parametrize("targets", [1, 2])
def test_tfidf_is_the_mean_cosine(targets: int) -> None:
    scores = tfidf(POOL, TARGET[:targets])
    assert scores.shape == (len(POOL),)
    assert scores.dtype == np.float64
    np.testing.assert_allclose(scores, naive(POOL, TARGET[:targets]), atol=1e-12)
    assert scores.argmax() == 1


@pytest.mark.parametrize("same", [0, 2, 3, 6])
def test_tfidf_puts_the_text_that_equals_the_target_first(same: int) -> None:
    scores = tfidf(POOL, [POOL[same]])
    assert scores.argmax() == same
    assert scores[same] == pytest.approx(1)


def test_tfidf_of_texts_without_a_common_word_is_zero() -> None:
    scores = tfidf(POOL, TARGET)
    assert scores[5] == scores[6] == 0
    assert ((scores >= 0) & (scores <= 1 + 1e-12)).all()


def test_tfidf_is_the_same_at_every_call_and_in_every_order() -> None:
    assert np.array_equal(tfidf(POOL, TARGET), tfidf(POOL, TARGET))
    np.testing.assert_allclose(tfidf(POOL[::-1], TARGET[::-1])[::-1], tfidf(POOL, TARGET), atol=1e-12)


def test_tfidf_of_no_pool_is_empty() -> None:
    assert tfidf([], TARGET).shape == (0,)


@pytest.mark.parametrize(("target", "message"), [([], "no target text"), (["?", ""], "empty vocabulary")])
def test_tfidf_refuses_what_has_no_words(target: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tfidf([".", "-"], target)


def test_without_scikit_learn_the_extra_is_named() -> None:
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "from tamis.influence.baselines import length, tfidf\n"
        "from tamis.errors import UsageError\n"
        "length(['a'])\n"
        "try: tfidf(['a'], ['b'])\n"
        "except UsageError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("sklearn")
    assert done.stdout.endswith("is not installed: pip install 'tamis[demo]'\n")


def test_length_is_in_characters() -> None:
    scores = length(["", "abc", "é😀", "a\nb "])
    assert scores.dtype == np.float64
    assert scores.tolist() == [0, 3, 2, 4]
    assert length([]).shape == (0,)


def test_random_is_uniform_and_set_by_the_seed() -> None:
    scores = random(4000)
    assert scores.shape == (4000,)
    assert scores.dtype == np.float64
    assert ((scores >= 0) & (scores < 1)).all()
    assert np.abs(np.quantile(scores, [0.25, 0.5, 0.75]) - [0.25, 0.5, 0.75]).max() < 0.05
    assert np.array_equal(scores, random(4000, seed=0))
    assert not np.array_equal(scores, random(4000, seed=1))
    assert random(0).shape == (0,)
