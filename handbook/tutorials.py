"""Run a tutorial as a reader would: every command in order, in an empty folder.

What the runner knows of Markdown:

    ```sh           commands of the reader, run by the shell; each must succeed. A command of SERVERS that stands alone
                    serves pages until the end; it prints a link
    ```python       what the reader does in Python; run by this Python
    ```text         what the commands before it print; renewed from what they print now
    ![…](images/x.png)   a picture of x.html, if there is such a file by now; else of the page served, as the steps
                    in handbook/browsing.py leave it
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1] / "docs"
TUTORIALS = DOCS / "tutorials"
FENCE = re.compile(r"^```(?P<kind>[a-z]+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
PICTURE = re.compile(r"!\[[^\]]*\]\(images/(?P<name>[\w-]+)\.png\)")
LINK = re.compile(r"http://127\.0\.0\.1:\d+/\S*")
PATIENCE = 240.0  # seconds within which a server prints its link
# Commands that serve pages, and what the runner adds to them: any port will do, and no window.
SERVERS = {"endoxa study serve --home studies": "--port 0", "endoxa search photos": "--port 0 --no-browser"}

Steps = Callable[[Any, str], None]  # what a reader does in the browser: a page, and the links printed so far


@dataclass
class Reader:
    """Somebody who follows a tutorial in a folder of their own."""

    folder: Path
    browser: Any = None  # of Playwright; without one no pictures are made
    steps: dict[str, Steps] = field(default_factory=dict)  # by the name of the picture
    said: str = ""  # what the commands since the last text printed
    links: str = ""  # everything printed that may hold a link
    servers: list[subprocess.Popen[str]] = field(default_factory=list)

    def follow(self, text: str, images: Path | None = None) -> str:
        """Do what the text says. The text, with what is printed now in the place of what was printed once."""
        places = sorted([*FENCE.finditer(text), *PICTURE.finditer(text)], key=lambda match: match.start())
        renewed, at = [], 0
        for place in places:
            if "kind" not in place.groupdict():
                if images is not None and self.browser is not None:
                    self.picture(place["name"], images)
                continue
            kind, body = place["kind"], place["body"]
            if kind == "sh" and body.strip() in SERVERS:
                self.serve(body.strip())
            elif kind == "sh":
                self.run(body)
            elif kind == "python":
                self.python(body)
            elif kind == "text":
                renewed += [text[at : place.start("body")], self.said]
                at, self.said = place.end("body"), ""
        return "".join([*renewed, text[at:]])

    @property
    def environment(self) -> dict[str, str]:
        """The reader's: our Python first on PATH, 80 columns, a cache and settings of the folder's own."""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return {**os.environ, "PATH": path, "COLUMNS": "80", "NO_COLOR": "1", "PYTHONUNBUFFERED": "1"}

    def run(self, commands: str) -> None:
        """Run commands by the shell, which stops at the first that fails."""
        done = subprocess.run(
            ["bash", "-euc", commands],
            cwd=self.folder,
            env=self.environment,
            text=True,
            capture_output=True,
            check=False,
        )
        if done.returncode:
            raise AssertionError(f"{commands}ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        printed = "\n".join(line.rstrip() for line in done.stdout.splitlines()) + "\n"
        self.said += printed.replace(str(self.folder), "…") if printed.strip() else ""
        self.links += done.stdout

    def python(self, code: str) -> None:
        """Run Python in the folder."""
        subprocess.run([sys.executable, "-c", code], cwd=self.folder, env=self.environment, check=True)

    def serve(self, command: str) -> None:
        """Start a server, and wait until it has printed a link."""
        command = f"{command} {SERVERS[command]}"
        log = self.folder / f"server-{len(self.servers)}.log"
        with log.open("w") as output:
            server = subprocess.Popen(
                ["bash", "-euc", f"exec {command}"], cwd=self.folder, env=self.environment, text=True,
                stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        self.servers.append(server)
        until = time.monotonic() + PATIENCE
        while not LINK.search(log.read_text()):
            if server.poll() is not None or time.monotonic() > until:
                raise AssertionError(f"{command} printed no link:\n{log.read_text()}")
            time.sleep(0.1)
        self.links += log.read_text()

    def picture(self, name: str, images: Path) -> None:
        """A picture of a page that a command wrote, or of the one that is served."""
        page = self.browser.new_page(viewport={"width": 1000, "height": 700})
        page.set_default_timeout(1000 * PATIENCE)
        try:
            written = self.folder / f"{name}.html"
            if written.exists():
                page.goto(written.as_uri())
            self.steps.get(name, open_last_link if not written.exists() else nothing)(page, self.links)
            images.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=images / f"{name}.png")
        finally:
            page.close()

    def close(self) -> None:
        """End the servers."""
        for server in self.servers:
            os.killpg(server.pid, signal.SIGTERM)
            server.wait(10)


def nothing(_page: Any, _links: str) -> None:
    """Leave the page as it is."""


def open_last_link(page: Any, links: str) -> None:
    """Open the link that was printed last."""
    page.goto(LINK.findall(links)[-1])
    page.wait_for_load_state("networkidle")


@contextmanager
def reading(folder: Path, **given: Any) -> Iterator[Reader]:
    """A reader in an empty folder, whose servers end with it."""
    reader = Reader(folder, **given)
    try:
        yield reader
    finally:
        reader.close()
