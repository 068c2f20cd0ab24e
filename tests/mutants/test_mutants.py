"""The runner of mutants: which changes it makes, that a test notices one, and that the known equivalents exist."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

from mutants.hunt import equivalents, modules, own_tests, sample
from mutants.operators import mutants, mutated
from mutants.trial import ROOT, SOURCE

TOY = '''
"""Text with 1 number."""
from typing import cast
LIMIT: int = 2

def f(x: int, k: int = 3) -> int:
    if not x < k and x is not None:
        raise ValueError(f"{x + 1} is wrong")
    x += -k
    return g(x[:k], by=True)

class A:
    def m(self, y):
        z = cast("int", 4)
        return y[1:] if y else z
'''
CHANGES = """
:2 → 3
:2 → 1
f:3 → 4
f:3 → 2
f:not x < k and x is not None → not x < k or x is not None
f:not x < k → x < k
f:x < k → x <= k
f:x < k → x >= k
f:x is not None → x is None
f:x += -k → x -= -k
f:-k → k
f:return g(x[:k], by=True) → return x[:k]
f:return g(x[:k], by=True) → return g(x[:k])
f:x[:k] → x[:k + 1]
f:x[:k] → x[1:k]
f:True → False
A.m:y[1:] if y else z → z if y else y[1:]
A.m:1 → 2
A.m:1 → 0
"""
TRIED = """
import ast, os, sys
from functools import partial
from pathlib import Path
from mutants.operators import mutated
from mutants.trial import SOURCE, started, tested

module, test = "statistics/multiplicity.py", "tests/statistics/test_multiplicity.py"
endless = ast.parse("while True: pass")

def outcome(tree, seconds):
    pid = started(partial(tested, [test], None, module, tree), seconds, Path(sys.argv[1]))
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

print(outcome(ast.parse((SOURCE / module).read_text()), 60), outcome(mutated(SOURCE / module, 0), 60))
print(outcome(endless, 2) < 0)
"""


def test_the_changes_are_those_of_a_careless_hand(tmp_path: Path) -> None:
    source = tmp_path / "toy.py"
    source.write_text(TOY)
    found = mutants(source, "toy.py")
    assert sorted(f"{one.function}:{one.key}" for one in found) == sorted(CHANGES.split("\n")[1:-1])
    original = ast.unparse(ast.parse(TOY)).splitlines()
    for one in found:
        changed = ast.unparse(mutated(source, one.number)).splitlines()
        different = [(old, new) for old, new in zip(original, changed, strict=True) if old != new]
        assert len(different) == 1, one
        assert one.old in different[0][0] and one.new in different[0][1], one
    assert source.read_text() == TOY


def test_the_second_change_of_a_kind_is_told_apart(tmp_path: Path) -> None:
    source = tmp_path / "toy.py"
    source.write_text("def f(a):\n    return (a + 1) * (a + 1)\n")
    keys = [one.key for one in mutants(source, "toy.py") if one.new == "a - 1"]
    assert keys == ["a + 1 → a - 1", "a + 1 → a - 1 #2"]


def test_a_test_notices_a_mutant_passes_the_original_and_ends_an_endless_loop(tmp_path: Path) -> None:
    before = (SOURCE / "statistics" / "multiplicity.py").read_bytes()
    done = subprocess.run(
        [sys.executable, "-c", TRIED, str(tmp_path / "log")], capture_output=True, text=True, check=False, cwd=ROOT,
        env={"PYTHONPATH": "tests", "CI": "1", "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.stdout.split() == ["0", "1", "True"], done.stderr + (tmp_path / "log").read_text()
    assert (SOURCE / "statistics" / "multiplicity.py").read_bytes() == before


def test_a_sample_depends_on_its_seed_only() -> None:
    assert sample(20, 1) == sample(20, 1) != sample(20, 2)
    assert {one.module.partition("/")[0] for one in sample(300, 0)} == {
        "statistics", "comparisons", "pools", "beliefs", "measures"
    }  # fmt: skip


def test_every_module_has_tests_of_its_own_and_every_equivalent_exists() -> None:
    keys = set()
    for module in modules():
        found = mutants(SOURCE / module, module)
        assert not found or own_tests(module), module
        keys |= {(one.module, one.function, one.key) for one in found}
    assert sorted(set(equivalents()) - keys) == [], "the code has changed: remove these rows, or write them anew"
    assert all(len(reason) > 20 for reason in equivalents().values())
