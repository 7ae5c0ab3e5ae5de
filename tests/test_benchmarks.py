"""The benchmarks run as shown, and the tables are what their results say."""

from __future__ import annotations

import importlib
import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoModelForCausalLM, Qwen3Config

import pools
import tiny
from tamis.chat import Example
from tamis.gradients.capture import GradientCapture
from tamis.gradients.factor import rank_one
from tamis.gradients.store import GradientIndex
from tamis.influence.scores import collapse, similarities

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
CATEGORIES = ("exploits", "info_integrity", "privacy")


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("ranking_study")


@pytest.fixture
def scaling(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("scaling")


def answers(seed: int = 0) -> list[dict[str, Any]]:
    """Made-up labelled answers, two to a request, with neutral rows and lists."""
    rng = np.random.default_rng(seed)
    kinds = [("safety", name) for name in CATEGORIES for _ in range(24)]
    kinds += [(kind, kind) for kind in ("dolly", "gsm8k", "refusal") for _ in range(5)]
    kinds += [(f"list-{name}", f"list-{name}") for name in ("dolly", "gsm8k", "alpaca") for _ in range(8)]
    return [
        {
            "source": source,
            "group": group,
            "label": source not in ("dolly", "gsm8k", "refusal") and bool(rng.random() < 0.5 or i % 8 == 0),
            "prompt": f"request {group} {i // 2}",
            "completion": "x" * int(rng.integers(50, 120)),
        }
        for i, (source, group) in enumerate(kinds)
    ]


def test_the_tables_are_fresh(study: ModuleType) -> None:
    text = (BENCHMARKS / "README.md").read_text()
    assert runpy.run_path(str(BENCHMARKS / "tables.py"))["rendered"](text) == text
    measured = json.loads((BENCHMARKS / "results" / "embed.json").read_text())
    assert f"| {measured['ratio_to_forward']} |" in text and f"| {measured['bytes_per_row']} |" in text
    measured = json.loads((BENCHMARKS / "results" / "score.json").read_text())
    assert measured["rows"] == 939343 and f"| {measured['cpu_seconds']} |" in text
    measured = json.loads((BENCHMARKS / "results" / "device.json").read_text())
    assert f"| {measured['rows_per_second']} |" in text and f"| {measured['profile']['head']:.1%} |" in text
    assert ("No GPU number has been measured yet" in text) == (measured["device"] == "CPU")


def test_the_text_about_the_ranking_has_no_figure_of_its_own() -> None:
    """Results stand in what `tables.py` writes; the rest may name settings, which the result file holds too."""
    section = (BENCHMARKS / "README.md").read_text().partition("## Ranking")[2].partition("\n## ")[0]
    text = re.sub("<!-- ranking -->.*<!-- end -->", "", section, flags=re.S).replace("95 %", "")
    settings = json.loads((BENCHMARKS / "results" / "ranking.json").read_text())["settings"]
    numbers = {float(number) for number in re.findall(r"(?<![\w.-])\d+(?:\.\d+)?(?![\w-])", text)}
    assert numbers and numbers <= {value for value in settings.values() if isinstance(value, int | float)}


def test_embed_prints_one_object_with_its_figures() -> None:
    """A fraction of the rows: the figures are there and possible; how fast it is belongs to `make bench`."""
    command = [sys.executable, BENCHMARKS / "embed.py", "--format", "json", "--repeats", "1", "--rows", "4"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    result = json.loads(done.stdout)
    assert result["bytes_per_row"] == 28 * 2 * 32 * 2
    assert 22e6 < result["parameters"] < 23e6
    assert result["ratio_to_forward"] > 0 and result["ratio_to_forward_all"] > 0
    assert result["rows_per_cpu_second"] > 0 and result["peak_rss_mb"] > 100


def test_device_prints_one_object_with_its_figures() -> None:
    """The shape of the whole model but for its depth, on few tokens."""
    size = {"device": "cpu", "layers": 5, "rows": 2, "tokens": 20, "batch_tokens": 20, "repeats": 1}
    flags = [part for name, value in size.items() for part in (f"--{name}", str(value))]
    command = [sys.executable, BENCHMARKS / "device.py", "--profile", "--format", "json", *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    result = json.loads(done.stdout)
    assert {name: result[name] for name in size if name != "device"} | {"device": "cpu"} == size
    assert (result["device"], result["dtype"], result["share_of_peak"]) == ("CPU", "float32", None)
    assert result["rows_per_second"] > 0 and result["ratio_to_forward"] > 1 and result["peak_memory_mb"] > 900
    assert sum(result["profile"].values()) == pytest.approx(1, abs=0.001)
    assert (
        min(result["profile"][part] for part in ("blocks below", "watched blocks", "head", "projections")) > 0.001
    )


@pytest.mark.parametrize("share", [0.6, 1.0])
def test_the_counted_operations_are_those_that_torch_counts(monkeypatch: pytest.MonkeyPatch, share: float) -> None:
    """On attention in plain products; torch knows no formula for the CPU's fused kernel."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    flops = importlib.import_module("flops")
    size = {"vocab_size": 300, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 6, "head_dim": 32}
    config = Qwen3Config(**size, num_attention_heads=4, num_key_value_heads=2)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
    rows, tokens = 3, 50
    with FlopCounterMode(display=False) as plain, torch.no_grad():
        model(torch.zeros(rows, tokens, dtype=torch.long), use_cache=False)
    assert plain.get_total_flops() == rows * flops.forward(config, tokens)
    labelled = min(round(share * tokens), tokens - 1)
    examples = [Example([3] * tokens, [i >= tokens - labelled for i in range(tokens)])] * rows
    with GradientCapture(model) as capture, FlopCounterMode(display=False) as ours:
        rank_one(capture(examples).matrices, torch.ones(len(capture.modules), 32))
    assert ours.get_total_flops() == rows * sum(flops.embedding(config, tokens, labelled).values())
    assert flops.ratio(config, tokens, share) == ours.get_total_flops() / plain.get_total_flops()


def test_score_prints_one_object_with_its_figures_and_leaves_nothing(tmp_path: Path) -> None:
    command = [sys.executable, BENCHMARKS / "score.py", "--format", "json", "--rows", "1203"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    result = json.loads(done.stdout)
    assert (result["rows"], result["removed"]) == (1203, 240)
    for name in ("seconds", "rank_seconds", "write_seconds", "select_ms", "peak_rss_mb"):
        assert result[name] >= 0, name
    assert result["peak_rss_all_mb"] >= result["peak_rss_mb"]
    assert not list(tmp_path.iterdir())


def test_the_nearest_targets_are_measured_in_the_same_way() -> None:
    command = [sys.executable, BENCHMARKS / "score.py", "--format", "json", "--rows", "600", "--highest"]
    result = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert (result["max"]["nearest"], result["topk"]["nearest"], result["targets"]) == (1, 10, 2000)
    for name in ("max", "topk"):
        assert result[name]["rows_per_cpu_second"] > 0 and result[name]["peak_rss_mb"] > 0


def test_a_row_more_costs_what_two_runs_differ_by(scaling: ModuleType) -> None:
    less = {
        "rows": 100,
        "cpu_seconds": 1.0,
        "peak_rss_mb": 300.0,
        "again_cpu_seconds": 0.5,
        "again_peak_rss_mb": 9,
    }
    most = {**less, "rows": 1124, "cpu_seconds": 2.024, "peak_rss_mb": 302.0, "again_cpu_seconds": 0.5}
    expected = {"cpu_ms": 1.0, "again_cpu_ms": 0.0, "memory_bytes": 2048.0, "again_memory_bytes": 0.0}
    assert scaling.one_row_more(less, most) == expected


@pytest.mark.parametrize("tokens", [16, 24, 64])
def test_scaling_embeds_rows_of_the_length_it_says(tmp_path: Path, scaling: ModuleType, tokens: int) -> None:
    scaling.save_model(tmp_path / "model", scaling.TINY)
    scaling.save_rows(tmp_path / "rows.jsonl", 3, tokens, scaling.TINY.vocab_size)
    figures = scaling.once(
        scaling.recipe(tmp_path / "model", tmp_path / "rows.jsonl", tmp_path / "index", last_k=1)
    )
    assert {*figures} == {"cpu_seconds", "wall_seconds", "peak_rss_mb"} and figures["peak_rss_mb"] > 100
    rows = GradientIndex(tmp_path / "index").rows
    assert rows["tokens"].to_pylist() == [tokens] * 3
    assert rows["response_tokens"].to_pylist() == [round(scaling.SHARE * tokens)] * 3


def test_a_peer_watches_the_layers_that_we_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    model = tiny.model("llama")
    with GradientCapture(model, last_k=3) as capture:
        ours = capture.modules
    model.config.num_hidden_layers += 1  # the last four blocks of one that has a block more
    assert [f"model.{name}" for name in importlib.import_module("peer_round").watched(model)] == list(ours)


def test_a_work_dir_keeps_the_index(tmp_path: Path) -> None:
    command = [sys.executable, BENCHMARKS / "score.py", "--rows", "600", "--work_dir", tmp_path]
    subprocess.run(command, capture_output=True, check=True)
    assert len(GradientIndex(tmp_path / "pool")) == 600


def test_pairs_hold_each_row_once_and_are_alike(study: ModuleType) -> None:
    for seed in range(20):
        rows = answers(seed)
        pairs = study.measures.pairs_of(rows, list(range(len(rows))))
        assert pairs and len({i for pair in pairs for i in pair}) == 2 * len(pairs)
        for i, j in pairs:
            lengths = [len(rows[k]["completion"]) for k in (i, j)]
            assert rows[i]["label"] and not rows[j]["label"] and rows[i]["group"] == rows[j]["group"]
            assert max(lengths) - min(lengths) <= 0.1 * max(lengths)


@pytest.mark.parametrize(
    ("lengths", "groups", "expected"),
    [
        ([100, 90], "aa", [(0, 1)]),
        ([100, 89], "aa", []),
        ([100, 100], "ab", []),
        ([0, 0], "aa", [(0, 1)]),
        ([100, 101, 100], "aaa", [(0, 2)]),
    ],
)
def test_pairs_by_hand(
    study: ModuleType, lengths: list[int], groups: str, expected: list[tuple[int, int]]
) -> None:
    positive = [True] + [False] * (len(lengths) - 1)
    assert study.ranking_data.matched_pairs(lengths, positive, groups) == expected


def test_the_auroc_of_pairs_counts_a_tie_as_half(study: ModuleType) -> None:
    scores = np.array([2.0, 1.0, 3.0, 3.0, 0.0, 1.0])
    assert study.measures.pair_wins(scores, [(0, 1), (2, 3), (4, 5)]).tolist() == [1, 0.5, 0]


def test_precision_in_the_top_tenth_and_its_interval(study: ModuleType) -> None:
    """Of 40 rows, 4 are the top tenth: three of 10 planted ones and another."""
    scores = np.r_[np.arange(100, 97, -1), np.arange(7), 99.5, np.zeros(29)]
    one = study.measures.Split(np.array([]), np.array([]), np.arange(10), np.arange(10, 20), [])
    assert study.measures.against_all(scores, one, np.arange(20, 40))[2:] == (0.75, 0.25)
    value, low, high = study.measures.precision_interval([scores, scores], [one, one], [np.arange(10, 40)] * 2)
    assert value == 0.75 and 0.2 < low < 0.6 and high == 1
    blind = study.measures.precision_interval([0 * scores], [one], [np.arange(10, 40)])
    assert blind[0] == 0.25 and blind[1] < 0.2 < 0.3 < blind[2]


def test_bm25_is_of_the_row_for_the_words_of_the_target(study: ModuleType) -> None:
    pytest.importorskip("bm25s", reason="a dependency of the study alone: `make ranking` installs it")
    texts = ["alpha beta beta", "alpha", "gamma delta epsilon", "beta zeta", ""]
    found = importlib.import_module("ranking_vectors").bm25_similarities(texts)
    words = [text.split() for text in texts]
    for i, j in np.ndindex(found.shape):
        length = 1.5 * (0.25 + 0.75 * len(words[i]) / np.mean([len(w) for w in words]))
        expected = 0.0
        for word in words[j]:
            df, tf = sum(word in w for w in words), words[i].count(word)
            expected += np.log(1 + (len(texts) - df + 0.5) / (df + 0.5)) * tf / (tf + length) / len(words[j])
        assert found[i, j] == pytest.approx(expected)


def test_whole_matrices_are_kept_and_compared_as_they_are(tmp_path: Path, study: ModuleType) -> None:
    whole = importlib.import_module("ranking_whole")
    matrices = torch.randn(5, 3, 4, 4, generator=torch.Generator().manual_seed(0))
    flat, norms = whole._keep_whole(matrices)
    np.savez(tmp_path / "whole.npz", flat=flat, norms=norms)
    (tmp_path / "whole_costs.json").write_text("{}")
    grams, _ = whole.whole_grams(tmp_path, [], 1, 1)
    assert grams == pytest.approx(torch.einsum("aijk,bijk->iab", matrices, matrices).numpy(), abs=0.02)


def test_pairs_that_share_a_row_are_drawn_together(study: ModuleType) -> None:
    weights, clusters = study.measures.pair_weights([[(0, 1), (2, 3)], [(0, 4), (5, 6)]], draws=50)
    assert clusters == 3 and weights.shape == (50, 4)
    assert (weights[:, 0] == weights[:, 2]).all() and (weights[:, 0] != weights[:, 1]).any()


def test_a_split_keeps_requests_apart_and_uses_every_labelled_row(study: ModuleType) -> None:
    rows = answers()
    for seed in range(5):
        one = study.measures.split(rows, seed)
        left, right = (
            {(rows[i]["group"], rows[i]["prompt"]) for part in side for i in part}
            for side in ((one.targets, one.contrast), (one.harmful, one.harmless))
        )
        assert not left & right
        every = sorted(int(i) for part in one[:4] for i in part)
        assert every == [i for i, row in enumerate(rows) if row["source"] == "safety"]
        assert {*np.ravel(one.pairs).tolist()} <= {*one.harmful.tolist(), *one.harmless.tolist()}


def test_a_perfect_similarity_is_found_and_a_blind_one_is_chance(study: ModuleType) -> None:
    rows = answers()
    kind = np.array([1.0 if row["label"] else -1.0 for row in rows])
    both = {("cosine", 4): np.outer(kind, kind), ("dot", 4): np.zeros((len(rows),) * 2)}
    one = study.Study(rows, both)
    best = one.best("cosine", "dot")
    assert best == study.DEFAULT and one.intervals(best)["same_auroc"] == [1, 1, 1]
    perfect, blind = (one.measured(best._replace(similarity=name), (0, 1)) for name in ("cosine", "dot"))
    assert {value for key, value in perfect.items() if not key.endswith("base")} == {1.0}
    assert {value for key, value in blind.items() if key.endswith("auroc")} == {0.5}
    assert blind["all_auprc"] == blind["all_precision"] == blind["all_base"]
    assert one.factors("cosine", "dot")["similarity"] == {"cosine": [[1, 1]] * 4, "dot": [[0.5, 0.5]] * 4}


def test_similarities_are_what_tamis_score_computes(tmp_path: Path, study: ModuleType) -> None:
    """Over the last K blocks, of an index of more blocks than that."""
    vectors = importlib.import_module("ranking_vectors")
    u, v = np.random.default_rng(0).standard_normal((2, 12, 6, 4))
    for arrays in (u, v):
        arrays /= np.linalg.norm(arrays, axis=-1, keepdims=True) * 6**0.25
    index = pools.index(tmp_path / "pool", u, v, norms=np.geomspace(0.1, 10, 12).tolist())
    found = vectors.gradient_similarities(vectors.rank_one_grams(index), index.modules, 6)
    for name, matrix in found.items():
        expected = similarities(index, collapse(index, name), name)
        assert study.measures.aggregate(matrix, np.arange(12), "mean") == pytest.approx(expected, rel=1e-5)
    part = vectors.gradient_similarities(vectors.rank_one_grams(index), index.modules, 2)
    last = pools.index(tmp_path / "last", u[:, 4:], v[:, 4:])
    for name in ("cosine", "layer-cosine"):
        expected = similarities(last, collapse(last, name), name)
        assert part[name].mean(1) == pytest.approx(expected, rel=1e-5)


def test_the_study_says_so_where_its_data_is_absent(tmp_path: Path) -> None:
    command = [
        sys.executable,
        BENCHMARKS / "ranking.py",
        "--data",
        tmp_path / "none",
        "--work_dir",
        tmp_path / "w",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.count("\n") == 1 and "is not there" in done.stdout and not (tmp_path / "w").exists()


def test_redact_compares_with_presidio_and_weighs_two_sizes(tmp_path: Path) -> None:
    lines = [{"sequence_id": i, "role": "student", "content": f"hi Ana, x = {i}"} for i in range(3)]
    rows = tmp_path / "sessions.jsonl"
    rows.write_text(json.dumps({"session_id": "s", "messages": lines}) + "\n")
    flags = ["--repeats", "1", "--memory", "2", "4", "--detector", "rules", "--dataset_name", rows]
    command = [sys.executable, BENCHMARKS / "redact.py", "--format", "json", *flags]
    result = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert (result["sessions"], result["messages"]) == (1, 3)
    assert result["systems"]["presidio"]["ratio_to_presidio"] == 1 and {*result["systems"]} == {
        "presidio",
        "rules",
    }
    assert all(part["messages_per_cpu_second"] > 0 for part in result["systems"].values())
    assert {*result["peak_memory_mb"]} == {"2", "4"} and all(
        30 < mb < 2000 for mb in result["peak_memory_mb"].values()
    )
