"""A card.yaml is read whole, or refused in one sentence that names the file, the key and what is valid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tamis.errors import UsageError
from tamis.hub.human_facts import KEYS, read_human_facts

CARDS = Path(__file__).parents[2] / "model_cards"
TASK = {"id": "t", "config": "c", "split": "train"}
BENCHMARK = {"name": "n", "description": "d", "evaluation_framework": "inspect-ai", "tasks": [TASK]}


def written(folder: Path, **facts: Any) -> Path:
    path = folder / "card.yaml"
    path.write_text(yaml.safe_dump(facts))
    return path


def refused(path: Path, *words: str, kind: str = "dataset") -> None:
    with pytest.raises(UsageError) as caught:
        read_human_facts(path, kind)
    for word in (str(path), *words):
        assert word in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_text_stands_for_a_list_of_one(tmp_path: Path) -> None:
    facts = read_human_facts(written(tmp_path, language="en", tags=["a", "b"], benchmark=BENCHMARK), "dataset")
    assert facts == {"language": ["en"], "tags": ["a", "b"], "benchmark": BENCHMARK}


@pytest.mark.parametrize("kind", KEYS)
def test_an_unknown_key_is_refused_with_the_valid_ones(tmp_path: Path, kind: str) -> None:
    refused(written(tmp_path, licence="mit"), "unknown key 'licence'", ", ".join(KEYS[kind]), kind=kind)


def test_a_key_of_another_kind_is_unknown(tmp_path: Path) -> None:
    refused(written(tmp_path, emoji="x"), "unknown key 'emoji'")
    refused(written(tmp_path, benchmark=BENCHMARK), "unknown key 'benchmark'", kind="space")


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"pretty_name": 3}, "pretty_name: not text"),
        ({"summary": " "}, "summary: not text"),
        ({"tags": [1]}, "tags: not a list of text"),
        ({"language": False}, "language: not a list of text"),
        ({"sources": ["a"]}, "sources: not a list of sources with a name"),
        ({"sources": [{"name": "a", "licence": "b"}]}, "sources: a source holds text as name, url, license, note"),
        ({"extra_gated_fields": "x"}, "extra_gated_fields: not keys and values"),
        ({"benchmark": {**BENCHMARK, "tasks": []}}, "benchmark: a task has to hold id, config, split"),
        ({"benchmark": {"name": "n"}}, "benchmark: has to hold name, description, evaluation_framework, tasks"),
        ({"benchmark": {**BENCHMARK, "name": 1}}, "benchmark: holds something that is not text"),
    ],
)
def test_a_value_of_another_kind_is_named(tmp_path: Path, facts: dict[str, Any], words: str) -> None:
    refused(written(tmp_path, **facts), words)


def test_what_the_hub_would_refuse_of_a_space_is_refused_here(tmp_path: Path) -> None:
    refused(written(tmp_path, colorFrom="black"), "colorFrom: 'black' is not one of red, ", kind="space")
    refused(written(tmp_path, short_description="x" * 61), "longer than 60 characters", kind="metric")


@pytest.mark.parametrize("content", ["a: [", "- a\n", "", "\xff"])
def test_what_is_no_yaml_of_keys_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "card.yaml").write_bytes(content.encode("latin-1"))
    refused(tmp_path / "card.yaml")
    refused(tmp_path / "gone.yaml", "cannot be read")


NC = {"name": "b", "license": "CC-BY-NC-SA-4.0"}


@pytest.mark.parametrize("licence", [None, "mit", "odc-by", "cc-by-4.0", "ncsa"])
def test_a_licence_that_allows_more_than_a_source_is_refused(tmp_path: Path, licence: str | None) -> None:
    facts = {"sources": [{"name": "a", "license": "mit"}, NC], **({"license": licence} if licence else {})}
    refused(written(tmp_path, **facts), f"license: {licence or 'missing'}", "source b is CC-BY-NC-SA-4.0")


@pytest.mark.parametrize(
    "facts",
    [
        {"license": "cc-by-nc-4.0", "sources": [NC]},
        {"license": "other", "license_name": "our-nc-licence", "sources": [NC]},
        {"license": "mit", "sources": [{"name": "a", "license": "odc-by"}, {"name": "b"}]},
        {"sources": [{"name": "a", "license": "mit"}]},
    ],
)
def test_a_licence_that_follows_its_sources_is_taken(tmp_path: Path, facts: dict[str, Any]) -> None:
    assert read_human_facts(written(tmp_path, **facts), "dataset") == facts


def test_the_cards_of_the_repository_are_read_and_safetulu_is_not_commercial() -> None:
    for path in sorted(CARDS.glob("*/card.yaml")):
        kinds = {"-gradients": "gradients", "-detector-": "model", "-synthetic-": "annotated"}
        kind = next((kind for part, kind in kinds.items() if part in path.parent.name), "dataset")
        facts = read_human_facts(path, kind)
        if path.parent.name.startswith("SafeTulu"):
            assert facts["license"] == "cc-by-nc-4.0" and len(facts["sources"]) > 1
            assert "2610.37481" in facts["citation"] and "2601.21929" in facts["citation"]
            assert any("not causal proof" in point for point in facts["not_established"])
