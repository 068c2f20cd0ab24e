"""Requests to a server: keys, what is tried again, what ends everything; against a server on this machine."""

from __future__ import annotations

import threading
import time
from email.utils import formatdate
from typing import Any

import pytest
from chat_server import TRICKLES, completion, refusal, serving

from endoxa.errors import CallError
from endoxa.io import chat as module
from endoxa.io.chat import Chat, ChatError, RejectedError, key_of

BODY = {"messages": [{"role": "user", "content": "?"}]}


def chat(
    url: str, *, key_from: str | None = None, seconds: float = 10.0, stopped: threading.Event | None = None
) -> Chat:
    return Chat(url, "m", key_from=key_from, seconds=seconds, stopped=stopped or threading.Event())


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAITS", (0.01, 0.01, 0.01, 0.01))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def test_a_request_and_its_answer() -> None:
    with serving(lambda _body, _n: completion("2")) as server:
        said = chat(server.url + "/").ask({**BODY, "seed": 4})
    assert (said.text, said.tokens_in, said.tokens_out, list(said.places)) == ("2", 50, 3, [])
    assert server.paths == ["/v1/chat/completions"]
    assert server.bodies == [{"model": "m", **BODY, "seed": 4}]
    assert "Authorization" not in server.heads[0]


def test_what_a_server_may_leave_out() -> None:
    with serving(lambda _body, n: completion(None if n else "1", usage=None)) as server:
        asked = chat(f"{server.url}/chat/completions")
        assert (asked.ask(BODY).tokens_in, asked.ask(BODY).text) == (None, "")


def test_the_key_is_sent_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE", " sk-secret-1\n")
    with serving(lambda _body, _n: refusal(401, "wrong key: sk-secret-1")) as server:
        asked = chat(server.url, key_from="MINE")
        with pytest.raises(
            ChatError, match=r"does not accept the key \(status 401: wrong key: …\); put it into the"
        ) as caught:
            asked.ask(BODY)
    assert caught.value.final and len(server.bodies) == 1
    assert server.heads[0]["Authorization"] == "Bearer sk-secret-1"
    assert "sk-secret" not in repr(vars(caught.value)) and "sk-secret" not in repr(asked)


