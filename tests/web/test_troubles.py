"""Short forms of what `make soak` does at length: no answer is lost, and nobody sees a traceback."""

import traceback

import pytest
from soak.crowd import STUDY, Server, hold, killing, prepare, tracebacks_in
from soak.troubles import exporting, filling, jumping, limit, remount, small_disk, unlimit


def test_a_full_disk_a_clock_that_jumps_and_exports(tmp_path):
    """A limit of the size of files stands for the full disk: it needs no rights."""
    clock = tmp_path / "clock"
    troubles = [
        filling(1, 20, spoil=limit, mend=unlimit), jumping(clock, 15, (48 * 3600.0, -3600.0)), exporting(1, 15, 5),
    ]  # fmt: skip

    def during(servers, acknowledged):
        for trouble in troubles:
            trouble(servers, acknowledged)

    found = hold(tmp_path / "home", None, judges=5, tasks=300, during=during, clock=clock)
    assert found.is_whole and found.answers >= 80, found
    assert found.errors > 0, "nobody noticed that nothing could be written"
    log = (tmp_path / "home.log").read_text()
    assert "studies.db: the database cannot be used: disk I/O error; check the disk" in log
    assert "SELECT" not in log and "Traceback" not in log


def test_two_servers_on_one_store(tmp_path):
    found = hold(tmp_path / "home", None, judges=4, tasks=300, during=killing(1, 30), count=2)
    assert found.is_whole and found.answers >= 60, found


def test_a_disk_that_is_read_only(tmp_path):
    with small_disk(tmp_path / "home", 8) as mounted:
        if not mounted:
            pytest.skip("a disk of our own: only root may mount one")
        prepare(tmp_path / "home", None, judges=1, tasks=6)
        remount(tmp_path / "home", "ro")
        server = Server(tmp_path / "home", None)
        for words in (("serve", "--port", "0"), ("invite", STUDY, "--count", "1")):
            done = server.command(*words)
            assert done.returncode == 1 and done.stdout == ""
            assert done.stderr.count("\n") == 1 and "studies.db: the database cannot be" in done.stderr, done.stderr


def test_tracebacks_are_counted():
    """A test of the test."""
    try:
        1 / 0  # noqa: B018
    except ZeroDivisionError:
        shown = traceback.format_exc()
    assert tracebacks_in([f"a line\n{shown}", shown, "none"]) == 2
