"""What a run on personal data was asked to do: one dataclass a verb."""

from __future__ import annotations
