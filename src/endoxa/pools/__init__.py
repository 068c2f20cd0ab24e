"""Pools: what was put before the judges, and what that does to the scores."""

from endoxa.pools.choosing import choose
from endoxa.pools.pooling import pool, states
from endoxa.pools.uniques import Uniques, leave_out_uniques
from endoxa.pools.unseen import chao, unseen

__all__ = ["Uniques", "chao", "choose", "leave_out_uniques", "pool", "states", "unseen"]
