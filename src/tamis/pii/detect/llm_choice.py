"""Which of several chat models is asked with the longer prompts: the one that the basic prompt does best with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tamis.errors import WorkError
from tamis.metrics.spans import score
from tamis.pii.detect.chat_models import Chat
from tamis.pii.detect.llm import PROMPTS, LLMDetector
from tamis.pii.detect.llm_cache import AnswerCache
from tamis.pii.segments import Segmented
from tamis.pii.sessions import Annotated, Session
from tamis.pii.spans import Span, settled


@dataclass(frozen=True)
class Judged:
    """What one model did with one prompt.

    Attributes:
        model: The model's name.
        prompt: The prompt's name.
        predicted: The spans of each message of each session that count; none in an unscored message.
        unscored: How many messages have no readable answer.
        counts: `llm.Counts` as a dictionary.
    """

    model: str
    prompt: str
    predicted: list[list[list[Span]]]
    unscored: int
    counts: dict[str, int]


@dataclass(frozen=True)
class Choice:
    """The model that was chosen, and how far the models lie apart.

    Attributes:
        chosen: The position of the model among those given.
        basic: Of every model, what it did on the split with the basic prompt: model, f1 (None where none of its
            answers could be read), messages, unscored, counts.
        spread: The least and greatest F1, their difference, and how many models have one.
    """

    chosen: int
    basic: list[dict[str, Any]]
    spread: dict[str, float]


def choose(chats: Sequence[Chat], split: Sequence[Annotated], kept: AnswerCache | None = None) -> Choice:
    """The model with the best span F1 on a split with the basic prompt; of equals, the one with fewest unscored.

    Args:
        chats: The models.
        split: Sessions with their spans, none of which is reported on.
        kept: Where answers are kept, if anywhere.

    Raises:
        WorkError: No model gave an answer that can be read.
    """
    sessions = [annotated.session for annotated in split]
    messages = sum(len(session) for session in sessions)
    basic: list[dict[str, Any]] = []
    for chat in chats:
        judged = judge(LLMDetector(chat, "basic", kept), sessions)
        f1 = score(split, judged.predicted, resamples=0)["span"]["f1"] or 0.0
        known = None if judged.unscored >= messages else f1
        facts = {"messages": messages, "unscored": judged.unscored, "counts": judged.counts}
        basic.append({"model": chat.name, "f1": known, **facts})
    able = [i for i, one in enumerate(basic) if one["f1"] is not None]
    if not able:
        raise WorkError(f"none of {', '.join(chat.name for chat in chats)} gave an answer that can be read")
    values = [basic[i]["f1"] for i in able]
    chosen = max(able, key=lambda i: (basic[i]["f1"], -basic[i]["unscored"], -i))
    least, greatest = min(values), max(values)
    spread = {
        "least": least,
        "greatest": greatest,
        "difference": round(greatest - least, 4),
        "models": len(values),
    }
    return Choice(chosen, basic, spread)


def all_prompts(
    chat: Chat,
    sessions: Sequence[Session],
    segments: Callable[[Session], Sequence[Segmented]] | None = None,
    kept: AnswerCache | None = None,
) -> list[Judged]:
    """What one model does with each of the prompts.

    Args:
        chat: The model.
        sessions: The sessions to report on.
        segments: Gives the segments for the segment-aware prompt; by default with the packaged encoder.
        kept: Where answers are kept, if anywhere.
    """
    return [judge(LLMDetector(chat, name, kept, segments=segments), sessions) for name in PROMPTS]


def judge(detector: LLMDetector, sessions: Sequence[Session]) -> Judged:
    """What a model says of sessions. An unscored message has no span, which does not say that it is clean."""
    predicted = []
    for session in sessions:
        answered = detector.ask(session)
        predicted.append([settled(spans, detector.threshold) for spans in answered.spans])
    counts = asdict(detector.counts)
    return Judged(detector.chat.name, detector.prompt, predicted, counts["unscored"], counts)
