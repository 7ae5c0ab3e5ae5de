"""tamis: what should come out of a data set before anybody trains on it, and the proof.

The names below are the library; nothing is imported before it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tamis.chat import ChatRenderer
    from tamis.dataset_folder import export
    from tamis.errors import UsageError, WorkError
    from tamis.gradients.capture import GradientCapture
    from tamis.gradients.embed import embed, estimate
    from tamis.gradients.store import GradientIndex
    from tamis.hub.download import download
    from tamis.hub.publish import publish
    from tamis.influence.scores import score
    from tamis.metrics.ranking import auroc
    from tamis.pii.audit import deid_audit
    from tamis.pii.certify import certify
    from tamis.pii.reading import read_sessions
    from tamis.pii.recipe import DeidAuditRecipe, RedactRecipe, RestoreRecipe
    from tamis.pii.redact import redact
    from tamis.pii.restore import restore
    from tamis.recipe import (
        DownloadRecipe,
        EmbedRecipe,
        ExportRecipe,
        PublishRecipe,
        ReportRecipe,
        ScoreRecipe,
        SelectRecipe,
    )
    from tamis.report import write_report
    from tamis.rows import read_rows
    from tamis.selection import select

__version__ = "0.1.0"

_HOME = {
    "ChatRenderer": "tamis.chat",
    "DeidAuditRecipe": "tamis.pii.recipe",
    "DownloadRecipe": "tamis.recipe",
    "EmbedRecipe": "tamis.recipe",
    "ExportRecipe": "tamis.recipe",
    "GradientCapture": "tamis.gradients.capture",
    "GradientIndex": "tamis.gradients.store",
    "PublishRecipe": "tamis.recipe",
    "RedactRecipe": "tamis.pii.recipe",
    "ReportRecipe": "tamis.recipe",
    "RestoreRecipe": "tamis.pii.recipe",
    "ScoreRecipe": "tamis.recipe",
    "SelectRecipe": "tamis.recipe",
    "UsageError": "tamis.errors",
    "WorkError": "tamis.errors",
    "auroc": "tamis.metrics.ranking",
    "certify": "tamis.pii.certify",
    "deid_audit": "tamis.pii.audit",
    "download": "tamis.hub.download",
    "embed": "tamis.gradients.embed",
    "estimate": "tamis.gradients.embed",
    "export": "tamis.dataset_folder",
    "publish": "tamis.hub.publish",
    "read_rows": "tamis.rows",
    "read_sessions": "tamis.pii.reading",
    "redact": "tamis.pii.redact",
    "restore": "tamis.pii.restore",
    "score": "tamis.influence.scores",
    "select": "tamis.selection",
    "write_report": "tamis.report",
}
__all__ = sorted(_HOME)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'tamis' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
