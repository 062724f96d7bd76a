"""A transport that answers from a script, and a client that uses it without waiting."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable

from quittance import Client, Request, Response

#: What a transport does with a request: a response, or an error to raise.
Step = Response | Exception | Callable[[Request], Response]


def answer(status: int, body: object, **headers: str) -> Response:
    """Return a response with a JSON body and headers such as Retry_After."""
    names = {name.replace("_", "-").lower(): value for name, value in headers.items()}
    return Response(status, names, json.dumps(body).encode())


def data(content: object) -> Response:
    """Return a success."""
    return answer(200, {"data": content})


def failure(status: int, code: str, **headers: str) -> Response:
    """Return an error of the service."""
    body = {"error": {"code": code, "message": "No.", "details": {}}}
    return answer(status, body, X_Request_Id="r-1", **headers)


class Script:
    """A transport that makes one step for each request, and the last one again and again."""

    def __init__(self, steps: Iterable[Step]) -> None:
        self.requests: list[Request] = []
        self._steps = list(steps)
        self._lock = threading.Lock()

    def __call__(self, request: Request) -> Response:
        """Make the next step."""
        with self._lock:
            self.requests.append(request)
            step = self._steps[0] if len(self._steps) == 1 else self._steps.pop(0)
        if isinstance(step, Exception):
            raise step
        return step if isinstance(step, Response) else step(request)


def client(*steps: Step, password: str = "") -> tuple[Client, Script, list[float]]:
    """Return a client with an API key or a password, its transport, and the waits that it made.

    Its clock stands at 2026-03-01T09:30:00Z and is moved by the waits alone.
    """
    script, waits = Script(steps), list[float]()
    url = "https://quittance.example.com"
    if password:
        made = Client(url, email="owner@example.com", password=password, transport=script)
    else:
        made = Client(url, api_key="qk_sandbox_canary", transport=script)
    core = made._core
    core.sleep = waits.append
    core.now = lambda: 1772357400.0 + sum(waits)
    core.monotonic = lambda: sum(waits)
    core.jitter = lambda: 0.5
    return made, script, waits
