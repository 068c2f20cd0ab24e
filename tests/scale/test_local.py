"""The parallel map: order, laziness, errors."""

import threading
import time

import pytest

from endoxa.errors import TextError
from endoxa.scale.local import mapped


def test_results_come_in_the_order_of_the_items() -> None:
    def slow_first(item: int) -> int:
        time.sleep(0.02 if item == 0 else 0)
        return item * item

    assert list(mapped(slow_first, range(20), workers=3)) == [item * item for item in range(20)]
    assert list(mapped(slow_first, [])) == []


def test_only_a_few_items_are_taken_in_advance() -> None:
    taken = []

    def items():
        for item in range(100):
            taken.append(item)
            yield item

    results = mapped(lambda item: item, items(), workers=2)
    assert next(results) == 0
    assert len(taken) <= 6
    results.close()


def test_an_error_is_raised_in_its_place_and_ends_the_work() -> None:
    seen = []

    def breaks(item: int) -> int:
        seen.append(item)
        if item == 3:
            raise ValueError("three")
        return item

    results = mapped(breaks, range(1000), workers=2)
    with pytest.raises(ValueError, match="three"):
        list(results)
    assert len(seen) < 20
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("endoxa_")]


def test_workers_are_at_least_one() -> None:
    with pytest.raises(TextError, match="at least 1"):
        list(mapped(str, [1], workers=0))
