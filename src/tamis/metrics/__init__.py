"""Metrics in plain numpy."""
