"""Comparisons: which system is better, and how sure one may be."""
