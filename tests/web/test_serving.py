"""Several servers on one host: a browser stays signed in at each of them."""

from __future__ import annotations

from http.cookiejar import CookieJar
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, OpenerDirector, build_opener

from browser_samples import Server
from search_page_samples import paint
from soak.crowd import STUDY, prepare

SEARCH = r"search here: (?P<link>(?P<url>http://[^\s/]+:(?P<port>\d+))/join/\S+)"


def opened(browser: OpenerDirector, url: str, form: dict[str, str] | None = None) -> str:
    """Where the browser is after it opened a page, or sent a form."""
    with browser.open(url, urlencode(form).encode() if form is not None else None, timeout=60) as response:
        return str(response.url)


def test_two_studies_and_a_search_on_one_host(tmp_path: Path) -> None:
    """Cookies know no ports: a jar sends them to every server of the host, as browsers do."""
    photos = paint(tmp_path / "photos")
    more = ("--vectors", str(tmp_path / "vectors.npz"), "--index", str(tmp_path / "index"), "--workers", "1")
    tokens = {name: prepare(tmp_path / name / "home", None, judges=1, tasks=6)[0] for name in ("one", "two")}
    servers = {name: Server(tmp_path / name / "home") for name in tokens}
    # The search shares the folder of a study, as it does by default.
    servers["search"] = Server(tmp_path / "one" / "home", ("search", str(photos), "--serve", *more), SEARCH)
    browser = build_opener(HTTPCookieProcessor(CookieJar()))
    try:
        for name, server in servers.items():
            server.start()
            link = f"{server.url}/join/{tokens[name]}" if name in tokens else server.link
            opened(browser, link, {"nickname": "ana"})
        places = {name: f"/s/{STUDY}" if name in tokens else "/search" for name in servers}
        for name, place in places.items():
            url = servers[name].url + place
            assert opened(browser, url) == url  # else 401
    finally:
        for server in servers.values():
            server.stop()


def test_a_session_outlives_the_server(tmp_path: Path) -> None:
    token = prepare(tmp_path / "home", None, judges=1, tasks=6)[0]
    server = Server(tmp_path / "home")
    browser = build_opener(HTTPCookieProcessor(CookieJar()))
    try:
        server.start()
        opened(browser, f"{server.url}/join/{token}", {"nickname": ""})
        server.stop()
        server.start()
        assert opened(browser, f"{server.url}/s/{STUDY}").endswith(STUDY)
    finally:
        server.stop()
