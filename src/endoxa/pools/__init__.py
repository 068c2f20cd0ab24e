"""Pools: what was put before the judges, and what that does to the scores."""

from endoxa.pools.pooling import pool, states
from endoxa.pools.uniques import Uniques, leave_out_uniques

__all__ = ["Uniques", "leave_out_uniques", "pool", "states"]
