"""Attempts, waits, logins and errors, with a transport that answers from a script."""

import threading
import traceback
import unittest
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from typing import Any

import quittance
from quittance import Client, ConfigurationError, Request, Response, _core
from tests.scripted import Script, Step, answer, client, data, failure

LOGIN = data({"token": "canary-token"})
OK = data({"id": "i"})


class Requests(unittest.TestCase):
    """Operations that have no method."""

    def test_the_response_is_returned(self) -> None:
        made, script, _ = client(answer(200, {"data": [1], "pagination": {"total": 1}}))
        got = made.request("GET", "/api/v1/client/users", query={"per_page": 1, "active": True})
        self.assertEqual(got, {"data": [1], "pagination": {"total": 1}})
        self.assertEqual(
            script.requests[0].url,
            "https://quittance.example.com/api/v1/client/users?per_page=1&active=true",
        )

    def test_files(self) -> None:
        made, script, _ = client(data({}))
        made.request("POST", "/api/v1/x", body=b"a,b", content_type="text/csv")
        self.assertEqual(script.requests[0].headers["Content-Type"], "text/csv")
        self.assertEqual(script.requests[0].body, b"a,b")
        self.assertEqual(made.download("/api/v1/x"), b'{"data": {}}')
        with self.assertRaises(ConfigurationError):
            made.request("POST", "/api/v1/x", body=b"a,b")

    def test_only_what_is_safe_is_repeated(self) -> None:
        for method, key, attempts in (
            ("GET", None, 4),
            ("DELETE", None, 4),
            ("POST", None, 1),
            ("POST", "k", 4),
        ):
            made, script, _ = client(ConnectionResetError())
            with self.subTest(method=method, key=key):
                with self.assertRaises(quittance.TransportError):
                    made.request(method, "/api/v1/x", body={"a": 1}, idempotency_key=key)
                keys = [request.headers.get("Idempotency-Key") for request in script.requests]
                self.assertEqual(keys, [key] * attempts)

    def test_a_path_stays_on_the_host(self) -> None:
        for path in ("", "@example.com/api/", "//example.com/api/", "/api/v1?x", "/api/ x", "/x"):
            made, script, _ = client(data({}))
            with self.subTest(path=path):
                with self.assertRaises(ConfigurationError):
                    made.request("GET", path)
                with self.assertRaises(ConfigurationError):
                    made.download(path)
                self.assertEqual(script.requests, [])

    def test_a_response_without_data(self) -> None:
        for body in ([], {"x": 1}):
            made, _, _ = client(answer(200, body))
            with self.assertRaises(quittance.UnreadableResponseError):
                made.request("GET", "/api/v1/x")


class Waits(unittest.TestCase):
    """How long a call waits before it is repeated. The conformance suite shows when it is."""

    def test_waits_are_doubled_up_to_a_limit(self) -> None:
        made, script, waits = client(ConnectionResetError())
        made._core.options.max_retries = 7
        with self.assertRaises(quittance.TransportError):
            made.account.get()
        self.assertEqual(waits, [0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0])
        self.assertEqual(len(script.requests), 8)

    def test_waits_are_spread(self) -> None:
        made, _, waits = client(ConnectionResetError())
        made._core.jitter = iter([0.0, 0.999, 0.5, 0.5]).__next__
        with self.assertRaises(quittance.TransportError):
            made.account.get()
        self.assertAlmostEqual(waits[0], 0.1)
        self.assertAlmostEqual(waits[1], 0.5996)

    def test_a_retry_after_makes_the_wait_longer(self) -> None:
        for value, wait in {
            "2": 2.0,
            "0": 0.2,
            "60": 60.0,
            "Sun, 01 Mar 2026 09:30:30 GMT": 30.0,
            "Sun, 01 Mar 2026 09:29:00 GMT": 0.2,
            "soon": 0.2,
            "-5": 0.2,
            "": 0.2,
        }.items():
            made, _, waits = client(failure(429, "rate_limited", Retry_After=value), OK)
            with self.subTest(value=value):
                made.account.get()
                self.assertEqual(waits, [wait])

    def test_a_retry_after_of_more_than_a_minute_is_an_error_at_once(self) -> None:
        for value, seconds in {"61": 61.0, "9" * 5000: float("inf")}.items():
            made, script, waits = client(failure(503, "unavailable", Retry_After=value))
            with self.subTest(value=value[:5]), self.assertRaises(quittance.ServerError) as raised:
                made.account.get()
            self.assertEqual((len(script.requests), waits), (1, []))
            self.assertEqual(raised.exception.retry_after, seconds)


