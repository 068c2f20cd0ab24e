"""The verbs of studies: the same from the library and from the command line, and what they refuse."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
import sqlalchemy as sa
from command_line import done, endoxa

from endoxa.errors import EndoxaError, FileError, JoinError, RefusedError, TextError
from endoxa.io.bundles import read_bundle
from endoxa.store import people
from endoxa.store.home import open_home
from endoxa.verbs import study as verb

NOW = 1_800_000_000.0


@pytest.fixture
def parts(tmp_path: Path) -> dict[str, Path]:
    """Six items, two queries, a run and answers from elsewhere."""
    texts = {
        "items.csv": "item,text\n" + "".join(f"d{n},text {n}\n" for n in range(6)),
        "queries.csv": "query,text\nq1,first\nq2,second\n",
        "a.run": "".join(f"q{q} Q0 d{n} {n + 1} {6 - n} a\n" for q in (1, 2) for n in range(6)),
        "b.run": "".join(f"q{q} Q0 d{5 - n} {n + 1} {6 - n} b\n" for q in (1, 2) for n in range(6)),
        "earlier.csv": "source,query,item,grade\nold,q1,d0,4\nold,q2,d1,2\n",
        "gold.csv": "query,item,expected\nq1,d3,5\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return {name: tmp_path / name for name in texts}


def new(parts: dict[str, Path], home: Path, name: str = "pets", **more):
    given = {"items": parts["items.csv"], "queries": parts["queries.csv"], "runs": [parts["a.run"], parts["b.run"]]}
    return verb.new(name, screen="four-results", **{**given, **more}, home=home, now=NOW)


def test_the_library_and_the_command_line_do_the_same(parts, tmp_path) -> None:
    library, command = tmp_path / "library", tmp_path / "command"
    planned = new(parts, library, settings={"overlap": 2, "title": "Pets"}, gold=parts["gold.csv"])
    printed = done(
        "study", "new", "pets", parts["a.run"], parts["b.run"], "--screen", "four-results", "--items",
        parts["items.csv"], "--queries", parts["queries.csv"], "--gold", parts["gold.csv"], "--set", "overlap=2",
        "--title", "Pets", "--home", command,
    )  # fmt: skip
    told = f"{planned.known} more with a known answer (practice, gold, attention)"
    assert printed.startswith(f"Study 'pets' has {planned.tasks} tasks on screen four-results, and {told}.")
    assert any(f" {planned.tasks} tasks" in note for note in planned.notes)  # one number
    assert all(note in printed for note in planned.notes)

    notes = verb.add("pets", answers=[parts["earlier.csv"]], home=library, now=NOW)
    assert notes == [f"{parts['earlier.csv']}: 2 answers imported; 0 were imported before"]
    assert done("study", "import", "pets", parts["earlier.csv"], "--home", command) == f"{notes[0]}.\n"

    (status,) = verb.status(home=library, now=NOW)
    (same,) = json.loads(done("study", "status", "-o", "json", "--home", command))
    for one in (status, same):
        one.pop("at")
        one["raters"][0].pop("last")
        one["progress"].pop("per_hour")
    assert status == same

    exported = verb.export("pets", tmp_path / "library.csv", home=library)
    assert (exported.rows, exported.form, exported.lowest) == (2, "csv", 1)
    assert "Wrote 2 rows" in done("study", "export", "pets", "--to", tmp_path / "command.csv", "--home", command)
    left, right = (pl.read_csv(tmp_path / f"{name}.csv").drop("at", "key") for name in ("library", "command"))
    assert left.equals(right)

    bundle = verb.bundle("pets", tmp_path / "library.zip", runs=True, home=library, now=NOW)
    done("study", "bundle", "pets", "--to", tmp_path / "command.zip", "--runs", "--home", command)
    again = read_bundle(tmp_path / "command.zip")
    assert bundle.counts == again.counts
    assert bundle.opinions.frame.drop("at").equals(again.opinions.frame.drop("at"))


def test_links_are_made_and_withdrawn(parts, tmp_path) -> None:
    home = tmp_path / "home"
    new(parts, home)
    invited = verb.invite("pets", ["ana", "ben"], count=1, home=home, now=NOW)
    assert [(link.number, link.nickname) for link in invited.links] == [(1, "ana"), (2, "ben"), (3, None)]
    assert invited.address == "http://127.0.0.1:8765" and invited.is_assumed
    assert all(link.url.startswith(f"{invited.address}/join/") for link in invited.links)
    (home / "address").write_text("http://judge.example\n")
    later = verb.invite("pets", ["eve"], withdraw=["ana", "3"], home=home, now=NOW)
    assert later.withdrawn == ((1, "ana"), (3, "3"))
    assert later.address == "http://judge.example" and not later.is_assumed
    other = verb.invite("pets", ["lab"], participant=True, url="https://x.example/", home=home, now=NOW)
    assert other.links[0].url.startswith("https://x.example/join/")
    with pytest.raises(TextError, match="nobody called 'ana' has a valid link; links of this study: 1 ana, 2 ben"):
        verb.invite("pets", withdraw=["ana"], home=home, now=NOW)
    printed = done("study", "invite", "pets", "--withdraw", "ben", "zoe", "--home", home)
    assert "withdrew 2 (ben)" in printed and "zoe\thttp://judge.example/join/" in printed


def test_a_further_round_needs_answers(parts, tmp_path) -> None:
    home = tmp_path / "home"
    new(parts, home, settings={"rounds": 2, "count": 2, "tasks_per_query": 1})
    with pytest.raises(RefusedError, match="lacks them"):
        verb.add("pets", further_round=True, home=home, now=NOW)
    verb.add("pets", answers=[parts["earlier.csv"]], home=home, now=NOW)
    with pytest.raises(
        JoinError, match="2 pairs have answers, and a round that adapts to them needs 30; collect 28 more"
    ):
        verb.add("pets", further_round=True, home=home, now=NOW)


def test_a_study_file_contains_everything(parts, tmp_path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(
        'name = "pets"\nscreen = "yes-no"\nitems = "items.csv"\nqueries = "queries.csv"\nruns = ["*.run"]\n'
    )
    home = tmp_path / "home"
    with pytest.raises(TextError, match="put the other settings into the file"):
        verb.new(path, screen="yes-no", home=home)
    assert not home.exists()
    assert verb.new(path, home=home, now=NOW).study.settings.screen == "yes-no"
    assert [one["study"]["name"] for one in verb.status(home=home, now=NOW)] == ["pets"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda home: verb.new("x", home=home), r"needs a screen \(--screen\): four-results, one-result"),
        (lambda home: verb.new("x", screen="yes-on", home=home), "did you mean yes-no"),
        (lambda home: verb.new("x", screen="yes-no", settings={"overlaps": 2}, home=home), "did you mean overlap"),
        (lambda home: verb.new("x", screen="yes-no", items="nowhere", home=home), "--items: there is no nowhere"),
        (lambda home: verb.new("x", screen="yes-no", runs=["no.run"], home=home), "runs: there is no no.run"),
        (lambda home: verb.add("x", home=home), "nothing to import"),
        (lambda home: verb.invite("x", home=home), "name the people to invite"),
        (lambda home: verb.export("x", "answers.xlsx", home=home), r"--to ends in .csv, .*, not in '.xlsx'"),
        (lambda home: verb.bundle("x", "bundle.tar", home=home), r"--to ends in .zip, not in '.tar'"),
    ],
)
def test_wrong_calls_are_refused_and_leave_nothing(tmp_path, call, message) -> None:
    with pytest.raises(TextError, match=message):
        call(tmp_path / "home")
    assert not (tmp_path / "home").exists()


def test_what_does_not_exist(parts, tmp_path) -> None:
    with pytest.raises(FileError, match="there are no studies here; create one"):
        verb.status(home=tmp_path / "nowhere")
    new(parts, tmp_path / "home")
    with pytest.raises(EndoxaError, match="did you mean pets"):
        verb.status("pet", home=tmp_path / "home")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("new", "x"), "needs a screen"),
        (("new", "x", "--screen", "yes-no", "--set", "overlap"), "KEY=VALUE"),
        (("new", "x", "--screen", "yes-no", "--instructions", "@nowhere"), "there is no file nowhere"),
        (("import", "x"), "nothing to import"),
        (("status", "-o", "xml"), "table or json"),
    ],
)
def test_wrong_calls_of_the_command_line_end_with_2(tmp_path, words, message) -> None:
    ran = endoxa("study", *words, "--home", tmp_path / "home")
    assert ran.exit_code == 2 and message in ran.stderr


def test_studies_are_listed_edited_and_closed(parts, tmp_path) -> None:
    home = tmp_path / "home"
    new(parts, home, "pets-of_2026")
    new(parts, home, "faq", settings={"title": "  Questions \n and answers "})
    verb.add("faq", answers=[parts["earlier.csv"]], home=home, now=NOW)
    listed = verb.studies(home=home)
    assert listed["study"].to_list() == ["faq", "pets-of_2026"]  # the newest first
    assert listed["title"].to_list() == ["Questions and answers", "Pets of 2026"]
    assert listed["answers"].to_list() == [2, 0]
    for row in listed.iter_rows(named=True):
        progress = verb.status(row["study"], home=home)[0]["progress"]
        assert (row["done"], row["planned"], row["judges"]) == tuple(progress[k] for k in ("done", "planned", "raters"))
    printed = done("study", "list", "--home", home)
    assert "Pets of 2026" in printed and "2026" in printed and printed.index("faq") < printed.index("pets-of_2026")

    edited = verb.edit("faq", title="Help", question="Is it  helpful?", instructions="Read.\n\nThink.", home=home)
    assert (edited.answers, edited.study.settings.asked) == (2, "Is it helpful?")
    assert edited.study.settings.paragraphs == ["Read.", "Think."]
    ran = endoxa("study", "edit", "faq", "--question", "Is it right?", "--home", home)
    assert ran.stdout == "Study 'faq' asks 'Is it right?', under the title 'Help'.\n"
    assert "2 answers were given to the old words" in ran.stderr
    assert verb.edit("faq", question="", home=home).study.settings.asked.startswith("How well does each result")
    assert verb.studies(home=home)["title"][0] == "Help"

    assert "accepts no more answers" in done("study", "close", "faq", "--home", home)
    assert verb.studies(home=home)["state"].to_list() == ["closed", "open"]
    assert not verb.invite("pets-of_2026", ["eve"], home=home).is_closed
    ran = endoxa("study", "invite", "faq", "eve", "--home", home)
    assert "study 'faq' is closed: its links take no answers" in ran.stderr and "/join/" in ran.stdout
    assert done("study", "status", "faq", "--home", home).startswith("faq is closed: ")
    assert "accepts answers" in done("study", "close", "faq", "--reopen", "--home", home)
    assert verb.studies(home=home)["state"].to_list() == ["open", "open"]


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ("screen=yes-no", "the stored answers are read by it"), ("name=other", "the stored answers are read by it"),
        ("gamma=2", "the tasks were planned by it"), ("titel=x", "did you mean title"),
    ],
)  # fmt: skip
def test_what_answers_rest_on_cannot_be_edited(parts, tmp_path, setting, why) -> None:
    new(parts, tmp_path / "home")
    before = verb.status(home=tmp_path / "home", now=NOW)
    ran = endoxa("study", "edit", "pets", "--set", setting, "--home", tmp_path / "home")
    assert ran.exit_code == 2
    assert why in ran.stderr
    with pytest.raises(TextError, match="nothing to change"):
        verb.edit("pets", home=tmp_path / "home")
    assert verb.status(home=tmp_path / "home", now=NOW) == before


def test_a_deleted_study_is_hidden_and_its_answers_stay(parts, tmp_path) -> None:
    home = tmp_path / "home"
    new(parts, home)
    verb.add("pets", answers=[parts["earlier.csv"]], home=home, now=NOW)
    (link,) = verb.invite("pets", ["ana"], home=home).links
    for words, told in (
        ((), "repeat its name to delete it: --confirm pets"),
        (("--confirm", "pet"), "nothing was deleted"),
    ):
        ran = endoxa("study", "delete", "pets", *words, "--home", home)
        assert ran.exit_code == 2
        assert told in ran.stderr
    refused = endoxa("study", "delete", "pets", "--confirm", "pets", "--export", tmp_path / "x.doc", "--home", home)
    assert refused.exit_code == 2  # what cannot be exported is not deleted
    assert verb.studies(home=home)["study"].to_list() == ["pets"]
    kept = tmp_path / "kept.csv"
    assert "is deleted" in done("study", "delete", "pets", "--confirm", "pets", "--export", kept, "--home", home)
    assert pl.read_csv(kept)["grade"].to_list() == [4, 2]
    assert verb.studies(home=home).height == 0
    assert "no study yet" in done("study", "list", "--home", home)
    with pytest.raises(RefusedError, match="no study is called 'pets'; create one"):
        verb.delete("pets", home=home)
    with open_home(home) as opened, opened.store.reading() as connection:
        assert connection.scalar(sa.text("select count(*) from answers")) == 2
        with pytest.raises(RefusedError, match="withdrawn"):
            token = link.url.rpartition("/")[2]
            people.need_open(people.invitation_of(connection, opened.key, token), NOW)
    new(parts, home)  # the name is free again
    assert verb.studies(home=home)["answers"].to_list() == [0]


def test_deleting_at_a_terminal_offers_an_export_and_asks_for_the_name(parts, tmp_path) -> None:
    home = tmp_path / "home"
    new(parts, home)
    verb.add("pets", answers=[parts["earlier.csv"]], home=home, now=NOW)

    def typed(*lines: str) -> tuple[int, str]:
        terminal, inner = pty.openpty()
        call = [sys.executable, "-m", "endoxa", "study", "delete", "pets", "--home", str(home)]
        process = subprocess.Popen(call, stdin=inner, stdout=inner, stderr=inner, cwd=tmp_path, close_fds=True)
        os.close(inner)
        os.write(terminal, "".join(f"{line}\n" for line in lines).encode())
        said = b""
        with contextlib.suppress(OSError):  # a terminal without a program is an error of the device
            while part := os.read(terminal, 1 << 16):
                said += part
        os.close(terminal)
        return process.wait(), said.decode()

    code, said = typed("n", "cats")
    assert code == 2
    assert "2 answers by 1 judge" in said and "Export them first, to pets.csv?" in said
    assert verb.studies(home=home).height == 1 and not (tmp_path / "pets.csv").exists()
    code, said = typed("", "pets")
    assert code == 0, said
    assert "is deleted" in said
    assert pl.read_csv(tmp_path / "pets.csv").height == 2
    assert verb.studies(home=home).height == 0
