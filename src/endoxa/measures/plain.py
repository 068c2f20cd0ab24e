"""The usual measures by the native core, from the file to the values: no NumPy, so that a small evaluation is instant.

Under any other policy, and with any other measure, `evaluate` scores what the native core looked up. Both give the same
numbers to the last bit: native/kernels.cpp adds in NumPy's order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import lru_cache

from endoxa.frozen import dataclass
from endoxa.later import np
from endoxa.measures.gather import Block
from endoxa.measures.grammar import Measure
from endoxa.measures.judgments import Judgments
from endoxa.policies import Policy
from endoxa.tables import Scored, Scores

KINDS = {"AP": 0, "nDCG": 1, "RR": 2, "P": 3, "R": 4, "Success": 5}  # as in native/kernels.hpp
COUNTS = 4  # numbers of the coverage of a system: unknown, items, judged, tied
DOUBLE = 8  # bytes
APART = {"ties", "cut", "seed", "shuffles"}  # choices of a policy that the reading follows, or that play no part


def asked(measures: Sequence[Measure], policy: Policy) -> list[tuple[int, float, int]] | None:
    """The measures as the native core takes them; None where it cannot give what is asked for."""
    return _asked(tuple(measures), policy)


@lru_cache(1000, typed=True)
def _asked(measures: tuple[Measure, ...], policy: Policy) -> list[tuple[int, float, int]] | None:
    usual = all(getattr(policy, one.name) == one.default for one in fields(policy) if one.name not in APART)
    if not usual or policy.ties not in {"trec", "input"}:
        return None
    if not measures or len({str(m) for m in measures}) < len(measures):
        return None
    found = []
    for m in measures:
        given = dict(m.settings)
        if m.name not in KINDS or not given.keys() <= {"k", "rel"}:
            return None
        found.append((KINDS[m.name], float(1 if m.rel is None else m.rel), int(given.get("k") or 0)))
    return found


@dataclass(frozen=True)
class Plain:
    """Values of the lists of some systems, for every judged query; the buffers are those of native/kernels.hpp."""

    systems: list[str]
    value: bytes
    present: bytes
    coverage: bytes

    def renamed(self, names: Mapping[str, str]) -> Plain:
        """The same under other names of the systems."""
        return replace(self, systems=[names[system] for system in self.systems])

    @property
    def is_shared(self) -> bool:
        """Whether every system has a list of a judged query."""
        queries = len(self.present) // len(self.systems)
        return all(1 in self.present[at * queries : (at + 1) * queries] for at in range(len(self.systems)))

    def block(self) -> Block:
        """The lists that are there, as a block, to be joined with others."""
        present = np.frombuffer(self.present, dtype=bool).reshape(len(self.systems), -1)
        owner, places = np.nonzero(present)
        value = np.frombuffer(self.value).reshape(-1, present.size)[:, present.ravel()]
        counts = np.frombuffer(self.coverage, dtype=np.int64).reshape(-1, COUNTS).tolist()
        coverage = {system: tuple(row) for system, row in zip(self.systems, counts, strict=True)}
        return Block([self.systems[at] for at in owner.tolist()], places, value, None, [], coverage)


def joined(parts: Sequence[Plain], judgments: Judgments, measures: Sequence[Measure], policy: Policy) -> Scores:
    """The scores of all systems; a list that a run lacks counts as empty."""

    def row(part: Plain, number: int) -> bytes:
        size = DOUBLE * len(part.present)
        return part.value[number * size : (number + 1) * size]

    scored = Scored.of_buffers(
        [system for part in parts for system in part.systems], judgments.queries, [str(m) for m in measures],
        b"".join(row(part, number) for number in range(len(measures)) for part in parts),
        b"".join(part.present for part in parts), b"".join(part.coverage for part in parts),
    )  # fmt: skip
    return Scores.of_arrays(scored, policy, None, None)
