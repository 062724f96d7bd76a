"""How calls are made: credentials, attempts, and what a response means.

A call has its effect at most once, whatever fails. Only calls whose repetition the service
recognizes are repeated: reads, deletions, logins, submissions, and changes with an
Idempotency-Key.
"""

from __future__ import annotations

import email.utils
import random
import re
import secrets
import threading
import time
import urllib.parse
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, TypeVar, get_origin

from . import _json
from ._transport import HTTPTransport, Request, Response, Transport
from .errors import (
    STATUS_ERRORS,
    APIError,
    AuthenticationError,
    BadRequestError,
    ConfigurationError,
    RequestTimeoutError,
    ResponseError,
    ResponseTooLargeError,
    ServerError,
    TransportError,
    UnreadableResponseError,
)
from .types import Login, PasswordChanged, PasswordRequest

T = TypeVar("T")

#: The largest response that is read, in bytes: a document of 10 MiB in base64 and more.
MAX_RESPONSE = 16 << 20
#: The longest Retry-After that a call waits for, in seconds.
MAX_RETRY_AFTER = 60.0
#: The wait before the first retry, in seconds. It is doubled for each further one up to the
#: longest.
RETRY_FIRST, RETRY_LONGEST = 0.2, 5.0

_VISIBLE = re.compile(r"[!-~]+")
_AUTH = "/api/v1/client/auth"


class Secret:
    """A text that is not printed."""

    def __init__(self, text: str) -> None:
        self.reveal: Callable[[], str] = lambda: text

    def __repr__(self) -> str:
        return "[redacted]"


@dataclass(frozen=True)
class Session:
    """One login. Sessions are compared by identity: a call asks for another than the rejected."""

    token: Secret
    login: Login = field(repr=False)


@dataclass
class Options:
    """What a client is made from, after its validation."""

    base: str
    key: Secret | None
    email: str | None
    password: Secret | None
    otp: Callable[[], str] | None
    timeout: float
    max_retries: int
    user_agent: str
    transport: Transport


@dataclass
class Call:
    """One operation with its arguments."""

    method: str
    path: str
    query: Mapping[str, str] | None = None
    body: Mapping[str, object] | None = None
    #: True for an operation that the service itself recognizes when it is repeated.
    repeatable: bool = False
    #: The key of the caller; None for a random one, which is not used if repeatable is true.
    key: str | None = None
    #: True for a call that has no key unless the caller gives one.
    without_key: bool = False
    #: Content of a body that is no JSON, with its media type.
    file: tuple[bytes, str] | None = None
    #: Time for one attempt in seconds; None for that of the client.
    timeout: float | None = None
    #: The largest response, in bytes.
    limit: int = MAX_RESPONSE

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


def options(
    base_url: str,
    api_key: str | None,
    email: str | None,
    password: str | None,
    otp: Callable[[], str] | None,
    timeout: float,
    max_retries: int,
    user_agent: str,
    transport: Transport | None,
) -> Options:
    """Return validated options. Raises ConfigurationError, whose text has none of them."""
    try:
        parts = urllib.parse.urlsplit(base_url)
        host, user, _ = parts.hostname, parts.username, parts.port
    except ValueError:
        host, user = None, None
    if (
        not host
        or user is not None
        or parts.scheme not in ("http", "https")
        or not _VISIBLE.fullmatch(base_url)
        or "?" in base_url
        or "#" in base_url
    ):
        raise ConfigurationError(
            "base_url must be http or https with a host, and without user info, query and fragment"
        )
    if bool(api_key) == bool(email or password) or bool(email) != bool(password):
        raise ConfigurationError("either api_key, or email and password are required")
    if api_key and not _VISIBLE.fullmatch(api_key):
        raise ConfigurationError("api_key must have visible ASCII characters only")
    if not re.fullmatch(r"[ -~]+", user_agent):
        raise ConfigurationError("user_agent must have ASCII characters only")
    if not timeout > 0 or timeout == float("inf"):
        raise ConfigurationError("timeout must be a positive number of seconds")
    if max_retries < 0:
        raise ConfigurationError("max_retries is negative")
    return Options(
        base=base_url.rstrip("/"),
        key=Secret(api_key) if api_key else None,
        email=email,
        password=Secret(password) if password else None,
        otp=otp,
        timeout=timeout,
        max_retries=max_retries,
        user_agent=user_agent,
        transport=transport or HTTPTransport(),
    )


