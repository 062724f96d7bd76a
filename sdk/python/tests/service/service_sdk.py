"""The SDK against the real binary."""

import inspect
import ssl
import unittest
import urllib.request
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import quittance
from quittance import Client, _json
from quittance.types import CustomerFieldsRequest
from tests.service.sandbox import PATIENCE, Process, Sandbox, draft

process: Process
sandbox: Sandbox


def setUpModule() -> None:
    """Start the sandbox."""
    global process, sandbox
    process = Process()
    sandbox = process.sandbox


def tearDownModule() -> None:
    """End the sandbox."""
    process.stop()


class Service(unittest.TestCase):
    """Every method makes the call that it says."""

    client: Client

    @classmethod
    def setUpClass(cls) -> None:
        """Make the client of all tests."""
        cls.client = sandbox.client()
        cls.addClassCleanup(cls.client.close)

    def test_invoices(self) -> None:
        invoices = self.client.invoices
        wanted = draft()
        check = invoices.preflight(wanted, profile="pint-ae")
        self.assertEqual(repr(check["computed"]["total"]), "Decimal('1050.00')")
        made = invoices.create(wanted, idempotency_key=f"key-{wanted['invoice_number']}")
        again = invoices.create(wanted, idempotency_key=f"key-{wanted['invoice_number']}")
        self.assertEqual(made["id"], again["id"])
        self.assertEqual(repr(made["total_amount"]), "Decimal('1050.00')")
        self.assertEqual(repr(made["items"][0]["quantity"]), "Decimal('10.000')")
        self.assertEqual(invoices.update(made["id"], {"note": "Hello"})["note"], "Hello")
        self.assertIsNone(invoices.update(made["id"], {"note": None})["note"])
        got = invoices.submit_and_wait(made["id"], timeout=PATIENCE)
        self.assertTrue(quittance.is_final(got))
        self.assertEqual(invoices.submit(made["id"])["submission"], got["submission"])
        (submission,) = invoices.submissions(made["id"])
        self.assertTrue(submission["current"])
        self.assertEqual(next(iter(invoices.evidence(made["id"])))["ordinal"], 1)
        self.assertEqual(invoices.pdf(made["id"])[:5], b"%PDF-")
        (found,) = invoices.list(invoice_number=wanted["invoice_number"] or "", submitted=True)
        self.assertEqual(found["id"], made["id"])
        other = invoices.create(draft())
        self.assertTrue(invoices.delete(other["id"])["deleted"])
        with self.assertRaises(quittance.NotFoundError):
            invoices.get(other["id"])
        with self.assertRaises(quittance.ConflictError):
            invoices.delete(made["id"])

    def test_credit_notes(self) -> None:
        invoice = self.client.invoices.create(draft())
        notes = self.client.credit_notes
        made = notes.create({
            "credit_note_number": f"CN-{uuid.uuid4()}",
            "invoice_id": invoice["id"],
            "kind": "full",
            "issue_date": "2026-03-15",
            "reason": "Returned",
        })
        self.assertEqual(notes.get(made["id"])["total_amount"], Decimal("1050.00"))
        self.assertEqual(notes.update(made["id"], {"reason": "Late"})["reason"], "Late")
        self.assertEqual([n["id"] for n in notes.list(invoice_id=invoice["id"])], [made["id"]])
        self.assertEqual(notes.pdf(made["id"])[:5], b"%PDF-")
        self.assertEqual(list(notes.submissions(made["id"])), [])
        self.assertEqual(list(notes.evidence(made["id"])), [])
        with self.assertRaises(quittance.ConflictError) as raised:
            notes.submit(made["id"])
        refused = ("credit_note_submission_disabled", "invoice_not_acknowledged")
        self.assertIn(raised.exception.code, refused)
        self.assertIsNotNone(notes.void(made["id"])["voided_at"])

    def test_incoming_invoices(self) -> None:
        incoming = self.client.incoming
        entries = list(incoming.list(per_page=2))
        self.assertEqual(len(entries), 5)
        one = incoming.get(entries[0]["id"])
        revisions = list(incoming.revisions(one["id"]))
        self.assertEqual(revisions[-1]["revision"], one["revision"])
        document = incoming.document(one["id"], one["revision"])
        self.assertEqual(document["sha256"], one["sha256"])
        self.assertEqual(incoming.pdf(one["id"])[:5], b"%PDF-")
        self.assertEqual(incoming.pdf(one["id"], revision=one["revision"])[:5], b"%PDF-")
        with self.assertRaises(quittance.NotFoundError):
            incoming.attachment(one["id"], one["revision"], "none")
        with_attachment = [e for e in entries if attachments(incoming.get(e["id"]))]
        for entry in with_attachment:
            parsed = attachments(incoming.get(entry["id"]))[0]
            got = incoming.attachment(entry["id"], entry["revision"], parsed["id"])
            self.assertEqual(len(got), parsed["size"])

    def test_the_customer_book_and_the_item_catalogue(self) -> None:
        fields: CustomerFieldsRequest = {"recipient_name": "Palm", "payment_terms_days": 30}
        customer = self.client.customers.create(fields)
        patched = self.client.customers.update(customer["id"], {"currency": "AED"})
        self.assertEqual(self.client.customers.get(customer["id"]), patched)
        self.assertIn(patched, list(self.client.customers.list(name="palm")))
        self.assertTrue(self.client.customers.delete(customer["id"])["deleted"])
        item = self.client.items.create({"name": "Desk", "net_unit_price": Decimal("0.10")})
        patched_item = self.client.items.update(item["id"], {"vat_rate": Decimal("5.00")})
        self.assertEqual(repr(patched_item["vat_rate"]), "Decimal('5.00')")
        self.assertIn(patched_item, list(self.client.items.list(name="desk")))
        self.assertTrue(self.client.items.delete(item["id"])["deleted"])

    def test_webhooks_and_events(self) -> None:
        webhooks = self.client.webhooks
        made = webhooks.create({"url": "https://hooks.example.com/quittance"})
        self.assertTrue(made["secret"].startswith("whsec_"))
        self.assertNotIn("secret", webhooks.get(made["id"]))
        self.assertIn(made["id"], [entry["id"] for entry in webhooks.list(per_page=1)])
        self.assertFalse(webhooks.deactivate(made["id"])["active"])
        delivered = self.client.deliveries.list(state="delivered", per_page=3).page().data
        detail = self.client.deliveries.get(delivered[0]["id"])
        self.assertIsInstance(detail["attempts"][0]["duration_ms"], Decimal)
        redelivered = self.client.deliveries.redeliver(detail["id"])
        self.assertEqual(redelivered["event_id"], detail["event_id"])
        first = self.client.events.list(per_page=2).page()
        self.assertEqual(len(first.data), 2)
        rest = self.client.events.list(after=first.pagination["next_cursor"], per_page=5)
        self.assertNotIn(first.data[0]["id"], [event["id"] for event in rest])

    def test_account(self) -> None:
        self.assertEqual(self.client.account.get()["company_name"], "Sandbox Trading LLC")

    def test_threads_share_a_client_and_its_login(self) -> None:
        made = Client(sandbox.base_url, email=sandbox.email, password=sandbox.password)
        wanted = [draft() for _ in range(24)]
        with made, ThreadPoolExecutor(8) as pool:
            drafts = list(pool.map(made.invoices.create, wanted))
            numbers = {made.invoices.get(entry["id"])["invoice_number"] for entry in drafts}
        self.assertEqual(len(numbers), 24)

    def test_every_filter_of_a_list_is_an_argument(self) -> None:
        with urllib.request.urlopen(sandbox.base_url + "/openapi.json", timeout=PATIENCE) as got:
            paths = _json.decode(got.read())["paths"]
        listings: dict[str, Callable[..., object]] = {
            "client/users": self.client.users.list,
            "client/users/invitations": self.client.invitations.list,
            "client/api-keys": self.client.api_keys.list,
            "client/sessions": self.client.sessions.list,
            "client/audit": self.client.audit.list,
            "client/invoices": self.client.invoices.list,
            "client/credit-notes": self.client.credit_notes.list,
            "client/incoming-invoices": self.client.incoming.list,
            "client/customers": self.client.customers.list,
            "client/items": self.client.items.list,
            "webhooks/subscriptions": self.client.webhooks.list,
            "webhooks/deliveries": self.client.deliveries.list,
            "webhooks/events": self.client.events.list,
        }
        for path, listing in listings.items():
            known = paths["/api/v1/" + path]["get"]["parameters"]
            want = {parameter["name"] for parameter in known if parameter["in"] == "query"} - {"page", "limit"} | {"per_page"}
            with self.subTest(path):
                self.assertEqual(filters(listing), want)
        exports: dict[str, Callable[..., object]] = {
            "invoices": self.client.invoices.export,
            "credit-notes": self.client.credit_notes.export,
            "incoming-invoices": self.client.incoming.export,
        }
        for path, export in exports.items():
            known = paths[f"/api/v1/client/{path}/export"]["get"]["parameters"]
            want = {parameter["name"] for parameter in known if parameter["in"] == "query"}
            with self.subTest(path, export=True):
                self.assertEqual(filters(export), want | {"timeout"})

    def test_certificates_are_verified(self) -> None:
        base = sandbox.receiver_url.removesuffix("/hooks")
        with Client(base, api_key="qk_x", max_retries=0) as client:
            with self.assertRaises(quittance.TransportError) as raised:
                client.account.get()
        self.assertIsInstance(raised.exception.__cause__, ssl.SSLCertVerificationError)
        own = ssl.create_default_context(cafile=sandbox.receiver_ca)
        transport = quittance.HTTPTransport(ssl_context=own)
        with Client(base, api_key="qk_x", transport=transport) as client:
            for _ in range(2):  # the second one on the same connection
                with self.assertRaises(quittance.UnreadableResponseError):
                    client.account.get()


def filters(method: Callable[..., object]) -> set[str]:
    """Return the names of the arguments of a method, without the underscore after a keyword."""
    return {name.removesuffix("_") for name in inspect.signature(method).parameters}


def attachments(incoming: Any) -> list[Any]:
    """Return the attachments of an incoming e-invoice."""
    parsed = incoming["parsed"]
    return [entry for entry in parsed["attachments"] if entry["size"]] if parsed else []
