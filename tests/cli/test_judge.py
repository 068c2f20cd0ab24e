"""Stories with machine judges, through the command line and in Python: a server on this machine, kills, commands."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from chat_server import completion, pair_of, refusal, serving
from command_line import done, endoxa, fails
from page_samples import script
from PIL import Image

import endoxa as library
from endoxa.errors import CallError, EndoxaError, FileError, JoinError
from endoxa.io import chat

WORDS = ("apples", "bridges", "clouds", "dogs", "engines", "ferns", "glass", "hills", "ice", "jade")


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat, "WAITS", (0.01,) * 4)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """Ten queries, twenty items, 200 pairs."""
    pl.DataFrame({"query": WORDS, "text": [f"all about {word}" for word in WORDS]}).write_csv(tmp_path / "q.csv")
    items = [(f"d{number:02d}", f"page {number} on {WORDS[number % 10]}, mostly") for number in range(20)]
    pl.DataFrame(items, schema=["item", "text"], orient="row").write_csv(tmp_path / "d.csv")
    pairs = [(query, item) for query in WORDS for item, _ in items]
    pl.DataFrame(pairs, schema=["query", "item"], orient="row").write_csv(tmp_path / "pairs.csv")
    return tmp_path


def grade(body: dict[str, Any]) -> int:
    """What the model of the tests says of a pair: 3 if the item names the word of the query, else something."""
    query, item = pair_of(body)
    word = query.removeprefix("all about ")
    return 3 if word in item else (len(word) + int(item.split()[1])) % 3


def words(here: Path, url: str, *more: object) -> tuple[object, ...]:
    files = ("pairs.csv", "--queries", here / "q.csv", "--items", here / "d.csv")
    return ("judge", here / files[0], *files[1:], "--url", url, "--model", "small", *more)


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


# ---- 200 pairs ----------------------------------------------------------------------------------------


def test_200_pairs_with_failures_killed_twice_and_resumed(here: Path) -> None:
    """Every pair is graded once; what was sent and answered before a kill is not asked again, and costs add up."""
    chance = random.Random(7)
    dice = [chance.random() for _ in range(2000)]
    odd = [refusal(500), refusal(429, Retry_After="0.05"), (200, {}, b'{"choices": [{"mess'), refusal(503)]
    graded = Counter[tuple[str, str]]()

    def reply(body: dict[str, Any], number: int) -> Any:
        if dice[number] < 0.1:
            return odd[number % len(odd)]
        graded[pair_of(body)] += 1
        said = (
            "I would rather not say." if pair_of(body)[1].startswith("page 7 ") else json.dumps({"grade": grade(body)})
        )
        return completion(said, usage={"prompt_tokens": 100 + number, "completion_tokens": 5})

    to = here / "pairs.small.jsonl"
    with serving(reply) as server:
        server.pause = 0.02
        call = [sys.executable, "-m", "endoxa", *map(str, words(here, server.url, "--price", "2,10"))]
        for stop in (40, 110):
            process = subprocess.Popen(
                call, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            until = time.monotonic() + 60
            while sum(graded.values()) < stop and time.monotonic() < until:
                time.sleep(0.01)
            os.killpg(process.pid, signal.SIGKILL)
            assert process.wait() == -signal.SIGKILL
        kept = to.read_bytes().split(b"\n")[:-1]
        assert 30 <= len(kept) < 140
        to.write_bytes(to.read_bytes() + b'{"judge": "small", "que')  # the kill came in the middle of a line
        ran = subprocess.run(call, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        asked = len(server.bodies)
        again = done(*words(here, server.url, "--price", "2,10"))
        assert len(server.bodies) == asked  # the cache is used
    found = rows(to)
    assert len(found) == len({(row["query"], row["item"], row["repeat"]) for row in found}) == 200
    assert to.read_bytes().split(b"\n")[: len(kept)] == kept
    # A grading may be answered, and lost with the process that was killed: at most one for each worker and kill.
    assert len(graded) == 200 and 200 <= sum(graded.values()) <= 200 + 2 * 4
    tokens = sum(row["tokens_in"] for row in found), sum(row["tokens_out"] for row in found)
    assert tokens[1] == 1000 and len({row["tokens_in"] for row in found}) == 200
    counts = Counter(row["grade"] for row in found)
    assert counts[None] == 10 and sum(counts.values()) == 200 and counts[3.0] == 19  # `glass` and page 7 share a grade
    listed = ", ".join(f"{number}: {counts[number]}" for number in range(4))
    answer = (
        f"The machine judge small graded 190 pairs: {listed}; 10 replies held no grade; {sum(tokens):,} tokens, cost "
        f"{(2 * tokens[0] + 10 * tokens[1]) / 1e6:.4g}."
    )
    assert ran.stdout.splitlines()[0] == again.splitlines()[0] == answer
    assert again.splitlines()[1:] == [
        f"200 replies in {to}, 200 of them from an earlier call.", f"Next: endoxa eval RUNS --judge {to}",
    ]  # fmt: skip
    known = {row["item"]: row for row in pl.read_csv(here / "d.csv").to_dicts()}
    for row in found:
        word, text = row["query"], known[row["item"]]["text"]
        expected = 3 if word in text else (len(word) + int(text.split()[1])) % 3
        assert row["grade"] == (None if text.startswith("page 7 ") else expected)
        assert row["scale"] == "0-3" and row["model"] == "small" and len(row["prompt"]) == 16
        assert row["parameters"] == "max_tokens=1024 method=structured seed=1 temperature=0.0"


def test_a_server_that_goes_down_loses_nothing(here: Path) -> None:
    def reply(body: dict[str, Any], number: int) -> Any:
        return completion(f'{{"grade": {grade(body)}}}') if number < 50 else refusal(502, "bad gateway")

    to = here / "pairs.small.jsonl"
    with serving(reply) as server:
        ran = endoxa(*words(here, server.url))
        assert ran.exit_code == 1 and ran.stdout.startswith("The machine judge small graded 50 pairs: ")
        assert ran.stderr == (
            "endoxa: 150 gradings failed: the server answered with status 502: bad gateway; what was graded is kept in "
            f"{to}: the same command goes on there\n"
        )
        assert len(rows(to)) == 50 and len(server.bodies) < 50 + 40
        url = server.url
    ran = endoxa(*words(here, url))
    assert ran.exit_code == 1 and "150 gradings failed: the server cannot be reached: Connection refused" in ran.stderr
    (here / "pairs.small.jsonl").unlink()
    assert fails(*words(here, url)).startswith("endoxa: no pair was graded: the server cannot be reached: Connection")
    with serving(lambda body, _n: completion(str(grade(body)))) as server:
        assert "graded 200 pairs" in done(*words(here, server.url))


def test_time_outs_and_single_failures(here: Path) -> None:
    hold = threading.Event()

    def reply(body: dict[str, Any], _number: int) -> Any:
        query, item = pair_of(body)
        if "page 3 " in item and "dogs" in query:
            hold.wait(20)
        return refusal(400, "too long") if "page 5 " in item else completion(str(grade(body)))

    with serving(reply) as server:
        ran = endoxa(*words(here, server.url, "--seconds", 0.3, "--workers", 8))
        hold.set()
        assert ran.exit_code == 1 and "11 gradings failed" in ran.stderr and "graded 189 pairs" in ran.stdout


# ---- what is refused ----------------------------------------------------------------------------------


def test_no_key(here: Path) -> None:
    with serving(lambda _body, _n: refusal(401, "no key given")) as server:
        assert fails(*words(here, server.url)) == (
            "endoxa: no pair was graded: the server wants a key (status 401: no key given); put it into the "
            "environment variable OPENAI_API_KEY, and name it: --key-from OPENAI_API_KEY\n"
        )
        assert len(server.bodies) <= 4  # those under way
        ran = endoxa(*words(here, server.url, "--key-from", "MY_KEY"))
        assert ran.exit_code == 2 and "the environment variable MY_KEY holds no key; export MY_KEY=…" in ran.stderr


def test_the_key_is_written_nowhere(here: Path) -> None:
    with serving(lambda body, n: refusal(500, "sk-hidden") if n < 9 else completion(str(grade(body)))) as server:
        ran = endoxa(*words(here, server.url, "--key-from", "MY_KEY", "-v", "--workers", 1), MY_KEY="sk-hidden")
        assert server.heads[0]["Authorization"] == "Bearer sk-hidden"
    assert "sk-hidden" not in ran.output
    for path in here.rglob("*"):
        assert b"sk-hidden" not in path.read_bytes()


def test_what_cannot_be_graded_is_refused_before_anything_is_asked(here: Path) -> None:
    with serving(lambda body, _n: completion(str(grade(body)))) as server:
        url = server.url
        (here / "prompt.txt").write_text("Is {item} good?")
        assert "prompt.txt: the prompt lacks {query}; put it where the text is to stand" in fails(
            *words(here, url, "--prompt", here / "prompt.txt")
        )
        assert "cannot be read" in fails(*words(here, url, "--prompt", here / "prom.txt"))
        pairs = "query,item\ndogs,d01\ncats,d02\ndogs,d99\n"
        (here / "pairs.csv").write_text(pairs)
        assert f"query 'cats' of {here / 'pairs.csv'} is not in {here / 'q.csv'}; " in fails(*words(here, url))
        (here / "pairs.csv").write_text(pairs.replace("cats", "dogs"))
        assert f"item 'd99' of {here / 'pairs.csv'} is not in {here / 'd.csv'}; give its text, or" in fails(
            *words(here, url)
        )
        (here / "pairs.csv").write_text("query,item\n")
        assert "pairs.csv" in fails(*words(here, url))
        (here / "pairs.csv").write_text("query,item\ndogs,\n")
        assert "a pair lacks its query or item" in fails(*words(here, url))
        (here / "pairs.csv").write_text("query,doc\ndogs,d01\n")
        assert "a pair lacks" not in fails(*words(here, url, "--to", here / "x.csv"))
        assert server.bodies == []


@pytest.mark.parametrize(("more", "why"), [
    (("--with", "mytool {query} {item}"), "--url is for a model on a server, and --with names a command; give one"),
    (("--scale", "1-5"), "the usual prompt has the grades 0-3; give one of your own by --prompt"),
    (("--scale", "high"), "--scale 'high': expected the least and the greatest grade, like 0-3"),
    (("--to", "x.csv"), "the gradings are JSON lines: --to names a file .jsonl, not 'x.csv'"),
    (("--price", "cheap"), "--price 'cheap': expected the prices of a million tokens in and out, like 0.15,0.6"),
    (("--price", "1,-2"), "--price '1,-2': expected the prices"),
    (("--set", "top_p"), "--set 'top_p': expected NAME=VALUE, like top_p=0.9"),
    (("--repeats", "0"), "--repeats"), (("--seconds", "0"), "--seconds"),
])  # fmt: skip
def test_calls_that_make_no_sense(here: Path, more: tuple[str, ...], why: str) -> None:
    ran = endoxa(*words(here, "http://localhost:9/v1", *more))
    assert ran.exit_code == 2 and why in ran.stderr, ran.stderr
    assert "name what grades: --url and --model, or --with" in fails(*words(here, "x")[:6])


SERVER = (
    ("--temperature", 1), ("--seed", 2), ("--no-structured",), ("--price", "1,1"), ("--probabilities",),
    ("--set", "a=1"), ("--prompt", "x"), ("--key-from", "X"),
)  # fmt: skip


@pytest.mark.parametrize("more", SERVER)
def test_options_of_a_server_are_refused_for_a_command(here: Path, more: tuple[object, ...]) -> None:
    files = ("judge", here / "pairs.csv", "--queries", here / "q.csv", "--items", here / "d.csv")
    ran = endoxa(*files, "--with", "echo {query} {item}", *more)
    assert ran.exit_code == 2 and f"{more[0]} is for a model on a server" in ran.stderr


def test_a_judge_that_never_gives_a_grade(here: Path) -> None:
    with serving(lambda _body, _n: completion("As a model,\nI cannot.")) as server:
        assert fails(*words(here, server.url)) == (
            f"endoxa: {here / 'pairs.small.jsonl'}: none of the 200 replies holds a grade of 0-3; the first is 'As a "
            "model, I cannot.'; these are kept: change prompt, model or command, and give another --to\n"
        )
    assert len(rows(here / "pairs.small.jsonl")) == 200


# ---- commands, pictures, Python -----------------------------------------------------------------------


def test_a_command_grades(here: Path) -> None:
    own = script(
        here, "own", f'echo x >> "{here}/calls"; case "$2" in *" 4 on"*) exit 3;; *dogs*) echo 1;; *) echo 0;; esac'
    )
    call = ("judge", here / "pairs.csv", "--queries", here / "q.csv", "--items", here / "d.csv", "--with")
    ran = endoxa(*call, f"{own} {{query}} {{item}}", "--scale", "0-1")
    assert ran.exit_code == 1 and "10 gradings failed: own ended with status 3" in ran.stderr
    assert ran.stdout.startswith("The machine judge own graded 190 pairs: 0: 170, 1: 20.\n")
    assert len((here / "calls").read_text()) == 400
    endoxa(*call, f"{own} {{query}} {{item}}", "--scale", "0-1")
    assert len((here / "calls").read_text()) == 420  # only those that failed
    printed = done(*call, "mine=sh -c 'echo $#' x {query} {item}", "--repeats", 2)
    assert printed.startswith("The machine judge mine graded 200 pairs in 400 gradings: 2: 400.\n")
    (row, *_) = rows(here / "pairs.mine.jsonl")
    assert row["judge"] == "mine" and row["reply"] == "2\n" and row["tokens_in"] is None


def test_pictures_are_sent_and_commands_get_their_paths(here: Path) -> None:
    (here / "photos").mkdir()
    for number, name in enumerate(("a", "b")):
        Image.new("RGB", (8, 8), (number, 0, 0)).save(here / "photos" / f"{name}.png")
    (here / "photos" / "c.txt").write_text("only words")
    (here / "pairs.csv").write_text("query,item\ndogs,a\ndogs,b\ndogs,c\n")
    call = ("judge", here / "pairs.csv", "--queries", here / "q.csv", "--items", here / "photos")
    with serving(lambda body, _n: completion(str(int(isinstance(body["messages"][0]["content"], list))))) as server:
        to = here / "seen.jsonl"
        done(*call, "--url", server.url, "--model", "eyes", "--to", to)
        assert {row["item"]: row["grade"] for row in rows(to)} == {"a": 1, "b": 1, "c": 0}
        Image.new("RGB", (8, 8), (9, 0, 0)).save(here / "photos" / "a.png")
        assert "item 'a' has changed since it was graded" in fails(
            *call, "--url", server.url, "--model", "eyes", "--to", to
        )
        Image.new("RGB", (8, 8)).save(here / "photos" / "b.bmp")
        (here / "photos" / "b.png").unlink()
        to = here / "more.jsonl"
        assert "b.bmp: is not a JPEG" in fails(*call, "--url", server.url, "--model", "eyes", "--to", to)
    assert "graded 3 pairs: 0: 1, 1: 2" in done(
        *call, "--with", "sh -c 'test -f \"$1\"; echo $((1 - $?))' x {item} {query}"
    )


def test_python_gives_the_numbers_of_the_command(here: Path) -> None:
    with serving(lambda body, _n: completion(str(grade(body)))) as server:
        done(*words(here, server.url, "--repeats", 2, "--to", here / "a.jsonl", "--temperature", 0.7, "--seed", 5))
        queries = dict(pl.read_csv(here / "q.csv").rows())
        items = dict(pl.read_csv(here / "d.csv").rows())
        found = library.judge(
            pl.read_csv(here / "pairs.csv"), queries=queries, items=items, url=server.url, model="small", repeats=2,
            to=here / "b.jsonl", temperature=0.7, seed=5,
        )  # fmt: skip
        columns = ["judge", "query", "item", "repeat", "grade", "reply", "parameters", "key"]
        printed = pl.DataFrame(rows(here / "a.jsonl")).select(columns).sort(columns[1:4])
        assert printed.equals(found.replies.select(columns).sort(columns[1:4]).cast(printed.schema))  # type: ignore[arg-type]
        assert {body["seed"] for body in server.bodies} == {5, 6} and found.gradings.judges == ["small"]
        assert found.gradings.frame.height == 400 and found.tokens == (20_000, 1200)
        asked = len(server.bodies)
        again = library.judge(here / "pairs.csv", queries=here / "q.csv", items=here / "d.csv", url=server.url,
                              model="small", repeats=2, to=here / "b.jsonl", temperature=0.7, seed=5)  # fmt: skip
        assert len(server.bodies) == asked and again.cached == 400


def test_python_refuses_as_the_command_does(here: Path) -> None:
    pairs = pl.DataFrame({"query": ["a"], "item": ["b"]})
    given: dict[str, Any] = {"queries": {"a": "x"}, "items": {"b": "y"}, "program": "sh -c 'echo 2' x {query} {item}"}
    with pytest.raises(CallError, match="say which file keeps the gradings"):
        library.judge(pairs, **given)
    with pytest.raises(JoinError, match="query 'a' of the pairs is not in the given queries"):
        library.judge(pairs, **{**given, "queries": {}}, to=here / "x.jsonl")
    with pytest.raises(FileError, match="the pairs: has the columns x"):
        library.judge(pairs.rename({"query": "x"}).drop("item"), **given, to=here / "x.jsonl")
    with pytest.raises(EndoxaError, match="no pair was graded: sh ended with status 1"):
        library.judge(pairs, **{**given, "program": "sh -c 'exit 1' x {query} {item}"}, to=here / "x.jsonl")
    assert library.judge(pairs, **given, to=here / "x.jsonl").gradings.frame["grade"].to_list() == [2]


def test_an_estimate_asks_nothing(here: Path) -> None:
    with serving(lambda body, _n: completion(str(grade(body)))) as server:
        printed = done(*words(here, server.url, "--most", 0, "--repeats", 3))
        assert printed.startswith("600 gradings not asked yet (about 1") and server.bodies == []
        printed = done(*words(here, server.url, "--most", 30))
        assert "graded 30 pairs: " in printed and "; 170 gradings not asked yet (about " in printed
        assert len(server.bodies) == 30


def test_many_grades_are_a_mean(here: Path) -> None:
    call = ("judge", here / "pairs.csv", "--queries", here / "q.csv", "--items", here / "d.csv", "--scale", "0-100")
    assert ": 9.50 on average" in done(*call, "--with", "n=sh -c 'echo \"$2\" | tr -dc 0-9' x {query} {item}")
