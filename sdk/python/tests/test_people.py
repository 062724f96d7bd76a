"""Logins and passwords, people and keys, and files of lists, with a transport from a script."""

import unittest
from collections.abc import Callable
from datetime import datetime, timedelta, timezone

import quittance
from quittance import Client, ConfigurationError
from tests.scripted import answer, client, data, failure

LOGIN = data({"token": "token-1", "expires_at": "2026-03-01T12:00:00Z"})
OK = data({"id": "i"})


class Logins(unittest.TestCase):
    """The methods of a client for its own login."""

    def test_login_makes_a_new_one_for_later_calls(self) -> None:
        second = data({"token": "token-2", "expires_at": "2026-03-02T12:00:00Z"})
        made, script, _ = client(LOGIN, OK, second, OK, password="old")
        made.account.get()
        self.assertEqual(made.login()["expires_at"], "2026-03-02T12:00:00Z")
        made.account.get()
        tokens = [request.headers.get("Authorization") for request in script.requests]
        self.assertEqual(tokens, [None, "Bearer token-1", None, "Bearer token-2"])

    def test_logout_revokes_the_token_once(self) -> None:
        done = data({"logged_out": True})
        made, script, _ = client(LOGIN, ConnectionResetError(), done, LOGIN, OK, password="old")
        made.logout()
        self.assertEqual(script.requests, [])
        made.login()
        made.logout()
        made.logout()
        made.account.get()
        self.assertEqual(
            [request.url.rpartition("/")[2] for request in script.requests],
            ["login", "logout", "logout", "login", "account"],
        )
        self.assertNotIn("Idempotency-Key", script.requests[1].headers)

    def test_logout_of_a_token_that_is_rejected(self) -> None:
        made, script, _ = client(LOGIN, failure(401, "unauthenticated"), password="old")
        made.login()
        made.logout()
        self.assertEqual(len(script.requests), 2)  # no further login
        refused, _, _ = client(LOGIN, failure(403, "forbidden"), password="old")
        refused.login()
        with self.assertRaises(quittance.PermissionDeniedError):
            refused.logout()

    def test_a_new_password_is_used_from_then_on(self) -> None:
        changed, rejected = data({"password_changed": True}), failure(401, "unauthenticated")
        made, script, _ = client(LOGIN, changed, rejected, LOGIN, OK, password="old")
        made.change_password("new")
        made.account.get()
        self.assertEqual(
            [request.body for request in script.requests if request.body],
            [
                b'{"email":"owner@example.com","password":"old"}',
                b'{"current_password":"old","new_password":"new"}',
                b'{"email":"owner@example.com","password":"new"}',
            ],
        )
        self.assertNotIn("'new'", repr(vars(made._core.options)))

    def test_a_refused_password_is_not_used(self) -> None:
        refused = failure(422, "validation_failed")
        made, script, _ = client(LOGIN, refused, LOGIN, password="old")
        with self.assertRaises(quittance.ValidationError):
            made.change_password("short")
        made.login()
        self.assertIn(b'"password":"old"', script.requests[2].body)

    def test_an_api_key_has_no_login(self) -> None:
        made, script, _ = client(OK)
        calls: list[Callable[[], object]] = [made.login, lambda: made.change_password("new")]
        for call in calls:
            with self.assertRaises(ConfigurationError):
                call()
        made.logout()
        self.assertEqual(script.requests, [])


class SecondFactor(unittest.TestCase):
    """The calls that have a password or a code."""

    def test_bodies(self) -> None:
        codes = data({"recovery_codes": ["a"]})
        made, script, _ = client(LOGIN, codes, password="old")
        factor = made.second_factor
        factor.confirm_totp("287082")
        factor.confirm_totp("287082", otp="ab2d")
        factor.replace_recovery_codes("ab2d")
        factor.disable_totp("ab2d")
        self.assertEqual(
            [request.body for request in script.requests[1:]],
            [
                b'{"code":"287082","current_password":"old"}',
                b'{"code":"287082","otp":"ab2d"}',
                b'{"current_password":"old","otp":"ab2d"}',
                b'{"current_password":"old","otp":"ab2d"}',
            ],
        )

    def test_what_has_no_key_is_sent_once(self) -> None:
        calls: list[Callable[[Client], object]] = [
            lambda made: made.second_factor.begin_totp(),
            lambda made: made.second_factor.confirm_totp("287082"),
            lambda made: made.second_factor.disable_totp("ab2d"),
            lambda made: made.second_factor.replace_recovery_codes("ab2d"),
            lambda made: made.change_password("new"),
        ]
        for number, call in enumerate(calls):
            made, script, waits = client(LOGIN, ConnectionResetError(), password="old")
            with self.subTest(number), self.assertRaises(quittance.TransportError):
                call(made)
            self.assertEqual((len(script.requests), waits), (2, []))
            self.assertNotIn("Idempotency-Key", script.requests[1].headers)


