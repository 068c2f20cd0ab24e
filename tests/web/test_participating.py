"""Runs that participants send in: checked at once, blind until the organiser opens the results, seen by nobody else."""

from __future__ import annotations

import gzip
import io
import json
import re
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import sqlalchemy as sa
from httpx2 import Client, Response
from soak.crowd import STUDY, Server, prepare, serving
from web_samples import KEY, START, Person, Sample, opened, run_text

from endoxa.evaluations import bundled
from endoxa.io import apart
from endoxa.store import catalogue, people
from endoxa.store import schema as s
from endoxa.store.home import open_home
from endoxa.web.studies import participating, submissions

SERVER = re.compile(r"/tmp|tmp[a-z0-9_]{6,}|site-packages|Traceback|\.py\b")


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sample]:
    """One site for the whole file; tests take a study each."""
    with opened(tmp_path_factory.mktemp("site")) as found:
        yield found


@pytest.fixture(autouse=True)
def fresh(sample: Sample) -> None:
    """Each test begins at the same time."""
    sample.clock.time = START


@pytest.fixture(scope="module")
def empty(sample: Sample) -> str:
    """A study without answers."""
    return sample.make("empty", "four-results")


@pytest.fixture(autouse=True)
def in_process(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The work of the other process, in this one: a second less for each file. Tests marked `apart` start it."""
    if request.node.get_closest_marker("apart"):
        return

    def run(module: str, given: dict[str, Any], label: str, **_: Any) -> Any:
        return json.loads(json.dumps(submissions.work(**json.loads(json.dumps(given)))))

    monkeypatch.setattr(submissions, "run_apart", run)


def judged(sample: Sample, name: str, screen: str = "four-results") -> str:
    """A study that two judges have finished."""
    sample.make(name, screen, overlap=2)
    for nickname, shift in (("ana", 0), ("ben", 1)):
        judge = sample.judge(name, nickname)
        judge.finish(
            lambda task, shift=shift: [
                {"item": item["id"], "grade": 1 + (item["id"] * 7 + shift) % 5} for item in task["items"]
            ]
        )
    return name


def send(person: Person, content: bytes | str, name: str = "mine.run") -> Response:
    raw = content.encode() if isinstance(content, str) else content
    return person.client.post(f"/submit/{person.study}", data={"csrf": person.csrf}, files={"run": (name, raw)})


class Submissions(HTMLParser):
    """The page: each submission's lines of text, the words of the results, and comments in the page's source."""

    def __init__(self, answer: Response) -> None:
        super().__init__()
        assert answer.headers["content-type"].startswith("text/html")
        self.cards: list[list[str]] = []
        self.results: list[str] = []
        self.comments: list[str] = []
        self.error = ""
        self.part = ""
        self.feed(answer.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "section":
            self.part = given.get("id") or ""
        if tag == "li" and "data-system" in given:
            self.cards.append([])
        if given.get("id") == "error":
            self.part = "error"

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def handle_data(self, data: str) -> None:
        if not data.strip():
            return
        if self.part == "submissions" and self.cards:
            self.cards[-1].append(data.strip())
        elif self.part == "results":
            self.results.append(data.strip())
        elif self.part == "error":
            self.error, self.part = data.strip(), ""


def page(person: Person) -> Submissions:
    return Submissions(person.get(f"/submit/{person.study}"))


# Checking


@pytest.mark.apart
def test_a_good_run_is_accepted(sample: Sample, empty: str) -> None:
    lab = sample.participant(empty, "good")
    sent = send(lab, run_text("mine"))
    assert (sent.status_code, sent.headers["location"]) == (303, f"/submit/{empty}")
    [card] = page(lab).cards
    assert card[:2] == ["mine", "accepted"]
    assert "21 lines" in card[2]
    assert card[-1] == "The check found no problems."
    with sample.home.store.reading() as connection:
        content = connection.scalars(sa.select(s.documents.c.content).order_by(s.documents.c.id.desc())).first()
    assert content == run_text("mine").encode()  # kept as it was sent


BAD: dict[str, tuple[str | bytes, str]] = {
    "bad.run": ("q1 Q0 d1 1 2.5 mine\nq1 Q0 d2 2 high mine\n", "bad.run:2: score 'high' is not a number"),
    "short.txt": ("q1 Q0 d1 1 2.5 mine\nq1 Q0 d2\n", "short.txt:2: 3 columns"),
    "twice.run": ("q1 Q0 d1 1 2 mine\nq1 Q0 d2 2 1 mine\nq1 Q0 d1 3 0 mine\n", "twice.run:3"),
    "nan.run": ("q1 Q0 d1 1 nan mine\n", "nan.run:1: score 'nan' is not a number"),
    "empty.run": ("", "empty.run: the file is empty"),
    "blank.run": ("\n\n \n", "blank.run"),
    "comment.run": ("# nothing\n", "comment.run:1: 2 columns in '# nothing'"),
    "nul.run": ("q1 Q0 d1 1 2 mi\x00ne\n", "nul.run:1: the file contains binary data"),
    "latin.run": ("q1 Q0 d1 1 2 m\u00fcller\n".encode("latin-1"), "latin.run:1"),
    "qrels.txt": ("q1 0 d1 1\nq1 0 d2 0\n", "qrels.txt"),
    "table.csv": ("query,item,score\nq1,d1,1\nq1,d2,much\n", "table.csv"),
    "rows.jsonl": ('{"query": "q1", "item": "d1", "score": 1}\n{"query": "q1"\n', "rows.jsonl:2"),
    "broken.jsonl": ("{query: 1}\n", "broken.jsonl"),
    "picture.png": (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "picture.png"),
    "two.run": (run_text("a") + run_text("b"), "two.run holds 2 systems; submit one system per file"),
    "strange.run": ("x1 Q0 d1 1 2 mine\nx2 Q0 d1 1 2 mine\n", "none of its 2 queries is one of this study"),
    "cut.run.gz": (gzip.compress(run_text("mine").encode())[:60], "cut.run.gz: damaged gzip data"),
    "wrong.run.gz": (b"\x1f\x8b" + b"x" * 50, "wrong.run.gz: damaged gzip data"),
    "twice.gz": (gzip.compress(gzip.compress(b"x")), "twice.gz: is not text"),
    "z.run.zst": (b"\x28\xb5\x2f\xfd" + b"x" * 50, "z.run.zst: is not text"),
    "p.parquet": (b"PAR1" + b"x" * 50, "p.parquet: is not text"),
    "z.zip": (b"PK\x03\x04" + b"x" * 50, "z.zip: is not text"),
    "hidden.gz": (gzip.compress(b"PAR1" + b"x" * 50), "hidden.gz: is not text"),
    "a" * 300 + ".run": ("q1 Q0 d1\n", "a" * 90),
    "run." + "x" * 300: ("q1 Q0 d1\n", "run.xxx"),
    "../../etc/passwd": ("q1 Q0 d1\n", "passwd:1"),
    "..": ("q1 Q0 d1\n", "run:1"),
    "C:\\runs\\bm25.run": ("q1 Q0 d1\n", "bm25.run:1"),
    "a[b]*?.run": ("q1 Q0 d1\n", "a[b]*?.run:1"),
    "猫.run": ("q1 Q0 d1\n", "猫.run:1"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_run_is_told_where_it_is_bad(sample: Sample, empty: str, name: str) -> None:
    content, said = BAD[name]
    lab = sample.participant(empty, f"bad-{name}"[:60].replace("/", "-"))
    assert send(lab, content, name).status_code == 303
    answer = lab.get(f"/submit/{empty}")
    [card] = Submissions(answer).cards
    assert card[1] == "refused"
    assert said in " ".join(card[3:]), card
    assert not SERVER.search(answer.text), SERVER.findall(answer.text)
    assert str(sample.folder) not in answer.text


def test_what_is_doubtful_is_accepted_with_a_word(sample: Sample, empty: str) -> None:
    lab = sample.participant(empty, "doubtful")
    send(lab, "q1 Q0 d1 1 1 mine\nq1 Q0 d2 2 1 mine\nq1 Q0 elsewhere 3 0 mine\n", "doubt.run")
    [card] = page(lab).cards
    assert card[1] == "accepted"
    words = " ".join(card)
    assert "2 of 3 queries have no results" in words
    assert "1 of 3 results are not among the study" in words
    assert "tied" in words


@pytest.mark.parametrize("name", ["mine.run.gz", "mine.gz", "mine.run", "mine.csv", "m.jsonl"])
def test_what_the_content_is_counts_not_the_name(sample: Sample, empty: str, name: str) -> None:
    lab = sample.participant(empty, f"packed-{name}")
    send(lab, gzip.compress(run_text("mine").encode()), name)
    [card] = page(lab).cards
    assert card[:2] == ["mine", "accepted"]
    assert "21 lines" in card[2]


TABLES: dict[str, str | bytes] = {
    "bm25.csv": "query,item,score\nq1,d1,2\nq1,d2,1\nq2,d1,1\nq3,d1,1\n",
    "bm25.tsv": "query\titem\tscore\nq1\td1\t2\n",
    "bm25.jsonl": '{"query": "q1", "item": "d1", "score": 1}\n',
    "runs/bm25.csv.gz": gzip.compress(b"query,item,score\nq1,d1,2\n"),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_without_a_tag_is_called_after_its_file(sample: Sample, empty: str, name: str) -> None:
    lab = sample.participant(empty, f"tables-{name}".replace("/", "-"))
    send(lab, TABLES[name], name)
    [card] = page(lab).cards
    assert card[:2] == ["bm25", "accepted"]


@pytest.mark.apart
def test_a_bomb_is_not_unpacked(sample: Sample, empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submissions, "UNPACKED", 1 << 20)
    line = b"q1 Q0 d1 1 2.5 mine\n"
    lab = sample.participant(empty, "bomber")
    send(lab, gzip.compress(line * 500_000), "bomb.run.gz")
    [card] = page(lab).cards
    assert card[1] == "refused"
    assert "bomb.run.gz: is longer than 1 MB when decompressed" in " ".join(card)


def test_there_is_a_last_run(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(participating, "MOST", 2)
    lab = sample.participant(sample.make("most", "one-result"))
    codes = [send(lab, run_text(f"s{number}")).status_code for number in range(3)]
    assert codes == [303, 303, 422]
    assert "the maximum" in Submissions(send(lab, run_text("s4"))).error
    assert len(page(lab).cards) == 2


@pytest.mark.parametrize("parts", [{}, {"run": ""}, {"run": "text"}])
def test_a_form_without_a_file_is_refused(sample: Sample, empty: str, parts: dict[str, str]) -> None:
    lab = sample.participant(empty, f"fileless{len(parts)}{len(parts.get('run', ''))}")
    answer = lab.client.post(f"/submit/{empty}", data={"csrf": lab.csrf, **parts}, headers={"Accept": "text/html"})
    assert answer.status_code in {403, 422}
    broken = lab.client.post(
        f"/submit/{empty}", content=b"--b\r\nnonsense", headers={"Content-Type": "multipart/form-data; boundary=b"}
    )
    assert broken.status_code in {400, 403, 422}
    assert page(lab).cards == []


# Blind, then open


def test_results_are_blind_until_the_organiser_opens_them(sample: Sample) -> None:
    study = judged(sample, "blind")
    lab, organiser, judge = sample.participant(study), sample.organiser(study), sample.judge(study, "late")
    send(lab, run_text("secret-system", turn=3))
    before = page(lab)
    assert before.results == ["Results", "The organiser has not opened the results yet. They will appear here."]
    text = lab.get(f"/submit/{study}").text
    assert not before.comments
    assert "P@10" not in text
    assert "0." not in re.sub(r"<meta[^>]*>", "", text)
    for answer in (judge.get("me"), judge.get("tasks"), judge.get(f"/s/{study}")):
        assert "secret-system" not in answer.text
    assert judge.get("status").status_code == 403
    status = organiser.get("status").json()
    assert status["results_open"] is False
    assert [(one["participant"], one["system"], one["lines"], one["accepted"]) for one in status["submissions"]] == [
        ("lab", "secret-system", 21, True)
    ]
    assert "secret-system" not in str(status["verdict"])
    assert organiser.post("results", {"open": True}).status_code == 204
    assert organiser.get("status").json()["results_open"] is True
    after = page(lab)
    assert after.results.count("secret-system") >= 3
    assert "P@10" in after.results
    assert any(re.fullmatch(r"\d+ %", word) for word in after.results)
    assert judge.get("me").text.find("secret-system") == -1
    assert organiser.post("results", {"open": False}).status_code == 204
    assert page(lab).results == before.results


@pytest.mark.apart
def test_results_are_those_of_the_command_line(sample: Sample) -> None:
    import endoxa
    from endoxa.store import catalogue, exports

    study = judged(sample, "same")
    lab, organiser = sample.participant(study), sample.organiser(study)
    content = run_text("mine", turn=3)
    send(lab, gzip.compress(content.encode()), "mine.run.gz")
    organiser.post("results", {"open": True})
    path = sample.folder / "mine.run"
    path.write_text(content)
    with sample.home.store.reading() as connection:
        bundle = exports.bundle(connection, catalogue.find(connection, study), now=START)
    wanted = endoxa.evaluate(path, bundle)
    shown = page(lab).results
    for row in wanted.summary.iter_rows(named=True):
        if row["value"] == row["value"]:
            assert f"{row['value']:.3f}" in shown[shown.index(row["measure"]) :]
    share = wanted.tables["coverage"]["first_10"][0]
    assert f"{100 * share:.0f} %" in shown


def test_one_participant_never_sees_another(sample: Sample) -> None:
    study = judged(sample, "apart")
    ours, theirs, organiser = (
        sample.participant(study, "ours"),
        sample.participant(study, "theirs"),
        sample.organiser(study),
    )
    send(ours, run_text("our-system"))
    send(theirs, run_text("their-system", turn=5))
    for opening in (False, True):
        organiser.post("results", {"open": opening})
        for person, own, other in ((ours, "our-system", "their-system"), (theirs, "their-system", "our-system")):
            text = person.get(f"/submit/{study}").text
            assert own in text
            assert other not in text
            assert ("theirs" if person is ours else "ours") not in text
    elsewhere = sample.participant(sample.make("apart2"), "ours")
    assert elsewhere.get(f"/submit/{study}").status_code == 404
    refused = elsewhere.client.post(f"/submit/{study}", data={"csrf": elsewhere.csrf}, files={"run": b"x"})
    assert refused.status_code == 404


def test_a_later_run_of_the_same_name_counts_and_bad_ones_do_not(sample: Sample) -> None:
    study = judged(sample, "later")
    lab, organiser = sample.participant(study), sample.organiser(study)
    send(lab, "q1 Q0 d1 1 1 mine\n")
    send(lab, run_text("mine", turn=3))
    send(lab, "q1 Q0 d1 1 x worse\n", "worse.run")
    send(lab, run_text("other.csv", turn=5))  # a tag that looks like a file's name
    organiser.post("results", {"open": True})
    found = page(lab)
    measures = found.results.count("P@10")
    assert measures == 2
    assert "worse.run" not in found.results
    assert found.error == ""


@pytest.mark.parametrize("screen", ["four-results", "file-it", "rank-it"])
def test_open_results_without_an_answer_do_not_break_the_page(sample: Sample, screen: str) -> None:
    study = sample.make(f"early-{screen}", screen)
    lab, organiser = sample.participant(study), sample.organiser(study)
    organiser.post("results", {"open": True})
    assert page(lab).error == ""
    queries = ("d0", "d1", "d2") if screen == "file-it" else ("q1", "q2", "q3")
    assert send(lab, run_text("mine", queries)).status_code == 303
    found = page(lab)
    assert found.cards[0][1] == "accepted"
    assert "no answer" in found.error


def test_all_undecided_is_no_reason_to_break(sample: Sample) -> None:
    study = sample.make("undecided", "four-results")
    judge = sample.judge(study)
    judge.finish(lambda task: [{"item": item["id"], "grade": None} for item in task["items"]])
    lab, organiser = sample.participant(study), sample.organiser(study)
    send(lab, run_text("mine"))
    organiser.post("results", {"open": True})
    answer = lab.get(f"/submit/{study}")
    assert answer.status_code == 200
    assert Submissions(answer).error


def test_classifiers_and_orders_are_scored_too(sample: Sample) -> None:
    filing = sample.make("filing", "file-it", overlap=2)
    names = ("animals/cats", "animals/birds", "places/town")
    for nickname in ("ana", "ben"):
        judge = sample.judge(filing, nickname)
        judge.finish(lambda task: [{"item": task["items"][0]["id"], "category": names[task["items"][0]["id"] % 3]}])
    lab, organiser = sample.participant(filing), sample.organiser(filing)
    by_category = "".join(
        f"d{item} Q0 {name} {rank} {3 - rank} classifier\n" for item in range(8) for rank, name in enumerate(names, 1)
    )
    send(lab, by_category)
    [card] = page(lab).cards
    assert card[1] == "accepted"
    assert card[-1] == "The check found no problems."
    organiser.post("results", {"open": True})
    assert "P@1" in page(lab).results

    ordering = sample.make("ordering", "rank-it", overlap=2)
    for nickname in ("ana", "ben"):
        judge = sample.judge(ordering, nickname)
        judge.finish(
            lambda task: [
                {"item": item["id"], "rank": at, "relevance": 1 - at / 10} for at, item in enumerate(task["items"], 1)
            ]
        )
    lab, organiser = sample.participant(ordering), sample.organiser(ordering)
    send(lab, run_text("mine"))
    organiser.post("results", {"open": True})
    assert "order" in page(lab).results


@pytest.mark.apart
def test_participants_on_both_databases(tmp_path: Path, database: str | None) -> None:
    with opened(tmp_path, database) as sample:
        study = judged(sample, "both")
        lab, organiser = sample.participant(study, "läb"), sample.organiser(study)
        for name, content in (
            ("fine.run", run_text("mine")),
            ("n\x00l.run", "q1 Q0 d1\n"),
            ("bad.run", "q1 Q0 d1 1 2 mi\x00ne\nq1 \x1b[31m\n"),
            ("ctl.run", "q1 Q0 d1 1 2 m\x1b[31mine\u202e\n"),
            ("half.run", b"q1 Q0 d1 1 2 \xed\xa0\x80\n"),
            ("wide.run", f"q1 Q0 d1 1 2 {'猫' * 5000}\n"),
        ):
            assert send(lab, content, name).status_code == 303, name
        organiser.post("results", {"open": True})
        found = page(lab)
        assert [card[1] for card in found.cards] == [
            "accepted",
            "refused",
            "refused",
            "accepted",
            "refused",
            "accepted",
        ]
        assert "P@10" in found.results
        assert len(organiser.get("status").json()["submissions"]) == 6


# Scored once


@dataclass
class Counted:
    """Counts what is done in other processes, and lets it be done."""

    jobs: list[str] = field(default_factory=list)

    def __call__(self, module: str, given: dict[str, Any], *more: Any, **named: Any) -> Any:
        self.jobs.append(given["job"])
        return apart.run_apart(module, given, *more, **named)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    """The work of other processes is counted; in this one nothing may be scored."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("scored in the process that serves")

    found = Counted()
    monkeypatch.setattr(submissions, "run_apart", found)
    monkeypatch.setattr(bundled, "evaluate", refuse)
    return found


def test_a_run_is_scored_when_it_is_submitted_and_the_page_only_reads(sample: Sample, counted: Counted) -> None:
    study = judged(sample, "once")
    lab, organiser = sample.participant(study), sample.organiser(study)
    send(lab, run_text("mine", turn=3))
    send(lab, run_text("other", turn=5))
    organiser.post("results", {"open": True})
    first = page(lab).results
    assert "P@10" in first
    sample.renew()  # the server was started again
    assert page(sample.enter(lab.link, study)).results == page(lab).results == first
    assert counted.jobs == ["check", "check"]


@pytest.mark.apart
def test_requests_for_results_that_are_not_kept_share_one_computation(sample: Sample, counted: Counted) -> None:
    study = judged(sample, "earlier")
    lab, organiser = sample.participant(study), sample.organiser(study)
    send(lab, run_text("mine", turn=3))
    organiser.post("results", {"open": True})
    wanted = page(lab).results
    kept = list((sample.home.folder / "results").iterdir())
    for spoil in (Path.unlink, lambda path: path.write_text("{"), lambda path: path.write_text("[]")):
        for path in kept:  # an earlier version kept none, or the disk lost them
            spoil(path)
        counted.jobs.clear()
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda _: page(lab).results, range(8)))
        assert found == [wanted] * 8
        assert counted.jobs == ["score"]


