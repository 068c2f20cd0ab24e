"""The API as it is written down: Schemathesis finds nothing that breaks it, and people find every address of it."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from web_samples import START, Person, Sample, opened

from endoxa.web.studies import judging, organising, participating, verdicts

CHECKS = [
    not_a_server_error, status_code_conformance, content_type_conformance, response_headers_conformance,
    response_schema_conformance, negative_data_rejection,
]  # fmt: skip
FEW = settings(max_examples=10, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None)


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sample]:
    """A site with a study for each who plays with it."""
    with opened(tmp_path_factory.mktemp("site")) as found:
        found.make("judged", "four-results", comments=True, known=True)
        found.make("organised", "one-result")
        found.judge("organised").finish(lambda task: [{"item": item["id"], "grade": 5} for item in task["items"]])
        yield found


@pytest.fixture(scope="module")
def document(sample: Sample) -> Any:
    """The API's own description."""
    return schemathesis.openapi.from_asgi("/openapi.json", sample.app)


@pytest.fixture(scope="module")
def people(sample: Sample) -> dict[str, Person]:
    """Who is signed in."""
    return {"judge": sample.judge("judged"), "organiser": sample.organiser("organised")}


def use(case: Any, sample: Sample, people: dict[str, Person], role: str) -> int:
    """Ask as that person, about their study, and hold the answer against what is written; its status."""
    person = people[role]
    if not case.meta.generation.mode.is_negative:
        case.path_parameters["study"] = person.study
        if role == "judge" and case.path.endswith("/answers"):
            _aim(case.body, person)
    response = case.call(headers={"X-CSRF-Token": person.csrf}, cookies=dict(person.client.cookies))
    case.validate_response(response, checks=CHECKS)
    if response.status_code == 204 and case.path.endswith("/leave"):
        people[role] = sample.enter(person.link, person.study)
    return int(response.status_code)


def _aim(body: dict[str, Any], judge: Person) -> None:
    """Make an answer be about a task that there is: else all would be refused alike. Half of them fit it."""
    if tasks := judge.get("tasks?count=1").json()["tasks"]:
        body |= {"task": tasks[0]["id"], "key": str(uuid.uuid4())}
        if len(body.get("responses", ())) % 2 == 0:
            body["responses"] = [{"item": item["id"], "grade": 1} for item in tasks[0]["items"]]


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=lambda mode: mode.value)
@pytest.mark.parametrize("role", ["judge", "organiser"])
def test_nothing_that_is_sent_breaks_it(
    sample: Sample, document: Any, people: dict[str, Person], role: str, mode: GenerationMode
) -> None:
    statuses: Counter[int] = Counter()
    for found in document.get_all_operations():
        operation = found.ok()

        @FEW
        @given(case=operation.as_strategy(generation_mode=mode))
        def ask(case: Any) -> None:
            statuses[use(case, sample, people, role)] += 1

        ask()
    assert statuses.total() > 80
    if mode is GenerationMode.POSITIVE:
        assert {200, 201, 204, 404} <= set(statuses)  # own things work, those of other roles are not there
    else:
        assert 422 in statuses


def test_every_address_is_described(sample: Sample) -> None:
    paths = sample.app.openapi()["paths"]
    assert len(paths) == 15
    for path, operations in paths.items():
        assert path.startswith("/api/studies/{study}/")
        for operation in operations.values():
            assert operation["summary"]
            assert operation["description"].endswith(".")
            assert operation["tags"]
            assert {"401", "403", "404", "422"} <= set(operation["responses"])


def test_every_address_of_the_api_is_in_the_document(sample: Sample) -> None:
    described = set(sample.app.openapi()["paths"])
    for part in (judging, organising, participating, verdicts):
        for route in part.router(sample.studio).routes:
            path = getattr(route, "path", "")
            assert path in described or not path.startswith("/api"), path


def test_people_can_read_it(sample: Sample) -> None:
    page = sample.browser().get("/api")
    assert page.status_code == 200
    words = unescape(page.text)
    document = sample.app.openapi()
    for path, operations in document["paths"].items():
        assert path in page.text
        for operation in operations.values():
            assert operation["description"].splitlines()[0] in words
    for name in document["components"]["schemas"]:
        assert name in page.text
    assert sample.browser().get("/openapi.json").json() == document
    assert sample.clock() == START
