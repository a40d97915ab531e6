"""A notes server that AI assistants and people can trust with a folder of markdown files."""

from __future__ import annotations

__version__ = "0.1.0"
