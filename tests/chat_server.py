"""A local server that speaks the protocol of chat completions, with failures as a test wants them."""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOKENS = {"prompt_tokens": 50, "completion_tokens": 3}
TRICKLES = "X-Trickles"  # a header: the body is sent a byte at a time
Answer = tuple[int, dict[str, str], bytes]


def completion(text: str | None, *, usage: dict[str, int] | None = TOKENS, logprobs: Any = None) -> Answer:
    """An answer of status 200."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "logprobs": logprobs}
    return 200, {}, json.dumps({"choices": [choice], "usage": usage}).encode()


def refusal(status: int, message: str = "no", **heads: str) -> Answer:
    """An error of the protocol; `Retry_After` is a header."""
    body = json.dumps({"error": {"message": message}}).encode()
    return status, {name.replace("_", "-"): value for name, value in heads.items()}, body


def prompt_of(body: dict[str, Any]) -> str:
    """The text of a request."""
    content = body["messages"][0]["content"]
    return content if isinstance(content, str) else content[0]["text"]


def pair_of(body: dict[str, Any]) -> tuple[str, str]:
    """The query and the item of the usual prompt."""
    found = re.search(r"Query: (.*?)\n\nItem:\n(.*?)\n\nReply", prompt_of(body), re.DOTALL)
    assert found is not None
    return found[1], found[2]


class Server:
    """Answers by `reply(body, number)`; counts requests and answered gradings, and keeps bodies and headers."""

    def __init__(self, reply: Callable[[dict[str, Any], int], Answer]) -> None:
        self.reply, self.lock = reply, threading.Lock()
        self.bodies: list[dict[str, Any]] = []
        self.heads: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.sent = Counter[int]()
        self.pause = 0.0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def answer(self, path: str, heads: dict[str, str], raw: bytes) -> Answer:
        body = json.loads(raw)
        with self.lock:
            number = len(self.bodies)
            self.bodies.append(body)
            self.heads.append(heads)
            self.paths.append(path)
        if self.pause:
            time.sleep(self.pause)
        answer = self.reply(body, number)
        with self.lock:
            self.sent[answer[0]] += 1
        return answer


@contextmanager
def serving(reply: Callable[[dict[str, Any], int], Answer]) -> Iterator[Server]:
    """A server on a free port."""
    served = Server(reply)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            status, heads, body = served.answer(self.path, dict(self.headers), raw)
            try:
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **heads}.items():
                    self.send_header(name, value)
                self.end_headers()
                for part in [body] if TRICKLES not in heads else [body[at : at + 1] for at in range(len(body))]:
                    self.wfile.write(part)
                    time.sleep(0.1 if TRICKLES in heads else 0)
            except (BrokenPipeError, ConnectionResetError):
                pass

        def log_message(self, *_: Any) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 64

        def handle_error(self, *_: Any) -> None:
            pass

    with Quiet(("127.0.0.1", 0), Handler) as server:
        served.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield served
        finally:
            server.shutdown()
            thread.join()
