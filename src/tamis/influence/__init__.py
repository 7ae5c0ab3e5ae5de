"""Scores of a pool against a target set, and what they are measured against."""
