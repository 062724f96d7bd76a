"""How requests are sent: one attempt, bounded in time and size, and without redirects."""

from __future__ import annotations

import http.client
import io
import select
import socket
import ssl
import threading
import time
import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

#: The time in seconds after which an idle connection is not used any more.
_IDLE = 30.0
#: The greatest number of idle connections that are kept.
_KEPT = 8
#: The size in bytes of the parts in which bodies are sent and read.
_PART = 1 << 16


@dataclass(frozen=True)
class Request:
    """One attempt of a call. Its headers have a credential, which its repr does not show."""

    #: Method, such as "GET".
    method: str
    #: Complete address.
    url: str
    #: Header fields by their names.
    headers: Mapping[str, str] = field(repr=False)
    #: Body; b"" for none.
    body: bytes = field(repr=False)
    #: Time for the whole attempt, in seconds.
    timeout: float
    #: A transport may stop reading the body of the response after so many bytes.
    limit: int


@dataclass(frozen=True)
class Response:
    """A response to an attempt, whatever its status."""

    #: HTTP status.
    status: int
    #: Header fields by their names, in lower case.
    headers: Mapping[str, str] = field(repr=False)
    #: The body as it was sent, or its beginning if it has more bytes than the limit of the
    #: request.
    body: bytes = field(repr=False)


#: Sends a request once. It raises TimeoutError if there is no complete response in time, and
#: OSError if there is none for another reason. It must not follow redirects, because the next
#: address would get the credential.
Transport = Callable[[Request], Response]


class HTTPTransport:
    """Sends requests with http.client and keeps connections for later requests.

    It is safe for use by several threads. It verifies the certificate and the name of a server,
    uses no proxy, and does not follow redirects. The time-out is that of a whole attempt, except
    that only the operating system bounds the resolution of a name, and that each address of the
    name has the time-out to connect.
    """

    def __init__(self, *, ssl_context: ssl.SSLContext | None = None) -> None:
        """Use ssl_context for https; None means the default one with the system's authorities."""
        self._context = ssl_context or ssl.create_default_context()
        self._lock = threading.Lock()
        self._idle: list[tuple[str, float, _Connection]] = []  # origin, since when, connection

    def __call__(self, request: Request) -> Response:
        """Send a request once. Raises TimeoutError, and OSError for other failures."""
        parts = urllib.parse.urlsplit(request.url)
        origin = f"{parts.scheme}://{parts.netloc}"
        connection = self._take(origin) or self._connection(parts)
        target = urllib.parse.urlunsplit(("", "", parts.path or "/", parts.query, ""))
        kept = False
        try:
            connection.deadline = time.monotonic() + request.timeout
            connection.request(request.method, target, request.body or None, dict(request.headers))
            with connection.getresponse() as response:
                body = _read(response, request.limit)
                reusable = response.isclosed() and not response.will_close
                headers = {name.lower(): value for name, value in response.getheaders()}
            kept = reusable and connection.sock is not None
            if kept:
                self._keep(origin, connection)
            return Response(response.status, headers, body)
        except http.client.HTTPException as error:
            why = f"not a complete HTTP response: {type(error).__name__}"
            raise ConnectionError(why) from error
        finally:
            if not kept:
                connection.close()

    def close(self) -> None:
        """Close the idle connections. A later request opens new ones."""
        with self._lock:
            idle, self._idle = self._idle, []
        for _, _, connection in idle:
            connection.close()

    def _connection(self, parts: urllib.parse.SplitResult) -> _Connection:
        if parts.scheme == "https":
            return _Connection(parts.hostname or "", parts.port or 443, self._context)
        return _Connection(parts.hostname or "", parts.port or 80, None)

    def _take(self, origin: str) -> _Connection | None:
        """Return the idle connection that was used last, and close those that cannot be used."""
        found, unusable = None, []
        with self._lock:
            rest: list[tuple[str, float, _Connection]] = []
            for entry in reversed(self._idle):
                if time.monotonic() - entry[1] > _IDLE or not entry[2].quiet():
                    unusable.append(entry[2])
                elif found is None and entry[0] == origin:
                    found = entry[2]
                else:
                    rest.insert(0, entry)
            self._idle = rest
        for connection in unusable:
            connection.close()
        return found

    def _keep(self, origin: str, connection: _Connection) -> None:
        with self._lock:
            self._idle.append((origin, time.monotonic(), connection))
            surplus = self._idle[:-_KEPT]
            del self._idle[:-_KEPT]
        for _, _, oldest in surplus:
            oldest.close()


def _read(response: http.client.HTTPResponse, limit: int) -> bytes:
    """Read a body, or its first limit + 1 bytes. Raises IncompleteRead if it ends early."""
    body = bytearray()
    while len(body) <= limit:
        part = response.read(min(_PART, limit + 1 - len(body)))
        if not part:
            if response.length:  # of Content-Length, so many bytes are missing
                raise http.client.IncompleteRead(b"", response.length)
            break
        body += part
    return bytes(body)


class _Connection(http.client.HTTPConnection):
    """A connection whose every step ends at its deadline."""

    deadline: float  # of time.monotonic

    def __init__(self, host: str, port: int, context: ssl.SSLContext | None) -> None:
        super().__init__(host, port)
        self._tls = context
        if context is not None:
            self.default_port = 443  # which the Host field omits

    def connect(self) -> None:
        plain = socket.create_connection((self.host, self.port), self._left())
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls is not None:
                plain.settimeout(self._left())
                plain = self._tls.wrap_socket(plain, server_hostname=self.host)
        except BaseException:
            plain.close()
            raise
        self.sock = _Socket(plain, self._left)

    def quiet(self) -> bool:
        """Report whether an idle connection is open and has received nothing."""
        if self.sock is None:
            return False
        try:
            return not select.select([self.sock], [], [], 0)[0]
        except (OSError, ValueError):
            return False

    def _left(self) -> float:
        """Return the time until the deadline in seconds, or raise TimeoutError."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("no complete response in time")
        return left


class _Socket:
    """The part of a socket that http.client uses, with the time left as its time-out."""

    def __init__(self, plain: socket.socket, left: Callable[[], float]) -> None:
        self._plain, self._left = plain, left

    def sendall(self, data: bytes) -> None:
        view = memoryview(data)
        for start in range(0, len(view), _PART):
            self._plain.settimeout(self._left())
            self._plain.sendall(view[start : start + _PART])

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Reader(self._plain, self._left))

    def fileno(self) -> int:
        return self._plain.fileno()

    def close(self) -> None:
        self._plain.close()


class _Reader(io.RawIOBase):
    """Reads from a socket until the deadline."""

    def __init__(self, plain: socket.socket, left: Callable[[], float]) -> None:
        super().__init__()
        self._plain, self._left = plain, left
        # Like http.client's own reader, it keeps the socket open until it is closed itself.
        self._raw = plain.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int | None:  # type: ignore[override]
        self._plain.settimeout(self._left())
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()
