"""Fusion: one ranked list out of those of several systems."""

from __future__ import annotations

from endoxa.fusion.combining import METHODS, NORMALISED, fuse
from endoxa.fusion.fitted_weights import Fitted, fit_weights
from endoxa.fusion.normalising import NORMS

__all__ = ["METHODS", "NORMALISED", "NORMS", "Fitted", "fit_weights", "fuse"]
