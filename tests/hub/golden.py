"""The golden cards of model_cards/, rendered from the results that lie beside them.

python tests/hub/golden.py              # after a change of a template or a card.yaml
python tests/hub/golden.py demo-run     # takes the results from what `make demo` has made, first
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

from tamis.dataset_folder import export
from tamis.gradients.store import GradientIndex
from tamis.hub import cards
from tamis.hub.human_facts import read_human_facts
from tamis.recipe import ExportRecipe

FOLDER = Path(__file__).parents[2] / "model_cards"
KINDS = {"demo": "dataset", "demo-gradients": "gradients"}


def results(name: str) -> dict[str, Any]:
    """What the run said that a golden card is of."""
    return dict(yaml.safe_load((FOLDER / name / "results.yaml").read_text(encoding="utf-8")))


def rendered(name: str, facts: dict[str, Any]) -> str:
    """The card of these facts."""
    human = read_human_facts(FOLDER / name / "card.yaml", KINDS[name])
    return cards.render(KINDS[name], facts, human)


def take_results(run: Path) -> None:
    """Writes what the folders of a demo say into the `results.yaml` files."""
    with tempfile.TemporaryDirectory() as folder:
        exported = export(ExportRecipe(str(run / "selection"), folder))
    for name, facts in (
        ("demo", exported.facts),
        ("demo-gradients", cards.index_facts(GradientIndex(run / "index"))),
    ):
        (FOLDER / name / "results.yaml").write_text(cards.dumped(facts), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:]:
        take_results(Path(sys.argv[1]))
    for card in KINDS:
        (FOLDER / card / "README.md").write_text(rendered(card, results(card)), encoding="utf-8")
