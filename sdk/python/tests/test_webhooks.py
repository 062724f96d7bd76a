"""Verification of webhooks. The conformance suite has the forged and damaged callbacks."""

import email.message
import json
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from typing import Any

from quittance import (
    Event,
    EventInProgressError,
    WebhookVerificationError,
    once,
    sign_webhook,
    verify_webhook,
)

SECRET = "whsec_this-is-an-example-and-signs-nothing-at-all"
AT = "2026-03-01T09:30:00.000000Z"
NOW = datetime(2026, 3, 1, 9, 31, tzinfo=timezone.utc)
BODY = json.dumps({
    "schema_version": "service-webhook-v2",
    "id": "0195b1f0-4c00-7a3e-9d2b-6f1c2a7e8b90",
    "event": "einvoice.status.changed",
    "resource_type": "submission",
    "resource_id": "0195b1ef-9a10-7c55-8f0e-2b7d1c3e4f60",
    "occurred_at": AT,
    "payload": {"invoice_number": "فاتورة-1"},
}, ensure_ascii=False).encode()


def headers(secret: str = SECRET, at: str = AT) -> dict[str, str]:
    """Return the headers of a genuine callback."""
    return {
        "X-Webhook-Event": "einvoice.status.changed",
        "X-Webhook-Delivery": "0195b1f0-4c00-7a3e-9d2b-6f1c2a7e8b90",
        "X-Webhook-Timestamp": at,
        "X-Webhook-Signature": sign_webhook(secret, at, BODY),
    }


def verify(given: Any, body: bytes | str = BODY, secrets: Any = SECRET, **more: Any) -> Event:
    """Verify a callback a minute after its event."""
    return verify_webhook(body, given, secrets=secrets, now=lambda: NOW, **more)


class Verification(unittest.TestCase):
    """What is accepted, and with which reason all else is refused."""

    def reason(self, *args: Any, **more: Any) -> str:
        """Return why a callback is refused."""
        with self.assertRaises(WebhookVerificationError) as raised:
            verify(*args, **more)
        self.assertNotIn("whsec_", str(raised.exception))
        return raised.exception.reason

    def test_the_published_vector(self) -> None:
        uuid = b'"0195b1f0-4c00-7a3e-9d2b-6f1c2a7e8b90"'
        body = b'{"schema_version":"service-webhook-v2","id":' + uuid + b"}"
        want = "v1=bfa4070535a39003625f2b391408588ef11b7c72e6173dce9067717a5212454b"
        self.assertEqual(sign_webhook(SECRET, AT, body), want)

    def test_a_genuine_callback_is_accepted_with_the_headers_of_any_framework(self) -> None:
        message = email.message.Message()
        for name, value in headers().items():
            message[name] = value
        lower = {name.lower(): value for name, value in headers().items()}
        for given in (headers(), lower, message):
            with self.subTest(type(given)):
                self.assertEqual(verify(given), json.loads(BODY))
        self.assertEqual(verify(headers(), BODY.decode()), json.loads(BODY))
        self.assertEqual(verify(headers(), bytearray(BODY)), json.loads(BODY))

    def test_each_secret_of_a_rotation_is_accepted(self) -> None:
        both = ["whsec_new", SECRET]
        for secret in both:
            self.assertEqual(verify(headers(secret), secrets=both)["id"], json.loads(BODY)["id"])
        self.assertEqual(self.reason(headers("whsec_other"), secrets=both), "signature")
        for none in ("", [], [""], [SECRET, ""]):
            self.assertEqual(self.reason(headers(), secrets=none), "no_secret")

    def test_the_tolerance_is_a_timedelta_or_seconds(self) -> None:
        for seconds, accepted in ((59.9, False), (60, True)):
            for tolerance in (seconds, timedelta(seconds=seconds)):
                with self.subTest(tolerance=tolerance):
                    if accepted:
                        verify(headers(), tolerance=tolerance)
                    else:
                        self.assertEqual(self.reason(headers(), tolerance=tolerance), "timestamp")

    def test_bytes_that_no_header_should_have_are_refused(self) -> None:
        for value in ("v1=\udce9", "v1=é", "\x00"):
            given = {**headers(), "X-Webhook-Signature": value}
            self.assertEqual(self.reason(given), "signature")
            self.assertEqual(self.reason({**headers(), "X-Webhook-Timestamp": value}), "signature")

    def test_a_body_that_is_too_deep_is_refused(self) -> None:
        body = b"[" * 100_000
        given = {**headers(), "X-Webhook-Signature": sign_webhook(SECRET, AT, body)}
        self.assertEqual(self.reason(given, body), "body")

    def test_the_clock_of_the_system_is_the_default(self) -> None:
        at = datetime.now(timezone.utc).isoformat()
        self.assertEqual(verify_webhook(BODY, headers(at=at), secrets=SECRET)["id"],
                         json.loads(BODY)["id"])


class Once(unittest.TestCase):
    """Each event is handled once."""

    def event(self, number: int) -> Event:
        """Return an event with an identifier of its own."""
        event: Event = json.loads(BODY)
        event["id"] = f"e-{number}"
        return event

    def test_a_duplicate_during_the_first_is_refused_and_later_dropped(self) -> None:
        began, end, handled = threading.Event(), threading.Event(), list[str]()

        def slow(event: Event) -> None:
            handled.append(event["id"])
            began.set()
            end.wait(60)

        handler = once(slow)
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(handler, self.event(1))
            self.assertTrue(began.wait(60))
            with self.assertRaises(EventInProgressError):
                handler(self.event(1))
            end.set()
            first.result()
        handler(self.event(1))
        self.assertEqual(handled, ["e-1"])

    def test_many_threads_handle_an_event_once(self) -> None:
        handled: list[str] = []
        handler = once(lambda event: handled.append(event["id"]))

        def deliver(number: int) -> None:
            try:
                handler(self.event(number % 10))
            except EventInProgressError:
                deliver(number)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(deliver, range(400)))
        self.assertEqual(sorted(handled), [f"e-{n}" for n in range(10)])

    def test_a_handler_that_failed_gets_the_event_again(self) -> None:
        for failure in (ValueError, KeyboardInterrupt):
            outcomes: list[type[BaseException] | None] = [failure, None]

            def handle(event: Event) -> None:
                outcome = outcomes.pop(0)
                if outcome:
                    raise outcome

            handler = once(handle, capacity=0)  # at least one is remembered
            with self.assertRaises(failure):
                handler(self.event(1))
            handler(self.event(1))
            handler(self.event(1))
            self.assertEqual(outcomes, [])
