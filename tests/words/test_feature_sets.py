"""The sets of Table 6, and sets of one's own."""

from __future__ import annotations

import pytest

from endoxa.errors import EndoxaError, TextError
from endoxa.images.features import GROUPS
from endoxa.words.feature_sets import TABLE_6, feature_set


def test_the_table_has_eleven_sets_of_known_groups() -> None:
    assert len(TABLE_6) == len({one.name for one in TABLE_6}) == 11
    assert all(one.groups[0] == "base" and set(one.groups) <= set(GROUPS) for one in TABLE_6)
    best = max(TABLE_6, key=lambda one: one.printed[1])  # type: ignore[index]
    assert best.name == "base+rgs+context" and best.printed == (0.134, 0.094, 0.055)


def test_a_set_of_the_table_has_its_printed_numbers_in_any_order() -> None:
    assert feature_set("rgs, base").printed == (0.109, 0.092, 0.065)
    assert feature_set("base+rgs") == feature_set("base,rgs,rgs")
    assert feature_set("rgb").printed is None


def test_what_is_no_set_is_refused() -> None:
    with pytest.raises(EndoxaError, match="rgz"):
        feature_set("base,rgz")
    with pytest.raises(TextError, match="has no group"):
        feature_set(" , ")
