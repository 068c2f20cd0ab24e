"""A toy application with one page on the site: headers, problem pages, static files, tokens; nothing of studies."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse
from starlette.testclient import TestClient

from endoxa.errors import RefusedError, TextError
from endoxa.web.security import BODY, HEADERS, UPLOAD, csrf_of
from endoxa.web.site import Site, create_application

PAGE = '{% extends "layout.html" %}{% block main %}<h1>{{ greeting }}</h1>{% endblock %}'
HTML = {"Accept": "text/html"}


def router(site: Site) -> APIRouter:
    here = APIRouter()

    @here.get("/hello", response_class=HTMLResponse, include_in_schema=False)
    def hello(request: Request) -> Response:
        return site.page("hello.html", request, greeting="Hello <b>you</b>")

    @here.post("/api/act")
    def act(request: Request) -> dict[str, bool]:
        """Do something."""
        site.need_own_act(request)
        return {"done": True}

    @here.get("/enter/{token}")
    def enter(request: Request, token: str) -> Response:
        with site.guarding(request):
            if token != "right":
                raise RefusedError("this link is not known here", 404)
        return site.sign_in(Response(), "secret", seconds=60)

    @here.get("/leave")
    def leave() -> Response:
        response = Response()
        site.sign_out(response)
        return response

    @here.post("/upload/file")
    async def upload(request: Request) -> int:
        return len(await request.body())

    @here.get("/wrong")
    def wrong() -> None:
        raise TextError("wrong is no word")

    @here.get("/broken")
    def broken() -> None:
        raise ZeroDivisionError("the inside of it")

    @here.get("/number/{number}")
    def number(number: int) -> int:
        return number

    return here


@pytest.fixture
def site(tmp_path: Path) -> Site:
    (tmp_path / "hello.html").write_text(PAGE)
    return Site("k" * 40, "https://toy.example", "toy", templates=tmp_path)


@pytest.fixture
def browser(site: Site) -> TestClient:
    app = create_application(
        site, title="Toy", description="One page.", routers=[router(site)], uploads={"/upload/": UPLOAD}
    )  # fmt: skip
    return TestClient(app, base_url=site.url, raise_server_exceptions=False)


def test_a_page_has_its_layout_and_escapes(browser: TestClient) -> None:
    page = browser.get("/hello")
    assert page.status_code == 200
    assert "<h1>Hello &lt;b&gt;you&lt;/b&gt;</h1>" in page.text
    assert '<link rel="stylesheet" href="/static/endoxa.css">' in page.text


@pytest.mark.parametrize("path", ["/hello", "/static/endoxa.css", "/nowhere", "/wrong", "/broken", "/api", "/number/x"])
def test_every_response_has_the_headers(browser: TestClient, path: str) -> None:
    answer = browser.get(path)
    for name, value in HEADERS.items():
        assert answer.headers[name] == value
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("path", "status", "title", "text"),
    [
        ("/nowhere", 404, "Page not found", "There is nothing at this address."),
        ("/wrong", 422, "That did not work", "Wrong is no word."),
        ("/broken", 500, "That did not work", "An internal error occurred; the log of the server has the details."),
    ],
)
def test_problems_are_pages_for_people_and_json_for_programs(browser, path, status, title, text) -> None:
    page = browser.get(path, headers=HTML)
    assert page.status_code == status
    assert f"<h1>{title}</h1>" in page.text and f"<p>{text}</p>" in page.text
    assert "inside of it" not in page.text
    answer = browser.get(path)
    assert answer.status_code == status
    detail = answer.json()["detail"]
    assert text == f"{detail[0].upper()}{detail[1:]}."


def test_malformed_requests_name_the_place(browser: TestClient) -> None:
    assert browser.get("/number/x").json()["detail"].startswith("path.number: ")
    assert browser.put("/hello").json()["detail"] == "this address does not accept that method"


def test_static_files_are_served_and_nothing_beside_them(browser: TestClient) -> None:
    assert browser.get("/static/dom.js").status_code == 200
    assert browser.get("/favicon.ico").headers["content-type"] == "image/svg+xml"
    assert browser.get("/static/../site.py").status_code == 404


def test_the_api_describes_itself(browser: TestClient) -> None:
    document = browser.get("/openapi.json").json()
    assert document["info"]["title"] == "Toy" and "/api/act" in document["paths"]
    assert "Toy: API" in browser.get("/api").text


def test_sessions_and_tokens(site: Site, browser: TestClient) -> None:
    entered = browser.get("/enter/right")
    cookie = entered.headers["set-cookie"]
    assert cookie.startswith("__Host-endoxa-toy-") and "=secret;" in cookie
    assert all(word in cookie for word in ("HttpOnly", "Secure", "SameSite=lax", "Max-Age=60", "Path=/"))
    token = csrf_of(site.key, "secret")
    assert f'<meta name="csrf" content="{token}">' in browser.get("/hello").text
    assert browser.post("/api/act", headers={"X-CSRF-Token": token}).json() == {"done": True}
    assert browser.post("/api/act").status_code == 403
    strange = {"X-CSRF-Token": token, "Sec-Fetch-Site": "cross-site"}
    assert browser.post("/api/act", headers=strange).status_code == 403
    browser.get("/leave")
    assert '<meta name="csrf" content="">' in browser.get("/hello").text


def test_guessing_is_slowed(browser: TestClient) -> None:
    codes = [browser.get(f"/enter/{number}").status_code for number in range(25)]
    assert codes == [404] * 20 + [429] * 5
    assert browser.get("/enter/right").status_code == 429


def test_bodies_have_a_limit_and_uploads_a_larger_one(browser: TestClient) -> None:
    assert browser.post("/api/act", content=b"x" * (BODY + 1)).status_code == 413
    assert browser.post("/upload/file", content=b"x" * (BODY + 1)).json() == BODY + 1
    assert browser.post("/upload/file", content=b"x", headers={"Content-Length": str(UPLOAD + 1)}).status_code == 413


def test_the_site_imports_nothing_of_studies() -> None:
    code = (
        "import sys, endoxa.web.site, endoxa.web.serving\n"
        "parts = ('endoxa.web.studies', 'endoxa.store', 'endoxa.studies')\n"
        "print([name for name in sys.modules if name.startswith(parts)])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
