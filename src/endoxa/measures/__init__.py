"""Measures: a value per system, query and measure, from runs and judgments."""