class Lost(unittest.TestCase):
    """A response that is repeated lacks what only the first one has."""

    def test_a_key(self) -> None:
        made, _, _ = client(answer(201, {"data": {"id": "key-1", "name": "ERP"}}))
        with self.assertRaises(quittance.KeyLostError) as raised:
            made.api_keys.create({"name": "ERP", "scopes": ["read"]})
        self.assertEqual(raised.exception.api_key["id"], "key-1")
        self.assertIn("key-1", str(raised.exception))

    def test_a_link(self) -> None:
        made, _, _ = client(answer(201, {"data": {"id": "inv-1"}}))
        with self.assertRaises(quittance.LinkLostError) as raised:
            made.invitations.create({"email": "ann@palm.example", "role": "viewer"})
        self.assertEqual(raised.exception.invitation["id"], "inv-1")


class Files(unittest.TestCase):
    """Files of lists, and files with drafts."""

    def test_an_export_has_its_own_limits(self) -> None:
        large = b"x" * (17 << 20)
        made, script, _ = client(quittance.Response(200, {}, large))
        at = datetime(2026, 3, 1, 13, 30, tzinfo=timezone(timedelta(hours=4)))
        got = made.invoices.export("csv", rows="items", updated_since=at, timeout=300)
        self.assertEqual(len(got), len(large))
        made.incoming.export("xlsx", updated_since=at)
        made.credit_notes.export("csv", invoice_id="i")
        self.assertEqual(
            [request.url.partition("/client/")[2] for request in script.requests],
            [
                "invoices/export?format=csv&rows=items&updated_since=2026-03-01T09%3A30%3A00Z",
                "incoming-invoices/export?format=xlsx&updated_since=2026-03-01T09%3A30%3A00Z",
                "credit-notes/export?format=csv&invoice_id=i",
            ],
        )
        self.assertEqual([r.timeout for r in script.requests], [300, 60.0, 60.0])
        for timeout in (0, -1, float("inf"), float("nan")):
            with self.assertRaises(ConfigurationError):
                made.invoices.export("csv", timeout=timeout)

    def test_imports(self) -> None:
        result = {"valid": True, "totals": [{"currency": "AED", "total_amount": 105}]}
        made, script, _ = client(ConnectionResetError(), data(result))
        made.invoices.check_import(b"a,b", sheet="March")
        got = made.invoices.import_file(b"PK\x03\x04", sheet="March", idempotency_key="k")
        self.assertEqual(repr(got["totals"][0]["total_amount"]), "Decimal('105')")
        xlsx = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
        self.assertEqual(
            [
                (r.url.partition("?")[2], r.headers["Content-Type"], r.headers.get("Idempotency-Key"))
                for r in script.requests
            ],
            [
                ("sheet=March&dry_run=true", "text/csv", None),
                ("sheet=March&dry_run=true", "text/csv", None),
                ("sheet=March", xlsx, "k"),
            ],
        )


class Audit(unittest.TestCase):
    """The filters of the audit log."""

    def test_times(self) -> None:
        made, script, _ = client(answer(200, {"data": [], "pagination": {"has_more": False}}))
        at = datetime(2026, 3, 1, tzinfo=timezone.utc)
        self.assertEqual(list(made.audit.list(act="draft", from_=at, to="2026-03-02T00:00:00Z")), [])
        self.assertEqual(
            script.requests[0].url.partition("?")[2],
            "act=draft&from=2026-03-01T00%3A00%3A00Z&to=2026-03-02T00%3A00%3A00Z"
            "&page=1&per_page=50",
        )
        with self.assertRaises(ConfigurationError):
            made.audit.list(to=datetime(2026, 3, 1))