class Logins(unittest.TestCase):
    """Threads share a login, and its failure."""

    def share(self, login: Response, count: int) -> tuple[list[object], Script]:
        """Make calls in threads, all of which need the login, and return what became of them."""
        waiting = threading.Semaphore(0)

        def slow(request: Request) -> Response:
            for _ in range(count - 1):
                waiting.acquire()
            return login

        made, script, _ = client(slow, OK, password="canary-password")
        core, session = made._core, made._core._session

        def announced(rejected: Any) -> Any:
            waiting.release()
            return session(rejected)

        setattr(core, "_session", announced)

        def call(_: int) -> object:
            try:
                return made.account.get()
            except quittance.QuittanceError as error:
                return error

        with ThreadPoolExecutor(count) as pool:
            return list(pool.map(call, range(count))), script

    def test_concurrent_calls_share_one_login(self) -> None:
        results, script = self.share(LOGIN, 8)
        self.assertEqual(results, [{"id": "i"}] * 8)
        self.assertEqual([r.url.endswith("/login") for r in script.requests].count(True), 1)

    def test_a_call_after_an_interrupted_login_logs_in(self) -> None:
        def interrupted(request: Request) -> Response:
            raise KeyboardInterrupt

        made, _, _ = client(interrupted, LOGIN, OK, password="canary-password")
        with self.assertRaises(KeyboardInterrupt):
            made.account.get()
        self.assertEqual(made.account.get(), {"id": "i"})

    def test_a_token_that_is_not_one_is_refused(self) -> None:
        for token in ("", "a b", "a\r\nX: y", 5, None):
            made, script, _ = client(data({"token": token}), password="canary-password")
            with self.subTest(token=token), self.assertRaises(quittance.UnreadableResponseError):
                made.account.get()
            self.assertEqual(len(script.requests), 1)


class Configuration(unittest.TestCase):
    """Wrong options are errors at once, and no text has a secret."""

    def test_wrong_options_are_errors(self) -> None:
        key: dict[str, Any] = {"api_key": "qk_canary"}
        wrong: list[tuple[str, dict[str, Any]]] = [
            ("ftp://h", key),
            ("https://user:canary@h", key),
            ("https://h?canary", key),
            ("https://h#canary", key),
            ("https://", key),
            ("https://h:99999", key),
            ("https://[canary", key),
            ("https://h/\r\ncanary", key),
            ("https://h", {}),
            ("https://h", {"email": "e"}),
            ("https://h", {"password": "canary"}),
            ("https://h", {**key, "email": "e", "password": "canary"}),
            ("https://h", {"api_key": "canary\r\nX: y"}),
            ("https://h", {**key, "timeout": 0}),
            ("https://h", {**key, "timeout": float("nan")}),
            ("https://h", {**key, "timeout": float("inf")}),
            ("https://h", {**key, "max_retries": -1}),
            ("https://h", {**key, "user_agent": "a\r\nb"}),
        ]
        for url, options in wrong:
            with self.subTest(url=url, options=options):
                with self.assertRaises(ConfigurationError) as raised:
                    Client(url, **options)
                self.assertNotIn("canary", "".join(traceback.format_exception(raised.exception)))

    def test_wrong_arguments_are_errors_before_anything_is_sent(self) -> None:
        made, script, _ = client(OK)
        calls: list[Callable[[], object]] = [
            lambda: made.invoices.get(""),
            lambda: made.invoices.get(".."),
            lambda: made.invoices.list(per_page=0),
            lambda: made.invoices.list(per_page=101),
            lambda: made.invoices.list().page(0),
            lambda: made.invoices.list(updated_since=datetime(2026, 3, 1)),
            lambda: made.credit_notes.void("i", idempotency_key=""),
            lambda: made.credit_notes.void("i", idempotency_key="a b"),
            lambda: made.credit_notes.void("i", idempotency_key="k" * 256),
        ]
        for call in calls:
            with self.assertRaises(ConfigurationError):
                call()
        self.assertEqual(script.requests, [])

    def test_nothing_shows_a_secret(self) -> None:
        for made, script, _ in (client(LOGIN, OK, password="canary"), client(OK)):
            made.account.get()
            core = made._core
            shown = [made, core.options, vars(core), core._current, *script.requests]
            self.assertNotIn("canary", repr(shown) + str(shown))

    def test_no_error_shows_a_secret(self) -> None:
        steps: list[Step] = [
            ConnectionRefusedError("no"),
            TimeoutError("no"),
            failure(401, "invalid_credentials"),
            failure(500, "internal"),
            answer(302, {}, Location="https://elsewhere.example.com"),
            Response(200, {}, b"<html>"),
            Response(200, {}, b" " * (_core.MAX_RESPONSE + 1)),
        ]
        for step in steps:
            for password in ("", "canary"):
                made, _, _ = client(step, password=password)
                with self.subTest(step=str(step)[:80]):
                    with self.assertRaises(quittance.QuittanceError) as raised:
                        made.account.get()
                    text = "".join(traceback.format_exception(raised.exception))
                    self.assertNotIn("canary", text + repr(raised.exception))


