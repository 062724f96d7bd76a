"""Receives webhooks: verifies callbacks and drops duplicates."""

from __future__ import annotations

import hashlib
import hmac
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any, Protocol, TypeAlias, Union, cast

from . import _json
from .errors import QuittanceError, WebhookVerificationError
from .types import EventIncomingPayload, EventSubmissionPayload

__all__ = [
    "DEFAULT_TOLERANCE",
    "Event",
    "EventInProgressError",
    "Headers",
    "MAX_AHEAD",
    "once",
    "sign_webhook",
    "verify_webhook",
]

class Headers(Protocol):
    """The headers of a request in any framework: a dictionary, or something with its items."""

    def items(self) -> Iterable[tuple[str, str]]:
        """Return names and values."""
        ...  # of the framework


#: An event: a verified callback, or an entry of the events feed. Its resource_type says which of
#: both it is, and its payload has the fields of that one.
Event: TypeAlias = Union[EventSubmissionPayload, EventIncomingPayload]

#: The greatest age of a callback: 7 days. A delivery is retried for about a day and can be
#: redelivered later, always with the timestamp of the event. A replay within that time does no
#: harm to a receiver that drops duplicates.
DEFAULT_TOLERANCE = timedelta(days=7)
#: How far a timestamp may be in the future, because clocks differ: 5 minutes.
MAX_AHEAD = timedelta(minutes=5)

_SCHEMA_VERSION = "service-webhook-v2"
_RFC3339 = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)


class EventInProgressError(QuittanceError):
    """The event is being handled by another thread. Respond with 503, so that it comes again."""


def sign_webhook(secret: str, timestamp: str, body: bytes) -> str:
    """Return the value of X-Webhook-Signature, for tests of a receiver.

    It is "v1=" and the lowercase hex HMAC SHA-256 of the timestamp, a dot and the body. The key is
    all of the secret, "whsec_" included.
    """
    message = timestamp.encode("utf-8", "surrogateescape") + b"." + body
    return "v1=" + hmac.new(secret.encode("utf-8"), message, hashlib.sha256).hexdigest()


def verify_webhook(
    body: bytes | str,
    headers: Headers,
    *,
    secrets: str | Sequence[str],
    tolerance: timedelta | float = DEFAULT_TOLERANCE,
    now: Callable[[], datetime] | None = None,
) -> Event:
    """Verify a callback and return its event.

    body is the bytes that were received: JSON that was decoded and encoded again has another
    signature. The names of headers are compared without case. secrets is the signing secret of the
    subscription, or during a rotation those of the old and the new one. tolerance is the greatest
    age, as a timedelta or in seconds. now returns the time with a zone; None means the clock of
    the system.

    Raises WebhookVerificationError: respond with 401 then, but with 500 for the reason
    "no_secret".
    """
    raw = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else bytes(body)
    given = {name.lower(): value for name, value in headers.items()}
    timestamp = given.get("x-webhook-timestamp", "")
    _check_signature(given.get("x-webhook-signature", ""), timestamp, raw, secrets)
    _check_timestamp(timestamp, tolerance, now)
    event = _read(raw)
    names = (given.get("x-webhook-delivery"), given.get("x-webhook-event"))
    if names != (event["id"], event["event"]):
        raise WebhookVerificationError("mismatch", "headers and body name different events")
    return event


def once(
    handler: Callable[[Event], object], capacity: int = 1000
) -> Callable[[Event], None]:
    """Return a handler that handles each event once, for use by several threads.

    It remembers the last capacity events, at least 1, whose handler has returned. An event whose
    handler raised an error is handled again when it comes again. A duplicate that arrives while
    the first is still being handled raises EventInProgressError: to confirm it would lose the
    event if the first failed.

    The memory is lost with the process and not shared between processes. If a duplicate would do
    harm, insert the id of the event into your database with a unique key, in the transaction that
    processes it.
    """
    most = max(capacity, 1)
    lock = threading.Lock()
    handled: OrderedDict[str, None] = OrderedDict()
    busy: set[str] = set()

    def handle(event: Event) -> None:
        key = event["id"]
        with lock:
            if key in handled:
                return
            if key in busy:
                raise EventInProgressError(f"event {key} is being handled")
            busy.add(key)
        try:
            handler(event)
        except BaseException:
            with lock:
                busy.discard(key)
            raise
        with lock:
            busy.discard(key)
            handled[key] = None
            while len(handled) > most:
                handled.popitem(last=False)

    return handle


def _check_signature(
    signature: str, timestamp: str, body: bytes, secrets: str | Sequence[str]
) -> None:
    keys = [secrets] if isinstance(secrets, str) else list(secrets)
    if not keys or not all(keys):
        # Anybody can sign with an empty secret.
        raise WebhookVerificationError("no_secret", "no signing secret, or an empty one")
    got = signature.encode("utf-8", "surrogateescape")
    good = False
    for key in keys:  # all of them, so that the time does not show which one matches
        want = sign_webhook(key, timestamp, body).encode("ascii")
        good = hmac.compare_digest(got, want) or good
    if not good:
        raise WebhookVerificationError("signature", "the signature does not match")


def _check_timestamp(
    timestamp: str, tolerance: timedelta | float, now: Callable[[], datetime] | None
) -> None:
    most = tolerance if isinstance(tolerance, timedelta) else timedelta(seconds=tolerance)
    at = _moment(timestamp)
    if at is None:
        raise WebhookVerificationError("timestamp", "the timestamp is not RFC 3339 with a zone")
    age = (now() if now else datetime.now(timezone.utc)) - at
    if not -MAX_AHEAD <= age <= most:
        raise WebhookVerificationError("timestamp", f"{timestamp} is outside the tolerance")


def _moment(text: str) -> datetime | None:
    """Return an RFC 3339 time, to a microsecond, or None if it is not one."""
    found = _RFC3339.fullmatch(text)
    if not found:
        return None
    date, clock, fraction, zone = found.groups()
    micro = ((fraction or "") + "000000")[:6]
    try:
        zone = "+00:00" if zone in "Zz" else zone
        return datetime.fromisoformat(f"{date}T{clock}.{micro}{zone}")
    except ValueError:
        return None


def _read(body: bytes) -> Event:
    """Return the event of a verified body."""
    try:
        event: Any = _json.decode(body)
    except ValueError as error:
        raise WebhookVerificationError("body", "the body is not JSON in UTF-8") from error
    if not isinstance(event, dict) or event.get("schema_version") != _SCHEMA_VERSION:
        raise WebhookVerificationError("body", "the body is no event of a known schema version")
    for name in ("id", "event"):
        if not isinstance(event.get(name), str) or not event[name]:
            raise WebhookVerificationError("body", f"the body has no {name}")
    return cast(Event, event)
