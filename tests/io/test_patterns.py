"""No pattern of a reader may take more than linear time, whatever a file holds."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import time
from collections.abc import Callable

import pytest

from endoxa import io

MODULES = [importlib.import_module(f"endoxa.io.{found.name}") for found in pkgutil.iter_modules(io.__path__)]
BOUNDED = {"NUMBERED", "NAME"}  # used on messages of bounded length only
ATOMS = [
    *" \t\r\n#aA0.-_!'\"\\:>", "e1", "0x", "inf", "hash", "\n ", "a-", "' ", "<rdf:RDF ", "</rdf:RDF ", "Size: ",
    "files/0", "row 1 of the ",
]  # fmt: skip
ENDS = ["", "!", "x", " x\n", "\0"]
SMALL, FACTOR, LIMIT = 2000, 4, 8.0  # a quadratic pattern takes 16 times as long for 4 times the text


def patterns() -> list[tuple[str, Callable[[str], object]]]:
    """Every pattern of the readers, used as its module uses it: searched, or matched at the start."""
    found = []
    for module in MODULES:
        source = inspect.getsource(module)
        for name, pattern in vars(module).items():
            if isinstance(pattern, re.Pattern) and name not in BOUNDED:
                searched = re.search(rf"\b{name}\.(search|finditer|findall|sub|split)\(", source)
                found.append((f"{module.__name__}.{name}", _use(pattern, searched is not None)))
    return found


def _use(pattern: re.Pattern, searched: bool) -> Callable[[str], object]:
    use = pattern.search if searched else pattern.fullmatch
    return use if isinstance(pattern.pattern, str) else lambda text: use(text.encode())


def _cost(use: Callable[[str], object], text: str) -> float:
    """Seconds of this process; the least of several, because others use the processor too."""
    costs = []
    for _ in range(5):
        begin = time.process_time()
        for _ in range(10):
            use(text)
        costs.append(time.process_time() - begin)
    return min(costs)


def _grows_linearly(use: Callable[[str], object], atom: str, end: str, length: int) -> bool:
    small, large = atom * (length // len(atom)) + end, atom * (FACTOR * length // len(atom)) + end
    # below two milliseconds, ten runs are fast enough whatever they did
    return _cost(use, large) < 2e-3 or _cost(use, large) < LIMIT * _cost(use, small)


@pytest.mark.parametrize(("name", "use"), patterns(), ids=lambda value: value if isinstance(value, str) else "")
def test_patterns_are_linear(name: str, use: Callable[[str], object]) -> None:
    for atom in ATOMS:
        for end in ENDS:
            # thrice, because a busy machine disturbs even the time of a process
            assert any(_grows_linearly(use, atom, end, SMALL) for _ in range(3)), (name, atom, end)


def test_every_pattern_of_a_reader_has_a_name() -> None:
    for module in MODULES:
        unnamed = re.findall(r"\bre\.(?:match|search|fullmatch|findall|finditer|sub)\(", inspect.getsource(module))
        assert not unnamed, f"{module.__name__}: name the pattern, so that the test above finds it"


def test_the_test_notices_a_quadratic_pattern() -> None:
    assert not _grows_linearly(re.compile(r"\W*(?:0x)?\W*").fullmatch, "!", "x", 300)
