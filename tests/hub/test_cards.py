"""A card says what its facts say and no more; the real readers of cards take it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import datasets
import golden
import numpy as np
import pytest
import yaml
from datasets.info import DatasetInfosDict
from datasets.utils.metadata import MetadataConfigs
from huggingface_hub import DatasetCard, EvalResult, ModelCard, SpaceCard, metadata_load, parse_eval_result_entries
from jinja2 import UndefinedError

import pools
from clients import VERSIONS, run_client
from tamis.errors import WorkError
from tamis.gradients.store import GradientIndex
from tamis.hub import cards
from tamis.hub.human_facts import KEYS
from tamis.hub.loopback.process import LoopbackHub

TEMPLATES = Path(cards.__file__).with_name("templates")

MODEL = {
    "name": "tamis-encoder",
    "library_name": "sentence-transformers",
    "pipeline_tag": "sentence-similarity",
    "base_model": "BAAI/bge-small-en-v1.5",
    "datasets": ["local/SafeTulu-tamis"],
    "example": "print(1)",
    "results": [
        {
            "task": {"type": "text-ranking", "name": "Ranking of planted rows"},
            "dataset": {
                "type": "local/planted",
                "name": "Planted rows",
                "config": "all",
                "split": "train",
                "revision": "a1",
            },
            "metrics": [{"type": "roc_auc", "name": "AUROC", "value": 0.684}, {"type": "map", "value": 0.25}],
            "source": {"name": "the run", "url": "https://example.org/run"},
            "task_id": "planted",
            "date": "2026-12-01",
            "notes": "four blocks",
        },
        {
            "task": {"type": "text-ranking"},
            "dataset": {"type": "local/other", "name": "Other rows"},
            "metrics": [{"type": "roc_auc", "value": 0.5}],
        },
    ],
}
METRIC = {
    "name": "span_overlap",
    "sdk_version": "6.1.0",
    "app_file": "app.py",
    "inputs": [{"name": "predictions", "type": "list of spans", "says": "the spans that were found."}],
    "outputs": [{"name": "f1", "type": "float", "says": "the harmonic mean of precision and recall."}],
    "example": "metric.compute(predictions=[], references=[])",
}
SPACE = {
    "name": "safetulu-filter",
    "sdk_version": "6.1.0",
    "python_version": "3.12",
    "app_file": "app.py",
    "models": ["Qwen/Qwen3-0.6B"],
    "datasets": ["local/SafeTulu-tamis"],
}
LOOKS = {"emoji": "🥁", "colorFrom": "yellow", "colorTo": "gray", "short_description": "Sieve instruction data"}
HUMAN: dict[str, dict[str, Any]] = {
    "model": {"license": "apache-2.0", "language": ["en"], "pretty_name": "An encoder", "citation": "@misc{a}"},
    "metric": {
        "license": "apache-2.0",
        "pretty_name": "Span overlap",
        "summary": "How well spans are found.",
        "intended_uses": "De-identification of text.",
        "limitations": "Counts every kind of span alike.",
        "citation": "@misc{a}",
        "references": ["The documentation"],
        **LOOKS,
    },
    "space": {"license": "apache-2.0", "pretty_name": "SafeTulu filter", "tags": ["demo"], **LOOKS},
}
SAMPLES = {"model": MODEL, "metric": METRIC, "space": SPACE}


def halves(card: str) -> tuple[dict[str, Any], str]:
    """The front matter and the body, as `datasets` splits them: at lines, whatever ends a line."""
    lines = card.splitlines()
    end = lines[1:].index("---") + 1
    assert lines[0] == "---"
    return yaml.safe_load("\n".join(lines[1:end])), "\n".join(lines[end + 1 :])


def words(text: str) -> set[str]:
    """What holds a digit: numbers, digests, names."""
    found = re.findall(r"\w(?:[\w.,-]*\w)?", text)
    return {word for word in found if re.search(r"\d", word)}


def numbers(value: Any) -> set[str]:
    """Every way in which a card may write a number of the facts."""
    if isinstance(value, dict | list):
        parts = value.values() if isinstance(value, dict) else value
        return {text for part in parts for text in numbers(part)}
    if isinstance(value, float):
        return {f"{value:.1%}"[:-1], f"{value:.2%}"[:-1], str(value)}
    return {f"{value:,}", str(value)} if isinstance(value, int) else words(str(value))


@pytest.mark.parametrize("name", golden.KINDS)
def test_the_golden_card_is_what_its_results_give(name: str) -> None:
    there = (golden.FOLDER / name / "README.md").read_text(encoding="utf-8")
    assert golden.rendered(name, golden.results(name)) == there, "run `python tests/hub/golden.py`"


@pytest.mark.parametrize("name", golden.KINDS)
def test_every_number_of_a_golden_card_stands_in_its_results(name: str) -> None:
    folder = golden.FOLDER / name
    results = golden.results(name)
    known = words((folder / "results.yaml").read_text()) | words((folder / "card.yaml").read_text())
    known |= numbers(results) | {"1K"}  # `n<1K` is the Hub's name of a size
    known |= {
        word for key in (*results.get("configs", {}), *results.get("features", [])) for word in words(str(key))
    }
    assert words((folder / "README.md").read_text()) <= known


@pytest.mark.parametrize("name", golden.KINDS)
def test_other_results_give_another_card(name: str) -> None:
    results = golden.results(name)
    there = golden.rendered(name, results)
    for key, value in results.items():
        if type(value) is int and key not in ("removed", "excluded", "outside"):
            assert golden.rendered(name, {**results, key: value + 7}) != there, key


def test_no_template_holds_a_number() -> None:
    for template in TEMPLATES.glob("*.j2"):
        text = template.read_text().replace(".j2", "").replace(".md", "")
        assert not re.search(r"\d", text), template.name
    assert {path.name.partition(".")[0] for path in TEMPLATES.iterdir()} == {*KEYS, "shared"}


@pytest.mark.parametrize("kind", SAMPLES)
def test_what_is_not_known_is_left_out(kind: str) -> None:
    front, body = halves(cards.render(kind, {"name": "a"}, {}))
    assert None not in front.values() and "license" not in front
    assert "None" not in body and "## Citation" not in body and "## Results" not in body
    assert not re.search(r"\n\n\n", body)


def test_a_fact_that_a_card_cannot_do_without_is_asked_for() -> None:
    facts = golden.results("demo")
    del facts["similarity"]
    with pytest.raises(UndefinedError, match="similarity"):
        cards.render("dataset", facts, {})


def test_a_data_sets_card_is_what_datasets_and_the_hub_read() -> None:
    text = (golden.FOLDER / "demo" / "README.md").read_text()
    data = DatasetCard(text).data
    assert data.license == "apache-2.0" and data.language == golden.results("demo")["languages"]
    assert data.size_categories == ["n<1K"] and data.task_categories == ["text-generation"]
    assert data.to_dict()["tags"][0] == "tamis" and "demo" in data.to_dict()["tags"]
    configs = MetadataConfigs.from_dataset_card_data(data)
    infos = DatasetInfosDict.from_dataset_card_data(data)
    assert configs.get_default_config_name() == "drop-20" and [*infos] == [*configs]
    stored = golden.results("demo")
    for name, info in infos.items():
        assert info.features["messages"] == datasets.List(
            {"role": datasets.Value("string"), "content": datasets.Value("string")}
        )
        assert info.splits["train"].num_examples == stored["configs"][name]["rows"]
        assert info.dataset_size == info.splits["train"].num_bytes == stored["configs"][name]["bytes"]
    assert metadata_load(golden.FOLDER / "demo" / "README.md") == halves(text)[0]
    assert str(DatasetCard(text)) == text, "a round trip changes nothing"


HOSTILE = "a\n---\nlicense: mit\u2028---\u2028| b |\x85<script>{{ 7 * 7 }}</script>"


def test_a_name_cannot_end_the_front_matter_or_a_table() -> None:
    facts = golden.results("demo")
    facts["removed_by_source"] = {HOSTILE: {"rows": 3, "removed": 1, "rate": 0.3}}
    facts["unscored"] = {HOSTILE: 2}
    facts["source"] = {"name": HOSTILE, "id": HOSTILE}
    facts["tamis"]["recipe"]["source"] = [HOSTILE]
    human = {"pretty_name": HOSTILE, "license": "apache-2.0", "sources": [{"name": HOSTILE, "note": HOSTILE}]}
    text = cards.render("dataset", facts, human)
    front, body = halves(text)
    assert front["license"] == "apache-2.0" and front["pretty_name"] == HOSTILE
    assert front["tamis"]["recipe"]["source"] == [HOSTILE] == front["source_datasets"]
    assert DatasetCard(text).data.to_dict() == front
    assert "<script>" not in body and "{{ 7 &#42; 7 }}" in body
    for table in re.findall(r"(?:^\|.*\|$\n?)+", body, re.M):
        assert len({line.count("|") for line in table.splitlines()}) == 1, table
    assert "---" not in {line.strip() for line in body.splitlines()}


def test_digests_and_words_of_yaml_stay_text() -> None:
    fields = {"digest": "12e4567", "other": "123456789012", "language": ["no"], "null": "~", "list": ["a", "a"]}
    assert yaml.safe_load(cards.dumped(fields)) == fields
    assert '"12e4567"' in cards.dumped(fields).replace("'", '"') and "&id" not in cards.dumped([fields, fields])


# Gradient indexes


def index(folder: Path, model: str, revision: str, excluded: tuple[int, ...] = ()) -> GradientIndex:
    rng = np.random.default_rng(0)
    u = rng.standard_normal((7, 3, 4))
    recipe = {"dataset_name": str(folder / "pool.jsonl"), "model_name_or_path": model, "last_k": 2}
    gradient = {"model_revision": revision, "template": "t", "max_length": 64, "dtype": "float32"}
    return pools.index(folder, u, u, recipe=recipe, gradient=gradient, excluded=excluded)


def test_an_index_is_a_data_set_with_its_card(tmp_path: Path) -> None:
    made = index(tmp_path / "index", "Qwen/Qwen3-0.6B", "abc", excluded=(2,))
    text = cards.gradients(made, {"license": "cc-by-nc-4.0"})
    (made.folder / "README.md").write_text(text)
    front, body = halves(text)
    assert [config["config_name"] for config in front["configs"]] == ["rows", "excluded"]
    rows = datasets.load_dataset(str(made.folder), split="train")
    excluded = datasets.load_dataset(str(made.folder), "excluded", split="train")
    assert rows.to_list() == made.rows.to_pylist() and excluded["reason"][:] == [pools.REASON]
    infos = DatasetInfosDict.from_dataset_card_data(DatasetCard(text).data)
    assert infos["rows"].features == rows.features and infos["excluded"].features == excluded.features
    assert front["license"] == "cc-by-nc-4.0" and front["tags"][0] == "tamis"
    for words_of_it in (
        f"| model | {'Qwen/Qwen3-0.6B'} |",
        "| last blocks whose gradients are taken | 2 |",
        f"{2 * 2 * 3 * 4} bytes a row",
        f"`{made.digest}`",
        f"`{made.gradient_digest}`",
        f"tamis score --index {cards.HERE} --target mine.jsonl",
        "can leak its pool",
        "without a GPU",
    ):
        assert words_of_it in body
    assert str(tmp_path) not in text and "from pool.jsonl" not in text


def test_an_index_without_excluded_rows_has_no_such_config(tmp_path: Path) -> None:
    made = index(tmp_path / "index", "Qwen/Qwen3-0.6B", "abc")
    front, body = halves(cards.gradients(made, {}))
    assert [config["config_name"] for config in front["configs"]] == ["rows"] and "`excluded`" not in body
    assert "license" not in front and "No licence is stated" in body


@pytest.mark.parametrize("where", ["there", "moved", "weights"])
def test_a_model_in_a_folder_is_not_named(tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if where == "there":
        (tmp_path / "secret" / "model").mkdir(parents=True)
    name = str(tmp_path / "secret" / "model") if where == "moved" else "secret/model"
    text = cards.gradients(index(tmp_path / "index", name, "sha256:1" if where == "weights" else "x"), {})
    assert "secret" not in text and "lay on the maker's machine" in text


# Models, metrics, Spaces, benchmarks


def test_a_models_results_are_what_the_hub_reads() -> None:
    card = ModelCard(cards.render("model", MODEL, HUMAN["model"]))
    data = card.data
    assert (data.base_model, data.datasets, data.license) == (MODEL["base_model"], MODEL["datasets"], "apache-2.0")
    assert (data.library_name, data.pipeline_tag) == (MODEL["library_name"], MODEL["pipeline_tag"])
    assert data.metrics == ["roc_auc", "map"] and data.language == ["en"] and data.model_name == MODEL["name"]
    source = {
        "source_name": "the run",
        "source_url": "https://example.org/run",
        "task_name": "Ranking of planted rows",
    }
    where = {"dataset_config": "all", "dataset_split": "train", "dataset_revision": "a1"}
    first = ("text-ranking", "local/planted", "Planted rows")
    assert data.eval_results == [
        EvalResult(*first, "roc_auc", 0.684, metric_name="AUROC", **where, **source),
        EvalResult(*first, "map", 0.25, **where, **source),
        EvalResult("text-ranking", "local/other", "Other rows", "roc_auc", 0.5),
    ]
    assert "| Ranking of planted rows | Planted rows | AUROC | 0.684 |" in card.text


def test_results_of_benchmarks_are_files_of_their_own() -> None:
    files = cards.eval_results(MODEL)
    assert [*files] == [".eval_results/local--planted.yaml"]
    (entry,) = parse_eval_result_entries(yaml.safe_load(files[".eval_results/local--planted.yaml"]))
    assert (entry.dataset_id, entry.task_id, entry.value) == ("local/planted", "planted", 0.684)
    assert (entry.dataset_revision, entry.date, entry.notes) == ("a1", "2026-12-01", "four blocks")
    assert (entry.source_url, entry.source_name) == ("https://example.org/run", "the run")
    assert cards.eval_results({"name": "a"}) == {}


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_result_that_is_not_finite_is_shown_by_no_card(value: float) -> None:
    result = {**MODEL["results"][0], "metrics": [{"type": "roc_auc", "value": value}]}
    for make in (lambda facts: cards.render("model", facts, {}), cards.eval_results):
        with pytest.raises(WorkError, match="roc_auc: its value is"):
            make({**MODEL, "results": [result]})


def test_a_metrics_card_has_the_headings_of_evaluate_and_is_a_space() -> None:
    card = SpaceCard(cards.render("metric", METRIC, HUMAN["metric"]))
    headings = re.findall(r"^#+ (.*)", card.text, re.M)
    expected = ["Metric Card for Span overlap", "Metric description", "Intended uses", "How to use", "Inputs"]
    assert headings == [*expected, "Output values", "Limitations and bias", "Citation", "Further references"]
    data = card.data
    assert (data.title, data.sdk, data.sdk_version, data.app_file) == ("Span overlap", "gradio", "6.1.0", "app.py")
    assert data.tags == ["evaluate", "metric", "tamis"] and data["description"] == HUMAN["metric"]["summary"]
    assert "predictions" in card.text and METRIC["example"] in card.text


def test_a_spaces_readme_has_what_the_hub_runs_it_by() -> None:
    data = SpaceCard(cards.render("space", SPACE, HUMAN["space"])).data.to_dict()
    given = {**SPACE, **HUMAN["space"], "title": "SafeTulu filter", "sdk": "gradio", "tags": ["tamis", "demo"]}
    del given["name"], given["pretty_name"]
    assert data == given


def test_a_benchmark_is_what_its_card_yaml_says() -> None:
    benchmark = {
        "name": "Planted rows",
        "description": "Find them.",
        "evaluation_framework": "inspect-ai",
        "tasks": [{"id": "planted", "config": "all", "split": "train"}],
    }
    assert yaml.safe_load(cards.eval_yaml({"benchmark": benchmark}) or "") == benchmark
    assert cards.eval_yaml({}) is None


UPLOAD = """
import json, pathlib, huggingface_hub, tamis.hub.cards