class Errors(unittest.TestCase):
    """What an error has. The conformance suite has the class for each status."""

    def test_an_error_of_the_service_has_everything_that_the_response_says(self) -> None:
        body = {"error": {"code": "limit_reached", "message": "No.", "details": {"limit": 20}}}
        made, _, _ = client(answer(409, body, X_Request_Id="r-7"))
        with self.assertRaises(quittance.ConflictError) as raised:
            made.invoices.submit("i")
        error = raised.exception
        got = (error.status, error.code, error.message, error.details, error.request_id)
        self.assertEqual(got, (409, "limit_reached", "No.", {"limit": 20}, "r-7"))
        self.assertIn("POST /api/v1/client/invoices/i/submit: HTTP 409: limit_reached", str(error))
        self.assertIn("r-7", str(error))

    def test_an_error_without_the_form_of_the_api_is_unreadable(self) -> None:
        for body in ({"error": None}, {"error": {}}, {"error": {"code": ""}}, [], "x", None):
            made, _, _ = client(answer(404, body))
            with self.subTest(body=body), self.assertRaises(quittance.UnreadableResponseError):
                made.account.get()

    def test_a_success_without_the_form_of_the_api_is_unreadable(self) -> None:
        for body in ({}, {"data": None}, {"data": []}, {"data": "x"}, [], "x", None):
            made, script, _ = client(answer(200, body))
            with self.subTest(body=body), self.assertRaises(quittance.UnreadableResponseError):
                made.account.get()
            self.assertEqual(len(script.requests), 1)

    def test_a_response_that_is_too_large_is_not_read(self) -> None:
        made, script, _ = client(Response(200, {}, b" " * (_core.MAX_RESPONSE + 1)))
        with self.assertRaises(quittance.ResponseTooLargeError):
            made.account.get()
        self.assertEqual((len(script.requests), script.requests[0].limit), (1, 16 << 20))


