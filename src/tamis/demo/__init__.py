"""The embedded demo: 150 rows and 20 target rows, written for this project and harmless to read."""

from __future__ import annotations

from pathlib import Path

POOL = Path(__file__).with_name("pool.jsonl")
"""`id`, `source`, `language`, `messages`, and `planted`: true for the rude, reckless or rule-breaking answers."""

TARGET = Path(__file__).with_name("target.jsonl")
"""Answers of the same kind, about other things."""
