"""How well the segments agree with labels written by hand, and what share of other text they call maths.

    python evaluation/run_segments.py
    python evaluation/run_segments.py --gsm8k gsm8k/test.jsonl --mathdial mathdial/test.jsonl

The labelled sample was written for this project and labelled by its writer, a language model; no second labeller
looked at it. The rule: a message is maths if it states, asks for, does, checks or explains something of the
mathematics: a number or expression of the problem, an operation, a term, the story or the question of a problem,
or what to do next in words that name what in the problem is meant. It is not maths if it greets, thanks, praises
or complains, speaks of people, places, times or the equipment, or says yes, no or "I don't get it" and no more.

The thresholds are chosen on every other session of the sample, and the agreement is reported on the rest.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from tamis.pii.density import density, vocabulary
from tamis.pii.segments import MATHS, Embed, segment_all, sentence_embedder
from tamis.pii.sessions import Message, Session

ROOT = Path(__file__).parents[1]
TRIED = {
    "density": [0.28, 0.3, 0.32, 0.34, 0.36, 0.38, 0.4, 0.44],
    "similarity": [0.2, 0.24, 0.28, 0.32, 0.36, 0.4, 0.5],
    "length": [0.4, 0.5, 0.6, 0.75, 1.0],
}


def make_parser() -> argparse.ArgumentParser:
    """The arguments."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sample", type=Path, default=ROOT / "tests/pii/segment_sample.jsonl")
    parser.add_argument(
        "--chat", type=Path, default=ROOT / "tests/pii/chat_sample.txt", help="Lines without maths."
    )
    parser.add_argument("--gsm8k", type=Path, help="GSM8K's file of questions.")
    parser.add_argument("--mathdial", type=Path, help="MathDial's file of dialogues.")
    parser.add_argument("--output", type=Path, default=ROOT / "evaluation/results/segments.json")
    return parser


def read_sample(path: Path) -> tuple[list[Session], list[list[bool]]]:
    """The sessions, and whether each message is maths by hand."""
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    sessions = [
        Session(
            record["session_id"],
            tuple(Message(m["sequence_id"], m["role"], m["content"]) for m in record["messages"]),
        )
        for record in records
    ]
    return sessions, [[m["label"] == MATHS for m in record["messages"]] for record in records]


def agreement(gold: Sequence[Sequence[bool]], found: Sequence[Sequence[bool]]) -> dict[str, Any]:
    """Accuracy, Cohen's kappa, and how the two kinds of mistake are divided."""
    a = np.array([label for session in gold for label in session])
    b = np.array([label for session in found for label in session])
    same, chance = (a == b).mean(), a.mean() * b.mean() + (1 - a.mean()) * (1 - b.mean())
    return {
        "sessions": len(gold),
        "messages": len(a),
        "maths_by_hand": round(float(a.mean()), 4),
        "accuracy": round(float(same), 4),
        "kappa": round(float((same - chance) / (1 - chance)), 4),
        "maths_missed": int((a & ~b).sum()),
        "maths_too_many": int((~a & b).sum()),
    }


def grow(
    sessions: Sequence[Session], embed: Embed | None, limits: dict[str, float] | None = None
) -> list[list[bool]]:
    """Whether each message is maths by the segments."""
    chosen = limits or vocabulary()["thresholds"]
    found = segment_all(
        sessions, embed, threshold=chosen["density"], similarity=chosen["similarity"], length=chosen["length"]
    )
    return [[message.label == MATHS for message in session] for session in found]


def choose(sessions: Sequence[Session], gold: Sequence[Sequence[bool]], embed: Embed) -> dict[str, Any]:
    """The best of the thresholds that are tried, by kappa; of equals, the first."""
    vectors = {text: v for s in sessions for text, v in zip(_texts(s), embed(_texts(s)), strict=True)}

    def known(texts: Sequence[str]) -> np.ndarray:
        return np.stack([vectors[text] for text in texts])

    best: dict[str, Any] = {"kappa": -1.0}
    for values in product(*TRIED.values()):
        limits = dict(zip(TRIED, values, strict=True))
        kappa = agreement(gold, grow(sessions, known, limits))["kappa"]
        if kappa > best["kappa"]:
            best = {**limits, "kappa": kappa}
    return best


def _texts(session: Session) -> list[str]:
    return [message.content for message in session]


def mathdial(path: Path) -> Iterator[Session]:
    """Its dialogues, each turn without its speaker and the label of the teacher's move."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        turns = json.loads(line)["conversation"].split("|EOM|")
        texts = [
            re.sub(r"^\s*[\w .'-]+?:\s*(?:\((?:focus|probing|generic|telling)\))?", "", turn).strip()
            for turn in turns
        ]
        yield Session(str(number), tuple(Message(i, "", text) for i, text in enumerate(texts) if text))


def share(sessions: Sequence[Session], embed: Embed | None = None) -> dict[str, Any]:
    """How many of the messages are maths by their density alone, and as segments where there are embeddings."""
    dense = density([text for session in sessions for text in _texts(session)])
    found = {"messages": len(dense), "dense": float((dense >= vocabulary()["thresholds"]["density"]).mean())}
    if embed:
        found["in_segments"] = float(np.mean([label for labels in grow(sessions, embed) for label in labels]))
    return {name: round(value, 4) for name, value in found.items()}


def alone(texts: Sequence[str]) -> list[Session]:
    """Each text as a session."""
    return [Session(str(i), (Message(0, "", text),)) for i, text in enumerate(texts)]


def main() -> None:
    """Measures, writes the file, and prints it."""
    arguments = make_parser().parse_args()
    sessions, gold = read_sample(arguments.sample)
    embed = sentence_embedder()
    limits = vocabulary()["thresholds"]
    result: dict[str, Any] = {
        "thresholds": limits,
        "best_on_the_choosing_half": choose(sessions[::2], gold[::2], embed),
        "choosing_half": agreement(gold[::2], grow(sessions[::2], embed)),
        "reported_half": agreement(gold[1::2], grow(sessions[1::2], embed)),
        "reported_half_without_embeddings": agreement(gold[1::2], grow(sessions[1::2], None)),
        "whole_sample": agreement(gold, grow(sessions, embed)),
        "share_of_maths": {"chat": share(alone(arguments.chat.read_text(encoding="utf-8").splitlines()))},
    }
    if arguments.gsm8k:
        lines = arguments.gsm8k.read_text(encoding="utf-8").splitlines()
        result["share_of_maths"]["gsm8k"] = share(alone([json.loads(line)["question"] for line in lines]))
    if arguments.mathdial:
        result["share_of_maths"]["mathdial"] = share([*mathdial(arguments.mathdial)], embed)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    sys.stdout.write(arguments.output.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
