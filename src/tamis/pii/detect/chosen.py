"""The detector that a recipe names; what it needs is imported here and not before."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tamis.errors import UsageError
from tamis.pii.detect.detector import Detector
from tamis.pii.recipe import RedactRecipe

if TYPE_CHECKING:
    from tamis.pii.detect.chat_models import Chat


def detector(recipe: RedactRecipe) -> Detector:
    """The detector of a recipe.

    Raises:
        UsageError: An extra, a model or the roster is missing.
    """
    if recipe.detector == "presidio":
        from tamis.pii.detect.presidio import MODEL, PresidioDetector

        return PresidioDetector(recipe.model_name_or_path or MODEL)
    if recipe.detector == "model":
        from tamis.pii.detect.model import ModelDetector

        return ModelDetector(recipe.model_name_or_path)
    if recipe.detector == "cascade":
        from tamis.pii.detect.cascade import CascadeDetector

        if recipe.llm is not None:
            from tamis.pii.detect.llm_reviewer import LLMReviewer

            return CascadeDetector(reviewer=LLMReviewer(_chat(recipe)), roster=roster(recipe.roster))
        return CascadeDetector(roster=roster(recipe.roster))
    if recipe.detector == "llm":
        from tamis.pii.detect.llm import LLMDetector
        from tamis.pii.detect.llm_cache import AnswerCache

        kept = AnswerCache(recipe.llm_cache) if recipe.llm_cache else None
        return LLMDetector(_chat(recipe), recipe.llm_prompt, kept, recipe.llm_window)
    from tamis.pii.detect.rules import RulesDetector

    return RulesDetector(roster(recipe.roster))


def _chat(recipe: RedactRecipe) -> Chat:
    from tamis.pii.detect.chat_models import budget, open_chat

    assert recipe.llm is not None
    return open_chat(recipe.llm, allow_remote=recipe.allow_remote, budget=budget(recipe.llm_budget))


def roster(path: str | None) -> tuple[str, ...]:
    """The names in a roster's file, one a line.

    Raises:
        UsageError: The file cannot be read; nothing of it is repeated.
    """
    if path is None:
        return ()
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise UsageError(f"--roster {path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"--roster {path}: is not UTF-8") from error
    return tuple(name for line in lines if (name := line.strip()))
