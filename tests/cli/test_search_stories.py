"""Stories with searches, through the command line; one of them through a server."""

from __future__ import annotations

import base64
import io
import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from command_line import endoxa
from PIL import Image
from stored_search_samples import NOW, stored_search

from endoxa.verbs.compose import compose
from endoxa.verbs.search import Files


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stories") / "scenes"
    compose(folder, 14, seed=3)
    return folder


def test_a_search_is_listed_replayed_exported_and_forgotten(scenes: Path, tmp_path: Path) -> None:
    home, name = stored_search(tmp_path, scenes)
    where = ("--home", home)
    assert name in endoxa("search", "list", *where).stdout
    done = endoxa("search", "replay", name, *where)
    assert (done.exit_code, done.stdout) == (0, f"{name} replays exactly: 2 pages.\n")
    done = endoxa("search", "export", name, "--to", tmp_path / "marks.csv", "--study", tmp_path / "judged", *where)
    assert done.exit_code == 0, done.output
    command = next(line[6:] for line in done.stdout.splitlines() if line.startswith("next: endoxa study new"))
    done = endoxa(*command.split()[1:], *where)
    assert done.exit_code == 0, done.output
    assert "Study 'judged'" in done.stdout
    assert "Forgot what searches taught" in endoxa("search", "reset", scenes, *where).stdout
    assert endoxa("search", "reset", scenes, *where).stdout == "Nothing was learnt yet.\n"


def test_a_changed_index_is_told(scenes: Path, tmp_path: Path) -> None:
    home, name = stored_search(tmp_path, scenes)
    compose(tmp_path / "others", 14, seed=5)
    done = endoxa("search", "replay", name, tmp_path / "others", "--home", home)
    assert done.exit_code == 1
    assert "round 1 differs" in done.stdout and "indexed anew" in done.stdout


def test_wrong_calls(scenes: Path, tmp_path: Path) -> None:
    home, name = stored_search(tmp_path, scenes)
    assert endoxa("search", "export", name, "--home", home).exit_code == 2
    wrong = endoxa("search", "export", name, "--part", "mark", "--to", tmp_path / "x.csv", "--home", home)
    assert wrong.exit_code == 2 and "did you mean marks" in wrong.output
    for words in (("replay", "nothing", "--home", home), ("list", "--home", tmp_path / "none"), (tmp_path / "none",)):
        done = endoxa("search", *words)
        assert done.exit_code == 1 and done.stderr.startswith("endoxa: "), done.output
    assert "Commands" in endoxa("search").output


def test_pictures_and_sketches_that_were_kept_are_replayed(scenes: Path, tmp_path: Path) -> None:
    from endoxa.io.opening import open_corpus
    from endoxa.io.search_features import open_features
    from endoxa.searches.seeking import Search, start_detail
    from endoxa.store import searches
    from endoxa.store.home import open_home
    from endoxa.web.searches.deposits import Deposits

    corpus = open_corpus(scenes)
    features = open_features(corpus, workers=1)
    deposits, home = Deposits(tmp_path / "home" / "searches"), tmp_path / "home"
    canvas = Image.new("RGBA", (256, 256))
    canvas.paste((20, 60, 200, 255), (0, 0, 256, 90))
    png = io.BytesIO()
    canvas.save(png, "PNG")
    with open_home(home, create=True) as opened:
        with opened.store.writing() as connection:
            record = searches.begin(
                connection, start_detail(features), collection=searches.collection_of(corpus), now=NOW
            )  # fmt: skip
        picture = scenes / corpus.frame["path"][0]
        upload = deposits.upload(record.name, picture, keep=True)
        sketch = deposits.sketch(record.name, base64.b64encode(png.getvalue()).decode())
        stored = Files(features)
        place = tmp_path / "home" / "searches" / "kept" / record.name
        search = Search(features, name=record.name)
        crop = (0.0, 0.0, 0.5, 1.0)
        search.picture(stored.picture(place / f"{upload}.jpg", crop)[1], crop=crop, sha=upload)
        search.sketch(stored.sketch(place / f"{sketch}.png")[1], sha=sketch)
        with opened.store.writing() as connection:
            for event in search.events[1:]:
                searches.append(connection, record, f"key-{event.number}", event.number - 1, event)
    done = endoxa("search", "replay", record.name, "--home", home)
    assert (done.exit_code, done.stdout) == (0, f"{record.name} replays exactly: 2 pages.\n")
    (place / f"{upload}.jpg").unlink()
    done = endoxa("search", "replay", record.name, "--home", home)
    assert done.exit_code == 1 and "upload it again" in done.stdout


def test_the_page_is_served(scenes: Path, tmp_path: Path) -> None:
    stored_search(tmp_path, scenes)  # the features are there
    words = ["search", str(scenes), "--serve", "--port", "0", "--home", str(tmp_path / "searches")]
    server = subprocess.Popen(
        [sys.executable, "-c", "from endoxa.cli import main; main()", *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "ENDOXA_DB": ""},
    )  # fmt: skip
    try:
        assert server.stdout is not None
        link = re.search(r"http://\S+/join/\S+", server.stdout.readline())
        assert link is not None, server.communicate()
        assert "nickname" in server.stdout.readline()
        with urllib.request.urlopen(link[0], timeout=20) as answer:
            assert answer.status == 200 and b"nickname" in answer.read().lower()
    finally:
        server.terminate()
        server.communicate(timeout=20)
