"""What a study may be, and what is said of one that may not."""

from dataclasses import fields

import pytest

from endoxa.errors import TextError
from endoxa.studies.design import LEAST, SCREENS, TYPES, Settings

PLAIN = {"name": "pets", "screen": "one-result"}


@pytest.mark.parametrize("screen", SCREENS.values(), ids=lambda screen: screen.name)
def test_every_screen_is_whole(screen):
    lo, hi = screen.scale
    assert lo < hi and screen.scale_name == f"{lo:g}-{hi:g}"
    assert lo < screen.middle < hi
    assert screen.per_task >= 1 and screen.about
    assert bool(screen.grades) == (screen.kind == "rate")
    values, keys = [grade.value for grade in screen.grades], [grade.key for grade in screen.grades]
    assert values == sorted(set(values))
    assert len(set(keys)) == len(keys) and all(len(key) == 1 for key in keys)
    assert all(grade.label for grade in screen.grades)
    made = Settings(name="x", screen=screen.name)
    assert made.shape is screen
    assert made.items_per_task == screen.per_task
    assert made.relevant_above == screen.middle


def test_the_screens_of_the_source():
    assert SCREENS["four-results"].scale == (1, 5) and SCREENS["four-results"].per_task == 4
    assert SCREENS["one-result"].scale == (1, 9)
    assert SCREENS["yes-no"].scale == (0, 1)
    assert [grade.label for grade in SCREENS["five-levels"].grades][::4] == ["highly irrelevant", "highly relevant"]
    assert not SCREENS["file-it"].asks_query


def test_of_reads_what_a_file_says():
    made = Settings.of({**PLAIN, "gamma": 5, "overlap": 2, "comments": True, "threshold": 6.5, "per_task": 3})
    assert (made.gamma, made.overlap, made.comments, made.relevant_above, made.items_per_task) == (5, 2, True, 6.5, 3)
    assert made.heading == "Pets" and Settings.of({**PLAIN, "name": "my_faq-2"}).heading == "My faq 2"
    assert made.asked == made.shape.asks and Settings.of({**PLAIN, "question": " Is it?\n"}).asked == "Is it?"
    assert Settings.of({**PLAIN, "title": "Pets"}).heading == "Pets"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"screen": "one-result"}, "needs a name"),
        ({"name": "x"}, "needs a screen: four-results"),
        ({**PLAIN, "screen": "one-resutl"}, "no screen is called 'one-resutl'; did you mean one-result"),
        ({**PLAIN, "screen": "wheel"}, r"no screen is called 'wheel' \(screens: four-results"),
        ({**PLAIN, "overlaps": 2}, "no setting 'overlaps'; did you mean overlap"),
        ({**PLAIN, "choose": "pools"}, "choose is one of proposal, pool, pairs.*did you mean pool"),
        ({**PLAIN, "task": "both"}, "task is one of search, classification"),
        ({**PLAIN, "overlap": 1.5}, "overlap is a whole number, not 1.5"),
        ({**PLAIN, "overlap": True}, "overlap is a whole number, not True"),
        ({**PLAIN, "gamma": "steep"}, "gamma is a number, not 'steep'"),
        ({**PLAIN, "comments": "yes"}, "comments is true or false"),
        ({**PLAIN, "title": 5}, "title is a text"),
        ({**PLAIN, "common": None}, "common is a whole number"),
        ({**PLAIN, "floor": 1.1}, "floor is a share"),
        ({**PLAIN, "floor": float("nan")}, "floor is a share"),
        ({**PLAIN, "gamma": -1}, "gamma is at least 0"),
        ({**PLAIN, "gamma": float("nan")}, "gamma is at least 0"),
        ({**PLAIN, "per_task": 25}, "at most 24"),
        ({**PLAIN, "name": ""}, "name is up to 60"),
        ({**PLAIN, "name": "x" * 61}, "name is up to 60"),
        ({**PLAIN, "name": "a/b"}, "name is up to 60"),
        ({**PLAIN, "name": "a b"}, "name is up to 60"),
        ({**PLAIN, "name": "../up"}, "name is up to 60"),
        ({**PLAIN, "name": ".."}, "begins with a letter"),
        ({**PLAIN, "name": "-x"}, "begins with a letter"),
    ],
)
def test_what_is_no_study(given, message):
    with pytest.raises(TextError, match=message):
        Settings.of(given)


@pytest.mark.parametrize(("name", "least"), LEAST.items())
def test_least_values_hold(name, least):
    assert getattr(Settings.of({**PLAIN, name: least}), name) == least
    with pytest.raises(TextError, match=f"{name} is at least {least:g}"):
        Settings.of({**PLAIN, name: least - 1})


def test_every_field_has_a_type():
    assert set(TYPES) == {str(field.type).partition(" | ")[0] for field in fields(Settings)}


@pytest.mark.parametrize("name", ["pets", "Pets-2.b_c", "1", "тест", "x" * 60])
def test_names_that_are_fine(name):
    assert Settings.of({**PLAIN, "name": name}).name == name
