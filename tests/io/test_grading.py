"""Gradings kept line by line: resumed, cached by content, torn lines redone, failures counted."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from endoxa.errors import EndoxaError, FileError
from endoxa.io.chat import ChatError, RejectedError
from endoxa.io.commands import CommandError
from endoxa.io.graders import Reply, Shown
from endoxa.io.grading import DOWN, HOPELESS, Judged, grade_pairs

QUERIES = {f"q{number}": Shown(f"query {number}") for number in range(4)}
ITEMS = {f"d{number}": Shown(f"item {number}") for number in range(5)}
PAIRS = [(query, item) for query in QUERIES for item in ITEMS]


class Fake:
    """A judge that grades by the numbers in the texts, and counts how often each pair was asked."""

    def __init__(self, fail: Callable[[int], EndoxaError | None] = lambda _n: None, **settings: str) -> None:
        self.settings = {"model": "m", "prompt": "p", "scale": "0-3", "parameters": "seed=1", **settings}
        self.asked, self.fail, self.lock = Counter[tuple[str, str, int]](), fail, threading.Lock()

    def grade(self, query: Shown, item: Shown, repeat: int) -> Reply:
        assert query.text and item.text
        with self.lock:
            self.asked[query.text, item.text, repeat] += 1
            if (error := self.fail(self.asked.total())) is not None:
                raise error
        number = int(query.text[-1]) + int(item.text[-1])
        return Reply(f"it is {number} é", float(number) if number <= 3 else None, 10, 2)

    def length(self, query: Shown, item: Shown) -> int:
        return 400

    @property
    def total(self) -> int:
        return self.asked.total()


def run(
    path: Path, fake: Fake, pairs: Any = PAIRS, *, name: str = "fake", items: Any = ITEMS, **settings: Any
) -> Judged:
    return grade_pairs(pairs, QUERIES, items, fake, name, path, stopped=threading.Event(), **{"workers": 3, **settings})


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "fake.jsonl"


def test_every_pair_is_graded_once_and_every_reply_kept(path: Path) -> None:
    fake = Fake()
    found = run(path, fake, price=(1000.0, 10_000.0))
    assert fake.total == len(fake.asked) == 20
    kept = rows(path)
    assert len(kept) == 20 and {row["reply"] for row in kept} >= {"it is 0 é", "it is 7 é"}
    assert list(kept[0])[:8] == ["judge", "query", "item", "repeat", "grade", "scale", "reply", "model"]
    without = [(row["query"], row["item"]) for row in kept if row["grade"] is None]
    assert len(without) == found.without == 10 and found.gradings.frame.height == 10  # sums of 4 to 7; never a 0
    assert found.gradings.skipped == {"empty": 10}
    assert found.replies.select("query", "item").rows() == PAIRS  # in the order of the pairs, whoever was first
    assert found.gradings.frame["least"].to_list() == [0] * 10 and set(found.gradings.frame["most"]) == {3}
    assert found.tokens == (200, 40) and found.cost == pytest.approx(0.6)
    assert (found.cached, found.failed, found.left) == (0, 0, 0)


def test_what_is_known_is_not_asked_again(path: Path) -> None:
    first = run(path, Fake(), PAIRS[:12])
    before, fake = path.read_bytes(), Fake()
    second = run(path, fake)
    assert fake.total == 8 and second.cached == 12 and path.read_bytes().startswith(before)
    third = run(path, Fake(lambda _n: AssertionError()))  # type: ignore[arg-type,return-value]
    assert third.cached == 20 and third.replies.equals(second.replies)
    assert second.replies.head(12).equals(first.replies)
    assert third.gradings.frame.equals(second.gradings.frame) and third.tokens == (200, 40)


def test_repeats_are_gradings_of_their_own(path: Path) -> None:
    run(path, Fake())
    fake = Fake()
    found = run(path, fake, repeats=3)
    assert fake.total == 40 and {repeat for _, _, repeat in fake.asked} == {2, 3}
    assert (
        found.replies["repeat"].to_list() == [1, 2, 3] * 20
        and found.gradings.frame["repeat"].to_list() == [1, 2, 3] * 10
    )


@pytest.mark.parametrize("cut", [1, 5, 40, 150])
def test_a_torn_last_line_is_dropped_and_asked_again(path: Path, cut: int) -> None:
    run(path, Fake(), PAIRS[:5], workers=1)
    whole = path.read_bytes()
    length = len(whole.splitlines()[-1]) + 1
    path.write_bytes(whole[: len(whole) - length + cut] if cut < length else whole)
    fake = Fake()
    assert run(path, fake, PAIRS[:5]).replies.height == 5
    assert fake.total == 1 and len(rows(path)) == 5


def test_two_calls_do_not_write_to_one_file(path: Path) -> None:
    held, begun = threading.Event(), threading.Event()

    class Slow(Fake):
        def grade(self, query: Shown, item: Shown, repeat: int) -> Reply:
            begun.set()
            assert held.wait(10)
            return super().grade(query, item, repeat)

    first = threading.Thread(target=run, args=(path, Slow()))
    first.start()
    assert begun.wait(10)
    fake = Fake()
    with pytest.raises(FileError, match="another call is adding gradings to it; wait until it has ended"):
        run(path, fake)
    held.set()
    first.join()
    assert fake.total == 0 and run(path, fake).cached == 20


def test_a_last_line_without_a_line_break_is_a_grading(path: Path) -> None:
    run(path, Fake(), PAIRS[:5])
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    fake = Fake()
    run(path, fake, PAIRS[:6])
    assert fake.total == 1 and len(rows(path)) == 6


@pytest.mark.parametrize("content", ["notes", "notes\n", "{}\n", '{"judge": "x"}\n', "[1]\n", '{"query": 1', "\x00"])
def test_a_file_of_something_else_is_refused_and_stays(path: Path, content: str) -> None:
    path.write_text(content)
    fake = Fake()
    with pytest.raises(FileError, match=r"fake\.jsonl:1: the line is not a grading that endoxa judge wrote"):
        run(path, fake)
    assert path.read_text() == content and fake.total == 0


def test_a_damaged_line_in_the_middle_is_named(path: Path) -> None:
    run(path, Fake())
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    lines[3] = lines[3][:20] + "\n"
    path.write_text("".join(lines), encoding="utf-8")
    with pytest.raises(FileError, match=r"jsonl:4: the line is not a grading"):
        run(path, Fake())


def test_a_text_that_changed_is_not_mixed_in(path: Path) -> None:
    run(path, Fake())
    fake = Fake()
    with pytest.raises(
        FileError, match=r"the text of query 'q\d' or of item 'd2' has changed since it was graded; remove"
    ):
        run(path, fake, items={**ITEMS, "d2": Shown("another item 2")})
    assert fake.total == 0


@pytest.mark.parametrize("name", ["model", "prompt", "scale", "parameters"])
def test_other_settings_are_not_mixed_in(path: Path, name: str) -> None:
    run(path, Fake())
    fake = Fake(**{name: "other"})
    with pytest.raises(
        FileError, match=f"fake graded here with {name} '.*', not 'other'; give another file by --to, and"
    ):
        run(path, fake)
    run(path, fake, name="another") if name != "scale" else None  # another judge may share the file
    assert fake.total == (0 if name == "scale" else 20)


def test_failures_are_counted_and_tried_by_the_next_call(path: Path) -> None:
    found = run(path, Fake(lambda n: ChatError("it broke") if n % 4 == 0 else None), workers=1)
    assert (found.failed, found.why, found.replies.height) == (5, "it broke", 15)
    fake = Fake()
    found = run(path, fake)
    assert fake.total == 5 and (found.failed, found.why, found.replies.height) == (0, "", 20)


def test_after_several_failures_in_a_row_nothing_further_is_asked(path: Path) -> None:
    fake = Fake(lambda n: ChatError(f"down {n}") if n > 6 else None)
    found = run(path, fake, workers=1)
    assert fake.total == 6 + DOWN and (found.failed, found.replies.height) == (14, 6)
    assert found.why == f"down {6 + DOWN}" and len(rows(path)) == 6


@pytest.mark.parametrize("kind", [RejectedError, CommandError])
def test_pairs_that_fail_by_themselves_do_not_stop_the_others(path: Path, kind: type[EndoxaError]) -> None:
    found = run(path, Fake(lambda n: kind("too long") if n <= 15 else None), workers=1)
    assert (found.failed, found.replies.height) == (15, 5)
    many = [(f"q{number % 4}", f"d{number % 5}") for number in range(20)] * 3
    fake = Fake(lambda _n: kind("too long"))
    assert run(path, fake, many, name="other", workers=1).failed == 60 and fake.total == HOPELESS


def test_a_final_failure_ends_all_at_once(path: Path) -> None:
    fake = Fake(lambda n: ChatError("no key", final=True) if n == 7 else None)
    found = run(path, fake, workers=1)
    assert fake.total == 7 and (found.failed, found.why) == (14, "no key")


def test_what_is_under_way_at_a_stop_is_kept(path: Path) -> None:
    """A grading that was paid for is not thrown away because another one failed."""
    meet = threading.Barrier(2, timeout=10)

    class Slow(Fake):
        def grade(self, query: Shown, item: Shown, repeat: int) -> Reply:
            meet.wait()
            if item.text == "item 0":
                raise ChatError("no key", final=True)
            threading.Event().wait(0.3)
            return super().grade(query, item, repeat)

    found = run(path, Slow(), PAIRS[:2], workers=2)
    assert (found.failed, found.why, found.replies.height) == (1, "no key", 1)


def test_only_some_are_asked_and_the_rest_is_estimated(path: Path) -> None:
    fake = Fake()
    found = run(path, fake, most=0)
    assert fake.total == 0 and (found.left, found.ahead, found.replies.height) == (20, 2000, 0)
    assert found.gradings.frame.height == 0 and found.tokens is None
    for left in (15, 10, 5, 0, 0):
        found = run(path, fake, most=5)
        assert found.left == left and fake.total == 20 - left


def test_tokens_that_are_not_counted_are_unknown(path: Path) -> None:
    class Uncounted(Fake):
        def grade(self, query: Shown, item: Shown, repeat: int) -> Reply:
            return Reply("1", 1.0)

    found = run(path, Uncounted(), price=(1.0, 1.0))
    assert found.tokens is None and found.cost is None


def test_probabilities_are_kept(path: Path) -> None:
    class Sure(Fake):
        def grade(self, query: Shown, item: Shown, repeat: int) -> Reply:
            return Reply("1", 0.9, 1, 1, [0.1, 0.9, 0, 0])

    run(path, Sure())
    assert run(path, Sure()).replies["probabilities"].to_list() == [[0.1, 0.9, 0, 0]] * 20


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    fake = Fake()
    with pytest.raises(FileError, match="cannot be written: No such file or directory"):
        run(tmp_path / "none" / "fake.jsonl", fake)
    with pytest.raises(FileError, match="cannot be read: Is a directory"):
        run(tmp_path, fake)
    assert fake.total == 0


def test_progress_counts_what_is_asked(path: Path) -> None:
    run(path, Fake(), PAIRS[:15])
    seen: list[tuple[str, int, int]] = []
    run(path, Fake(), progress=lambda *said: seen.append(said))
    assert seen == [("grading", done, 5) for done in range(1, 6)]