def test_results_follow_the_answers_after_a_minute(sample: Sample, counted: Counted) -> None:
    study = sample.make("growing", "four-results", overlap=2)
    lab, organiser = sample.participant(study), sample.organiser(study)
    send(lab, run_text("mine", turn=3))
    organiser.post("results", {"open": True})
    assert "no answers" in page(lab).error
    sample.judge(study).finish(lambda task: [{"item": item["id"], "grade": 4} for item in task["items"]])
    assert "no answers" in page(lab).error
    assert counted.jobs == ["check"]
    sample.clock.time += submissions.FRESH
    found = page(lab)
    assert (found.error, "P@10" in found.results) == ("", True)
    sample.clock.time += 10 * submissions.FRESH
    assert page(lab).results == found.results
    assert counted.jobs == ["check", "score"]  # there were no newer answers


# Elsewhere


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
@pytest.mark.apart
def test_a_bomb_of_newlines_takes_no_memory_of_the_server(tmp_path: Path) -> None:
    """261 kB that become 256 MB of empty lines: the server took 2.5 GB, and stopped for 21 s."""
    packer = zlib.compressobj(9, wbits=31)
    bomb = b"".join([packer.compress(b"\n" * (1 << 20)) for _ in range(256)]) + packer.flush()
    prepare(tmp_path / "home", None, judges=1, tasks=6)
    with open_home(tmp_path / "home") as home, home.store.writing() as connection:
        found = catalogue.find(connection, STUDY)
        _, token = people.invite(connection, home.key, found, "participant", nickname="lab", now=time.time())
    server = Server(tmp_path / "home", None)
    with serving([server]), Client(base_url=f"http://127.0.0.1:{server.port}", timeout=120) as client:

        def peak() -> int:
            assert server.process is not None
            status = Path(f"/proc/{server.process.pid}/status").read_text()
            return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) >> 10

        answer = client.post(f"/join/{token}", data={"nickname": ""}, follow_redirects=True)
        csrf, before = KEY.search(answer.text)[1], peak()
        for name in ("bomb.run.gz", "again.gz"):
            sent = client.post(
                f"/submit/{STUDY}", data={"csrf": csrf}, files={"run": (name, bomb)}, follow_redirects=True
            )
            assert "the file is empty" in sent.text
        assert peak() - before < 200  # MB
    assert server.log() == ""