class Wait(unittest.TestCase):
    """The end of submit_and_wait. The conformance suite has its other cases."""

    def invoice(self, receiver: str | None, final: bool) -> dict[str, object]:
        """Return an invoice whose receiver has said something, and all others everything."""
        done, said = {"value": "accepted", "final": True}, {"value": receiver, "final": final}
        states: dict[str, object] = {"submission_state": done, "provider_invoice_state": done}
        states.update(tax_authority_state=done, receiver_state=said if receiver else None)
        submission = {"outcome": "acknowledged", "next_check_at": "2026-03-01T09:31:00Z"}
        return {"id": "i", "submitted": True, "submission": submission, "states": states}

    def test_it_reads_less_and_less_often_until_its_time_is_over(self) -> None:
        made, script, waits = client(data(self.invoice("sent", False)))
        got = made.invoices.submit_and_wait("i", timeout=100)
        self.assertFalse(quittance.is_final(got))
        self.assertEqual(waits, [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 8.5])
        self.assertEqual([r.method for r in script.requests], ["POST"] + ["GET"] * 9)

    def test_its_time_can_end_before_the_first_read(self) -> None:
        step = failure(409, "submission_in_progress")
        made, script, waits = client(step, data(self.invoice(None, False)))
        self.assertEqual(made.invoices.submit_and_wait("i", timeout=0)["id"], "i")
        self.assertEqual((len(script.requests), waits), (2, []))

    def test_until_replaces_the_condition(self) -> None:
        responses = [data(self.invoice(said, False)) for said in (None, "sent", "seen")]
        made, script, _ = client(*responses)
        got = made.invoices.submit_and_wait(
            "i", until=lambda i: i["states"]["receiver_state"] is not None
        )
        self.assertEqual(len(script.requests), 2)
        self.assertFalse(quittance.is_final(got))


class Lists(unittest.TestCase):
    """Iterators and pages. The conformance suite has them against the real binary."""

    def page(self, request: Request) -> Response:
        """Answer with a page of a list of 10 entries, of which 3 fit in a response."""
        query = dict(part.split("=") for part in request.url.partition("?")[2].split("&"))
        number, size = int(query["page"]), int(query["per_page"])
        if size > 3:
            return Response(200, {}, b" " * (_core.MAX_RESPONSE + 1))
        entries = [{"id": n} for n in range(10)][(number - 1) * size : number * size]
        at = {"current_page": number, "per_page": size, "has_more": number * size < 10,
              "last_page": 10 // size + 1, "total": 10}
        return answer(200, {"data": entries, "pagination": at})

    def test_a_page_that_is_too_large_is_read_in_smaller_ones(self) -> None:
        made, script, _ = client(self.page)
        listing = made.customers.list(per_page=25)
        for _ in range(2):  # a list can be iterated again
            self.assertEqual([entry["id"] for entry in listing], list(range(10)))
        self.assertIn("per_page=3", script.requests[-1].url)

    def test_a_page_by_its_number(self) -> None:
        made, script, _ = client(self.page)
        page = made.customers.list(per_page=3).page(2)
        self.assertEqual([entry["id"] for entry in page.data], [3, 4, 5])
        self.assertEqual((page.pagination["total"], page.pagination["has_more"]), (10, True))
        self.assertEqual(len(script.requests), 1)

    def test_filters_are_sent_as_the_api_has_them(self) -> None:
        made, script, _ = client(self.page)
        since = datetime(2026, 3, 1, 9, 30, tzinfo=timezone.utc)
        made.invoices.list(
            submitted=True,
            attention=False,
            recipient_name="Ö & Co",
            updated_since=since,
            per_page=2,
        ).page()
        self.assertEqual(
            script.requests[0].url.partition("?")[2],
            "recipient_name=%C3%96+%26+Co&updated_since=2026-03-01T09%3A30%3A00Z"
            "&submitted=true&attention=false&page=1&per_page=2",
        )

    def test_a_feed_goes_on_from_its_cursor_and_ends(self) -> None:
        def feed(number: int, cursor: str, more: bool) -> Response:
            at = {"next_cursor": cursor, "has_more": more}
            return answer(200, {"data": [{"id": number}], "pagination": at})

        made, script, _ = client(feed(1, "a", True), feed(2, "b", True), feed(3, "b", True))
        pages = list(made.events.list(after="x", per_page=2).pages())
        self.assertEqual([page.pagination["next_cursor"] for page in pages], ["a", "b", "b"])
        self.assertEqual(
            [request.url.partition("?")[2] for request in script.requests],
            ["limit=2&after=x", "limit=2&after=a", "limit=2&after=b"],
        )
