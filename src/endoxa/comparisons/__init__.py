"""Comparisons: which system is better, and how sure one may be."""

from endoxa.comparisons.intervals import summarise
from endoxa.comparisons.paired import compare

__all__ = ["compare", "summarise"]