@pytest.mark.parametrize("declared", [True, False])
def test_the_upload_of_a_stranger_is_not_read(sample: Sample, empty: str, declared: bool) -> None:
    read, sent = [], []

    async def receive() -> dict[str, Any]:
        read.append(1)
        return {"type": "http.request", "body": b"x" * 1000, "more_body": len(read) < 1000}

    async def send_back(message: dict[str, Any]) -> None:
        sent.append(message)

    length = [(b"content-length", b"1000000")] if declared else []
    scope = {
        "type": "http", "method": "POST", "path": f"/submit/{empty}", "query_string": b"", "scheme": "http",
        "server": ("study.example", 80), "client": ("10.0.0.9", 5), "root_path": "", "http_version": "1.1",
        "headers": [(b"host", b"study.example"), (b"content-type", b"multipart/form-data; boundary=b"), *length],
    }  # fmt: skip
    sample.portal.call(sample.app, scope, receive, send_back)
    assert sent[0]["status"] == 401
    assert len(read) <= 1


def test_a_participant_cannot_pass_the_maximum_by_haste(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(participating, "MOST", 2)
    lab = sample.participant(sample.make("haste", "one-result"))
    with ThreadPoolExecutor(5) as pool:
        codes = sorted(pool.map(lambda at: send(lab, run_text(f"s{at}")).status_code, range(5)))
    assert codes == [303, 303, 422, 422, 422]
    assert len(page(lab).cards) == 2


@pytest.mark.apart
def test_an_upload_does_not_stay_on_the_disk(
    sample: Sample, empty: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    lab = sample.participant(empty, "tidy")
    send(lab, run_text("mine"))
    send(lab, "bad\n")
    assert list(tmp_path.iterdir()) == []


def test_frames_of_polars_are_no_way_in(sample: Sample, empty: str) -> None:
    buffer = io.BytesIO()
    pl.DataFrame({"query": ["q1"], "item": ["d1"], "score": [1.0], "system": ["mine"]}).write_parquet(buffer)
    lab = sample.participant(empty, "parquet")
    send(lab, buffer.getvalue(), "mine.parquet")
    [card] = page(lab).cards
    assert card[1] == "refused"


@pytest.mark.apart
def test_an_upload_is_read_elsewhere_and_for_a_limited_time(
    sample: Sample, empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apart, "SECONDS", 0.0)
    lab = sample.participant(empty, "slow")
    send(lab, run_text("mine"))
    [card] = page(lab).cards
    assert "mine.run: cannot be read within 0 s; submit fewer results" in card


@pytest.mark.apart
def test_a_reader_that_dies_takes_nothing_with_it(
    sample: Sample, empty: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(apart.sys, "executable", "/bin/false")
    lab = sample.participant(empty, "dead")
    send(lab, run_text("mine"))
    assert any(
        "mine.run: cannot be read; check that it is not damaged, and submit fewer results" in line
        for line in page(lab).cards[0]
    )