api = huggingface_hub.HfApi()
for kind, (repo_type, text) in json.loads(pathlib.Path("cards.json").read_text()).items():
    name = dict(repo_id=f"local/card-{kind}-{huggingface_hub.__version__[0]}", repo_type=repo_type)
    api.create_repo(**name, space_sdk="gradio" if repo_type == "space" else None)
    readme = dict(path_or_fileobj=text.encode(), path_in_repo="README.md")
    api.upload_file(**readme, **name)  # which asks the Hub whether the card is valid
    try:
        readme["path_or_fileobj"] = text.replace("tags:\\n", "tags:\\n- 3\\n").encode()
        api.upload_file(**readme, **name)
        print("taken")
    except (ValueError, huggingface_hub.errors.HfHubHTTPError):
        pass
tamis.hub.cards.eval_results(json.loads(pathlib.Path("model.json").read_text()))
print(huggingface_hub.__version__)
"""


@VERSIONS
def test_the_hub_finds_nothing_wrong_in_any_card(hub: LoopbackHub, tmp_path: Path, version: str) -> None:
    made = {kind: cards.render(kind, facts, HUMAN[kind]) for kind, facts in SAMPLES.items()}
    made |= {golden.KINDS[name]: golden.rendered(name, golden.results(name)) for name in golden.KINDS}
    types = {"gradients": "dataset", "metric": "space"}
    (tmp_path / "cards.json").write_text(
        json.dumps({kind: (types.get(kind, kind), text) for kind, text in made.items()})
    )
    (tmp_path / "model.json").write_text(json.dumps(MODEL))
    done = run_client(hub, UPLOAD, tmp_path / "home", version=version)
    assert done.stdout.startswith(f"{version}.")