def test_whose_key_goes_where(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    assert key_of("https://api.example.org/v1", None) == "sk-1"
    assert key_of("http://localhost:8000/v1", None) == "" == key_of("http://gpu/v1", None)
    assert key_of("http://gpu/v1", "OPENAI_API_KEY") == "sk-1"
    with pytest.raises(CallError, match="the environment variable NOWHERE holds no key; export NOWHERE="):
        key_of("http://gpu/v1", "NOWHERE")
    monkeypatch.setenv("MINE", "sk-1\nX: 2")
    with pytest.raises(CallError, match="has blanks or odd characters") as caught:
        key_of("http://gpu/v1", "MINE")
    assert "sk-1" not in str(caught.value)
    named = r"wants a key .* name it: --key-from OPENAI_API_KEY"
    with serving(lambda _body, _n: refusal(401, "no key")) as server, pytest.raises(ChatError, match=named) as refused:
        chat(server.url).ask(BODY)
    assert refused.value.final


def test_a_key_is_not_sent_on_to_another_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE", "sk-1")
    with (
        serving(lambda _body, _n: completion("2")) as other,
        serving(lambda _body, _n: refusal(307, Location=f"{other.url}/x")) as server,
        pytest.raises(ChatError, match=f"sends to another address, {other.url}/x; give that one") as caught,
    ):
        chat(server.url, key_from="MINE").ask(BODY)
    assert caught.value.final and other.bodies == []


@pytest.mark.parametrize("failure", [
    refusal(500), refusal(503), refusal(429), (200, {}, b"{"), (200, {}, b"[]"), (200, {}, b'{"choices": []}'),
    (200, {"Content-Length": "999"}, b"{}"), (200, {}, b'{"choices": [{"message": null}]}'), (200, {}, b"\xff"),
])  # fmt: skip
def test_what_may_pass_is_tried_again(failure: Any) -> None:
    with serving(lambda _body, n: failure if n < 3 else completion("1")) as server:
        assert chat(server.url, seconds=1.0).ask(BODY).text == "1"
        assert len(server.bodies) == 4


def test_tries_have_an_end() -> None:
    with serving(lambda _body, _n: refusal(500, "out of\nmemory")) as server:
        with pytest.raises(ChatError, match=r"^the server answered with status 500: out of memory$") as caught:
            chat(server.url).ask(BODY)
        assert not caught.value.final and len(server.bodies) == 5


def test_a_server_that_asks_to_wait_is_obeyed() -> None:
    def reply(_body: Any, n: int) -> Any:
        times.append(time.monotonic())
        return refusal(429, Retry_After="0.4") if n == 0 else completion("1")

    times: list[float] = []
    with serving(reply) as server:
        chat(server.url).ask(BODY)
    assert times[1] - times[0] >= 0.4
    assert module._seconds(formatdate(time.time() + 30, usegmt=True)) == pytest.approx(30, abs=2)
    assert module._seconds("soon") is None is module._seconds(None)
    with serving(lambda _body, _n: refusal(429, Retry_After="3600")) as server:
        with pytest.raises(ChatError, match="asks to wait for 3,600 s") as caught:
            chat(server.url).ask(BODY)
        assert caught.value.final and len(server.bodies) == 1


def test_other_threads_wait_too() -> None:
    with serving(lambda _body, n: refusal(429, Retry_After="0.5") if n == 0 else completion("1")) as server:
        asked = chat(server.url)
        threads = [threading.Thread(target=asked.ask, args=(BODY,)) for _ in range(3)]
        threads[0].start()
        time.sleep(0.2)
        for one in threads[1:]:
            one.start()
        time.sleep(0.1)
        assert len(server.bodies) == 1
        for one in threads:
            one.join()
        assert len(server.bodies) == 4


def test_a_server_that_hangs_or_trickles_is_given_up() -> None:
    with serving(lambda _body, _n: (200, {TRICKLES: "1"}, completion("1")[2])) as server:
        with pytest.raises(ChatError, match=r"did not answer within 0\.3 s"):
            chat(server.url, seconds=0.3).ask(BODY)
        assert len(server.bodies) == 3
    with serving(lambda _body, _n: completion("1")) as server:
        server.pause = 0.6
        begun = time.monotonic()
        with pytest.raises(ChatError, match=r"did not answer within 0\.2 s"):
            chat(server.url, seconds=0.2).ask(BODY)
        assert len(server.bodies) == 3 and time.monotonic() - begun < 2  # each try takes the whole limit: fewer


def test_a_server_that_is_down() -> None:
    with serving(lambda _body, _n: completion("1")) as server:
        url = server.url
    with pytest.raises(ChatError, match=r"^the server cannot be reached: Connection refused$"):
        chat(url).ask(BODY)
    with pytest.raises(ChatError, match=r"^the server cannot be reached: "):
        chat("http://no-such-host.invalid/v1").ask(BODY)


def test_what_all_requests_would_meet_is_final_and_what_one_meets_is_not() -> None:
    with serving(lambda _body, _n: refusal(404, "no model m")) as server:
        with pytest.raises(
            ChatError, match=r"status 404: no model m; check the address .* name of the model"
        ) as caught:
            chat(server.url).ask(BODY)
        assert caught.value.final and len(server.bodies) == 1
    with serving(lambda _body, _n: refusal(400, "too long")) as server:
        with pytest.raises(RejectedError, match="status 400: too long") as rejected:
            chat(server.url).ask(BODY)
        assert not rejected.value.final and len(server.bodies) == 1


def test_a_stop_ends_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAITS", (60.0,))
    stopped = threading.Event()
    with serving(lambda _body, _n: refusal(500)) as server:
        threading.Timer(0.2, stopped.set).start()
        with pytest.raises(ChatError, match="was stopped"):
            chat(server.url, stopped=stopped).ask(BODY)


@pytest.mark.parametrize(
    "url", ["localhost:8000/v1", "ftp://x/v1", "http://", "http://a b/v1", "http://x/v1?key=1", "", "http://x:99999/"]
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(CallError, match="--url is the address of a server"):
        chat(url)


def test_an_address_with_a_password_is_refused_without_showing_it() -> None:
    with pytest.raises(CallError, match="--key-from") as caught:
        chat("http://me:secret@x/v1")
    assert "secret" not in str(caught.value)
