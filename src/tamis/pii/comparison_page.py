"""A comparison of detectors as Markdown and as a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tamis.pii.comparison import BASELINE
from tamis.pii.labels import FROM_PRESIDIO

NOT_ESTABLISHED = (
    "An order between the ways of prompting a model, or any number of a chat model that is not a row above.",
    "That a score on dense sets holds on real chat: set none beside a published one but the re-weighted F1, which "
    "takes recall and false positives as they are here.",
    "Recall by label, PERSON apart: most labels have a handful of spans, so only the pooled one has an interval.",
    "Agreement of labellers: the gold of each set has one author.",
    "On generated sessions, anything about wording that the generator does not have; the trained detector and the "
    "sessions come from one project, though their templates and names differ.",
    "That every false positive on MathDial and GSM8K is one: only the persona's name counts as personal there.",
    "Speed on another machine: messages per CPU second are of one run each; the benchmark compares in turns.",
)

Rows = Mapping[str, Mapping[str, Any]]


def page(result: Mapping[str, Any], figure: str | None = None) -> str:
    """The whole comparison.

    Args:
        result: As the script writes it: `sets`, each with `about`, `rows` and `baseline_entities`.
        figure: The figure's file name.
    """
    lines = ["# Detectors of personal data, side by side", ""]
    if figure:
        lines += [f"![Privacy against utility on {next(iter(result['sets']))}]({figure})", ""]
    mapped = ", ".join(f"{entity} -> {label}" for entity, label in FROM_PRESIDIO.items() if entity != label)
    lines += [_READING, "", f"Presidio's entities count as these labels: {mapped}.", ""]
    for name, part in result["sets"].items():
        facts = part["about"]
        lines += [
            f"## {name}",
            "",
            f"{facts['sessions']:,} sessions, {facts['messages']:,} messages, {facts['gold_spans']:,} gold spans "
            f"({facts['labels_per_1000_messages']} per 1,000 messages).",
            "",
            *_unscored(part["rows"]),
            *(_scores(part["rows"]) if part["kind"] == "annotated" else []),
            *_false(part["rows"]),
            *_segments(part["rows"]),
            *_labels(part["rows"], part["baseline_entities"]),
            *(_recalls(part["rows"]) if part["kind"] == "annotated" else []),
        ]
    lines += _models(result["llm"]) if result.get("llm") else []
    lines += ["## Not established", "", *(f"- {sentence}" for sentence in NOT_ESTABLISHED), ""]
    return "\n".join(lines)


_READING = """\
Brackets hold 95 % intervals: bootstrap over sessions, or Wilson's where recall is pooled. *Span*: a gold span
is found if predictions cover it whole; a prediction is false if it overlaps no gold span. *Leaked*: gold
characters that nothing covers, and their share of what stock Presidio leaks. *Maths preserved*: messages with
maths of which nothing outside the gold spans is covered; *intact*: of which no character of the maths itself
is. *F1 at 17.3*: re-weighted to the labels per 1,000 messages of MathEd-PII: recall and the false positives per
message without personal data are kept, precision follows. *Structured*: e-mail, phone, web address, number,
SSN, IP address and card, pooled. Spans count from each detector's threshold on; *guarded*: those left that the
maths guard does not drop."""


def _unscored(rows: Rows) -> list[str]:
    known = [f"{name} {row['unscored']:,}" for name, row in rows.items() if row["unscored"]]
    return (
        [f"Messages without an answer that can be read, counted as nothing found: {', '.join(known)}.", ""]
        if known
        else []
    )


def _models(choice: Mapping[str, Any]) -> list[str]:
    spread = choice["spread"]
    lines = [
        "## Chat models with the basic prompt, on the split that chooses one",
        "",
        f"{choice['basic'][choice['chosen']]['model']} was chosen. Span F1 from {_number(spread['least'])} to "
        f"{_number(spread['greatest'])} over {spread['models']} models.",
        "",
    ]
    cells = [
        [one["model"], _number(one["f1"]), f"{one['unscored']:,} of {one['messages']:,}"]
        for one in choice["basic"]
    ]
    return [*lines, *_table("model | span F1 | messages without an answer that can be read", cells)]


def _scores(rows: Rows) -> list[str]:
    head = (
        "detector | span P | span R | span F1 | exact F1 | character F1 | leaked | maths preserved | maths intact "
        "| PERSON recall | structured recall | F1 at 17.3 | messages per CPU s"
    )
    return _table(
        head,
        [
            [
                name,
                _number(row["span"]["precision"]),
                _number(row["span"]["recall"]),
                f"{_number(row['span']['f1'])} {_interval(row['ci95']['span'])}",
                f"{_number(row['exact']['f1'])} {_interval(row['ci95']['exact'])}",
                f"{_number(row['character']['f1'])} {_interval(row['ci95']['character'])}",
                f"{row['leaked_characters']:,} ({_percent(row['leaked_against_baseline'])})",
                _number(row["maths"]["preserved"]),
                _number(row["maths"]["maths_intact"]),
                _pooled(row["person"]),
                _pooled(row["structured"]),
                _estimate(row["false_positives"]["reweighted"]["f1"]),
                "" if row["messages_per_cpu_second"] is None else f"{row['messages_per_cpu_second']:,}",
            ]
            for name, row in rows.items()
        ],
    )


def _false(rows: Rows) -> list[str]:
    head = "detector | false positives | per 1,000 messages | per 1,000 messages without personal data"
    return _table(
        head,
        [
            [
                name,
                f"{row['span']['false_positives']:,}",
                _estimate(row["false_positives"]["per_1000_messages"], 1),
                _estimate(row["false_positives"]["per_1000_without_pii"], 1),
            ]
            for name, row in rows.items()
        ],
    )


def _segments(rows: Rows) -> list[str]:
    share = next(iter(rows.values()))["segments"]["messages_in_maths"]
    head = (
        "detector | false ones in maths segments | false to true, maths | false to true, outside "
        "| span F1, maths | span F1, outside"
    )
    table = _table(
        head,
        [
            [
                name,
                _estimate(part["false_in_maths"]),
                *(_estimate(part["false_to_true"][side]) for side in ("maths", "non_maths")),
                *(_number(part["span"][side]["f1"]) for side in ("maths", "non_maths")),
            ]
            for name, part in ((name, row["segments"]) for name, row in rows.items())
        ],
    )
    return [f"Share of messages in maths segments: {_estimate(share)}.", "", *table]


def _labels(rows: Rows, entities: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """False positives by label; changes are against stock Presidio, whose entities are named with the label."""
    labels = sorted({label for row in rows.values() for label in row["false_by_label"]})
    if not labels:
        return []
    base = rows[BASELINE]["false_by_label"] if BASELINE in rows else {}
    named = {
        label: ", ".join(
            f"{entity} {part['false']} ({part['false_at_any_score']} at any score)"
            for entity, part in entities.items()
            if (part["label"] or entity) == label
        )
        for label in {*labels, *(part["label"] or entity for entity, part in entities.items())}
    }

    def cell(row: Mapping[str, Any], label: str) -> str:
        number, before = row["false_by_label"].get(label, 0), base.get(label, 0)
        return f"{number:,}" + (
            f" ({number / before - 1:+.1%})" if before and row["false_by_label"] is not base else ""
        )

    made = [[label, named[label], *(cell(row, label) for row in rows.values())] for label in sorted(named)]
    return ["False positives by label:", "", *_table(" | ".join(["label", "of Presidio's entities", *rows]), made)]


def _recalls(rows: Rows) -> list[str]:
    labels = {label: part["gold"] for row in rows.values() for label, part in row["per_label"].items()}
    made = [
        [f"{label} ({gold})", *(_number(row["per_label"][label]["recall"]) for row in rows.values())]
        for label, gold in labels.items()
    ]
    return ["Recall by gold label (number of spans):", "", *_table(" | ".join(["label", *rows]), made)]


def _table(head: str, rows: Sequence[Sequence[str]]) -> list[str]:
    width = head.count("|") + 1
    return [f"| {head} |", "|---" * width + "|", *(f"| {' | '.join(row)} |" for row in rows), ""]


def _number(value: float | None, digits: int = 3) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"


def _interval(ends: Sequence[float] | None, digits: int = 3) -> str:
    return "" if ends is None else f"[{ends[0]:.{digits}f}, {ends[1]:.{digits}f}]"


def _estimate(found: Mapping[str, Any], digits: int = 3) -> str:
    return f"{_number(found['value'], digits)} {_interval(found['interval'], digits)}".strip()


def _pooled(found: Mapping[str, Any]) -> str:
    return f"{_number(found['recall'])} {_interval(found['interval'])} of {found['gold']}".strip()