def path(fixed: str, *segments: str | int) -> str:
    """Return a path with escaped segments. Raises ConfigurationError for an empty identifier."""
    for segment in map(str, segments):
        if segment in ("", ".", ".."):
            raise ConfigurationError("an identifier is empty or not one")
        fixed += "/" + urllib.parse.quote(segment, safe="")
    return fixed


class Core:
    """Makes the calls of one client. It is safe for use by several threads."""

    def __init__(self, given: Options) -> None:
        self.options = given
        # Tests replace what follows.
        self.sleep: Callable[[float], None] = time.sleep
        self.now: Callable[[], float] = time.time
        self.monotonic: Callable[[], float] = time.monotonic
        self.jitter: Callable[[], float] = random.random
        self._lock = threading.Lock()  # guards the fields below
        self._current: Session | None = None
        self._pending: Future[Session] | None = None  # the login in progress

    def log_in(self) -> Login:
        """Log in now, unless that is in progress, and return the response."""
        self._require_user()
        with self._lock:
            current = self._current
        return self._session(current).login

    def log_out(self) -> None:
        """Revoke the token of the login, if there is one."""
        with self._lock:
            session = self._current
        if session is None:
            return
        call = Call("POST", _AUTH + "/logout", repeatable=True)
        headers, body = self._prepare(call)
        try:
            self._attempts(call, headers, body, session.token)
        except AuthenticationError as error:
            if error.code != "unauthenticated":  # a rejected token is as good as a revoked one
                raise
        with self._lock:
            if self._current is session:
                self._current = None

    def change_password(self, password: str) -> None:
        """Change the password, once: the old one is wrong the second time."""
        self._require_user()
        change: PasswordRequest = {"current_password": self.password(), "new_password": password}
        call = Call("POST", _AUTH + "/password", body=change, without_key=True)
        self.one(call, PasswordChanged)
        self.options.password = Secret(password)

    def password(self) -> str:
        """Return the password of the user, "" for a client with an API key."""
        return self.options.password.reveal() if self.options.password else ""

    def _require_user(self) -> None:
        if self.options.key is not None:
            raise ConfigurationError("a client with an API key has no login and no password")

    def one(self, call: Call, kind: type[T]) -> T:
        """Make a call that returns one object of a type of the API."""
        data, _ = self._envelope(call, kind)
        return data

    def page(self, call: Call, kind: type[T]) -> tuple[list[T], Mapping[str, Any]]:
        """Make a call that returns a page of a list, and return its entries and its position."""
        data, position = self._envelope(call, list[kind])  # type: ignore[valid-type]
        return data, position

    def envelope(self, call: Call) -> dict[str, Any]:
        """Make a call and return its whole response."""
        response = self._send(call)
        try:
            envelope = _json.decode(response.body)
            if not isinstance(envelope, dict) or "data" not in envelope:
                raise ValueError("no data")
            return envelope
        except ValueError as error:
            raise self._unreadable(call, response, "it is not JSON, or has no data") from error

    def file(self, call: Call) -> bytes:
        """Make a call that returns a file."""
        return self._send(call).body

    def _envelope(self, call: Call, kind: type[T]) -> tuple[T, Mapping[str, Any]]:
        response = self._send(call)
        try:
            envelope = _json.decode(response.body)
            data, position = envelope["data"], envelope.get("pagination") or {}
            if not isinstance(data, get_origin(kind) or dict) or not isinstance(position, dict):
                raise TypeError("data has another type")
            return _json.shaped(data, kind), position
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise self._unreadable(call, response, "it is not JSON, or has no data") from error

    def _send(self, call: Call) -> Response:
        """Make the attempts of a call, and again with a new token if the token is rejected.

        That is safe for every operation, because the service checks the token first.
        """
        headers, body = self._prepare(call)
        if self.options.key is not None:
            return self._attempts(call, headers, body, self.options.key)
        session = self._session(None)
        try:
            return self._attempts(call, headers, body, session.token)
        except AuthenticationError as error:
            if error.code != "unauthenticated":
                raise
        return self._attempts(call, headers, body, self._session(session).token)

    def _prepare(self, call: Call) -> tuple[dict[str, str], bytes]:
        """Return the header fields and the body, which are the same in every attempt."""
        if call.timeout is not None and not 0 < call.timeout < float("inf"):
            raise ConfigurationError("timeout must be a positive number of seconds")
        headers = {"Accept": "application/json", "User-Agent": self.options.user_agent}
        body = b""
        if call.body is not None:
            headers["Content-Type"] = "application/json"
            try:
                body = _json.encode(call.body)
            except (TypeError, ValueError, RecursionError) as error:
                raise ConfigurationError(f"{call}: the body cannot be sent: {error}") from error
        elif call.file is not None:
            body, headers["Content-Type"] = call.file
        if not call.repeatable and not (call.without_key and call.key is None):
            key = secrets.token_hex(16) if call.key is None else call.key
            if len(key) > 255 or not _VISIBLE.fullmatch(key):
                raise ConfigurationError(
                    "an idempotency key must have 1 to 255 visible ASCII characters"
                )
            headers["Idempotency-Key"] = key
        return headers, body

    def _session(self, rejected: Session | None) -> Session:
        """Return a session other than the rejected one.

        Of several threads that need a login, one logs in and all share the result: a wrong
        password is tried once, because the service counts failures.
        """
        with self._lock:
            if self._current is not None and self._current is not rejected:
                return self._current
            pending = self._pending
            if pending is None:
                mine: Future[Session] = Future()
                self._pending = mine
        return self._lead(mine) if pending is None else pending.result()

    def _lead(self, pending: Future[Session]) -> Session:
        """Log in, and share the result with the threads that wait for it."""
        session: Session | None = None
        # What the others get if this thread ends otherwise, for instance by KeyboardInterrupt.
        failure: Exception = TransportError("the login was interrupted")
        try:
            session = self._log_in()
            return session
        except Exception as error:
            failure = error
            raise
        finally:
            with self._lock:
                self._current, self._pending = session, None
            if session is not None:
                pending.set_result(session)
            else:
                pending.set_exception(failure)

    def _log_in(self) -> Session:
        given = self.options
        credentials = {"email": given.email, "password": self.password()}
        call = Call("POST", _AUTH + "/login", body=credentials, repeatable=True)
        headers, body = self._prepare(call)
        ask = given.otp
        try:
            response = self._attempts(call, headers, body, None)
        except AuthenticationError as error:
            if error.code != "otp_required" or ask is None:
                raise
            credentials["otp"] = ask()
            call.repeatable = False  # a code works once
        if not call.repeatable:
            _, body = self._prepare(call)
            response = self._attempts(call, headers, body, None)
        try:
            login = _json.shaped(_json.decode(response.body)["data"], Login)
            if _VISIBLE.fullmatch(login["token"]):
                return Session(Secret(login["token"]), login)
        except (KeyError, TypeError, ValueError):
            pass  # reported below, without the response, which may have a token
        raise self._unreadable(call, response, "it has no token")

    def _attempts(
        self, call: Call, headers: dict[str, str], body: bytes, token: Secret | None
    ) -> Response:
        """Send a request until it succeeds, fails for good, or was sent often enough."""
        repeatable = call.repeatable or "Idempotency-Key" in headers
        for number in range(self.options.max_retries + 1):
            wait = min(RETRY_FIRST * 2 ** min(number, 10), RETRY_LONGEST) * (0.5 + self.jitter())
            last = number == self.options.max_retries or not repeatable
            try:
                return self._attempt(call, headers, body, token)
            except TransportError:
                if last:
                    raise
            except ResponseError as error:
                again = error.status in (429, 502, 503, 504)
                if last or not again or error.retry_after > MAX_RETRY_AFTER:
                    raise
                wait = max(wait, error.retry_after)
            self.sleep(wait)
        raise AssertionError("unreachable")

    def _attempt(
        self, call: Call, headers: dict[str, str], body: bytes, token: Secret | None
    ) -> Response:
        """Send a request once and return its success. Raises TransportError or ResponseError."""
        given = self.options
        url = given.base + call.path
        if call.query:
            url += "?" + urllib.parse.urlencode(call.query)
        if token is not None:
            headers = {**headers, "Authorization": "Bearer " + token.reveal()}
        timeout = given.timeout if call.timeout is None else call.timeout
        request = Request(call.method, url, headers, body, timeout, call.limit)
        try:
            response = given.transport(request)
        except TimeoutError as error:
            raise RequestTimeoutError(f"{call}: no response within {timeout} s") from error
        except OSError as error:
            why = f"{type(error).__name__}: {error}"
            raise TransportError(f"{call}: no response: {why}") from error
        if len(response.body) > call.limit:
            raise ResponseTooLargeError(
                f"{call}: HTTP {response.status}: the response is too large",
                **self._facts(response),
            )
        if 200 <= response.status <= 299:
            return response
        raise self._failure(call, response)

    def _failure(self, call: Call, response: Response) -> ResponseError:
        """Return the error of a response that is not a success."""
        status = response.status
        if 300 <= status <= 399:
            return self._unreadable(call, response, "redirects are not followed")
        try:
            error = _json.decode(response.body)["error"]
            code, message = str(error["code"]), str(error.get("message", ""))
            details = error.get("details") or {}
            if not code or not isinstance(details, dict):
                raise ValueError("no error of the API")
        except (AttributeError, KeyError, TypeError, ValueError):
            return self._unreadable(call, response, "it is no error of the API")
        kind: type[APIError] = ServerError if status >= 500 else BadRequestError
        return STATUS_ERRORS.get(status, kind)(
            f"{call}: HTTP {status}: {code}: {message}",
            code=code,
            message=message,
            details=details,
            **self._facts(response),
        )

    def _unreadable(self, call: Call, response: Response, why: str) -> UnreadableResponseError:
        return UnreadableResponseError(
            f"{call}: HTTP {response.status}: the response is not one of the API: {why}",
            **self._facts(response),
        )

    def _facts(self, response: Response) -> dict[str, Any]:
        """Return what every error of a response has."""
        headers = response.headers
        return {
            "status": response.status,
            "request_id": headers.get("x-request-id", ""),
            "retry_after": retry_after(headers.get("retry-after", ""), self.now()),
        }


def retry_after(value: str, now: float) -> float:
    """Return the seconds that a Retry-After (RFC 9110, section 10.2.3) asks for.

    It is 0 for a date in the past and for what is neither a date nor a number of seconds. now is
    the time in seconds since 1970.
    """
    if re.fullmatch(r"[0-9]+", value):
        return float(value[:18].lstrip("0") or "0") if len(value) <= 18 else float("inf")
    try:
        at = email.utils.parsedate_to_datetime(value)
    except ValueError:
        return 0.0
    if at.tzinfo is None:
        at = at.replace(tzinfo=timezone.utc)
    return max(at.timestamp() - now, 0.0)


def moment(value: datetime | str | None) -> str | None:
    """Return a time as a query parameter. Raises ConfigurationError for a time without a zone."""
    if not isinstance(value, datetime):
        return value
    if value.utcoffset() is None:
        raise ConfigurationError("a time must have a zone, such as datetime.timezone.utc")
    return value.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
