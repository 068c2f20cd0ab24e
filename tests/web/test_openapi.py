"""The API as it is written down: Schemathesis finds nothing that breaks it, and people find every address of it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from web_samples import START, Person, Sample, opened

CHECKS = [
    not_a_server_error, status_code_conformance, content_type_conformance, response_headers_conformance,
    response_schema_conformance, negative_data_rejection,
]  # fmt: skip
FEW = settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None)


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


schema = schemathesis.pytest.from_fixture("document")


@pytest.fixture(scope="module")
def people(sample: Sample) -> dict[str, Person]:
    """Who is signed in."""
    return {"judge": sample.judge("judged"), "organiser": sample.organiser("organised")}


def use(case: Any, sample: Sample, people: dict[str, Person], role: str) -> None:
    """Ask as that person, about their study, and hold the answer against what is written."""
    person = people[role]
    is_wild = case.meta is not None and case.meta.generation.mode.is_negative
    if not is_wild:
        case.path_parameters["study"] = person.study
        if case.path.endswith("/answers") and isinstance(case.body, dict):  # a task there is, else all is refused alike
            task = person.task()
            case.body |= {"task": task["id"], "key": str(uuid.uuid4())}
    response = case.call(headers={"X-CSRF-Token": person.csrf}, cookies=dict(person.client.cookies))
    case.validate_response(response, checks=CHECKS)
    if response.status_code == 204 and case.path.endswith("/leave"):
        people[role] = sample.enter(person.link, person.study)


@schema.parametrize()
@FEW
def test_a_judge_finds_nothing_that_breaks(case: Any, sample: Sample, people: dict[str, Person]) -> None:
    use(case, sample, people, "judge")


@schema.parametrize()
@FEW
def test_the_organiser_finds_nothing_that_breaks(case: Any, sample: Sample, people: dict[str, Person]) -> None:
    use(case, sample, people, "organiser")


def test_every_address_is_described(sample: Sample) -> None:
    paths = sample.app.openapi()["paths"]
    assert len(paths) == 12
    for path, operations in paths.items():
        assert path.startswith("/api/studies/{study}/")
        for operation in operations.values():
            assert operation["summary"]
            assert operation["description"].endswith(".")
            assert operation["tags"]
            assert {"401", "403", "404", "422"} <= set(operation["responses"])


def test_every_address_of_the_api_is_in_the_document(sample: Sample) -> None:
    served = {route.path for route in sample.app.routes if route.path.startswith("/api/")}
    assert served == set(sample.app.openapi()["paths"])


def test_people_can_read_it(sample: Sample) -> None:
    page = sample.browser().get("/api")
    assert page.status_code == 200
    document = sample.app.openapi()
    for path, operations in document["paths"].items():
        assert path in page.text
        for operation in operations.values():
            assert operation["description"].splitlines()[0] in page.text
    for name in document["components"]["schemas"]:
        assert name in page.text
    assert sample.browser().get("/openapi.json").json() == document
    assert sample.clock() == START
