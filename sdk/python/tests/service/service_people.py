"""People and keys, and files, against the real binary."""

import base64
import hashlib
import hmac
import struct
import time
import unittest

import quittance
from quittance import Client
from tests.service.sandbox import PATIENCE, Process, Sandbox, draft

process: Process
sandbox: Sandbox

CSV = """invoice_number,recipient_name,currency,issue_date,total_amount,name,quantity,net_unit_price
PY-IMPORT,Palm Trading LLC,AED,{date},105.00,Consulting,1,100.00
"""


def setUpModule() -> None:
    """Start the sandbox."""
    global process, sandbox
    process = Process()
    sandbox = process.sandbox


def tearDownModule() -> None:
    """End the sandbox."""
    process.stop()


def code(secret: str) -> str:
    """Return the code that an authenticator app shows now (RFC 6238)."""
    moment = struct.pack(">Q", int(time.time()) // 30)
    digest = hmac.new(base64.b32decode(secret), moment, hashlib.sha1).digest()
    at = digest[-1] & 15
    number = struct.unpack(">I", digest[at : at + 4])[0] & 0x7FFFFFFF
    return f"{number % 1_000_000:06}"


class People(unittest.TestCase):
    """Every method makes the call that it says."""

    client: Client

    @classmethod
    def setUpClass(cls) -> None:
        """Make the client of all tests, which logs in as the owner."""
        cls.client = Client(sandbox.base_url, email=sandbox.email, password=sandbox.password)
        cls.addClassCleanup(cls.client.close)

    def test_users(self) -> None:
        users = list(self.client.users.list(per_page=1))
        (owner,) = [user for user in users if user["email"] == sandbox.email]
        with self.assertRaises(quittance.ValidationError):  # the last owner
            self.client.users.update(owner["id"], {"role": "viewer"})
        with self.assertRaises(quittance.PermissionDeniedError):  # a colleague does it
            self.client.users.reset_second_factor(owner["id"])

    def test_invitations(self) -> None:
        made = self.client.invitations.create({"email": "ann@palm.example", "role": "viewer"})
        self.assertIn("/join#", made["url"])
        self.assertEqual([one["id"] for one in self.client.invitations.list()], [made["id"]])
        self.assertEqual(self.client.invitations.revoke(made["id"])["email"], "ann@palm.example")
        self.assertEqual(list(self.client.invitations.list()), [])

    def test_api_keys(self) -> None:
        keys = self.client.api_keys
        made = keys.create({"name": "ERP", "scopes": ["read"]}, idempotency_key="erp")
        with Client(sandbox.base_url, api_key=made["key"]) as machine:
            machine.account.get()
            with self.assertRaises(quittance.PermissionDeniedError):
                machine.api_keys.list().page()
            with self.assertRaises(quittance.KeyLostError) as raised:
                keys.create({"name": "ERP", "scopes": ["read"]}, idempotency_key="erp")
            self.assertEqual(raised.exception.api_key["id"], made["id"])
            self.assertIn(made["id"], [key["id"] for key in keys.list(per_page=1)])
            self.assertEqual(keys.revoke(made["id"])["state"], "revoked")
            with self.assertRaises(quittance.AuthenticationError):
                machine.account.get()

    def test_sessions(self) -> None:
        with Client(sandbox.base_url, email=sandbox.email, password=sandbox.password) as other:
            other.login()
            (theirs,) = [one for one in other.sessions.list(per_page=1) if one["current"]]
            self.assertIn(theirs["id"], [one["id"] for one in self.client.sessions.list()])
            self.assertIsNotNone(self.client.sessions.end(theirs["id"])["ended_at"])
            other.account.get()  # logs in again
            self.assertGreaterEqual(self.client.sessions.end_others()["ended"], 1)
            self.assertEqual(len(list(self.client.sessions.list())), 1)

    def test_password_and_second_factor(self) -> None:
        password = "another horse battery staple"
        self.client.change_password(password)
        factor = self.client.second_factor
        self.assertFalse(factor.get()["enrolled"])
        enrollment = factor.begin_totp()
        first = factor.confirm_totp(code(enrollment["secret"]))["recovery_codes"]
        codes = iter(factor.replace_recovery_codes(first[0])["recovery_codes"])
        self.assertEqual(factor.get()["recovery_codes_left"], 10)
        with Client(
            sandbox.base_url, email=sandbox.email, password=password, otp=lambda: next(codes)
        ) as other:
            self.assertEqual(other.login()["user"]["email"], sandbox.email)
            other.logout()
        self.assertTrue(factor.disable_totp(next(codes))["disabled"])
        self.client.change_password(sandbox.password)
        self.client.logout()
        self.client.login()

    def test_the_audit_log_and_evidence(self) -> None:
        invoice = self.client.invoices.create(draft())
        self.client.invoices.submit_and_wait(invoice["id"], timeout=PATIENCE)
        acts = [e["act"] for e in self.client.audit.list(subject_id=invoice["id"], per_page=1)]
        self.assertGreater(len(acts), 1)
        self.assertEqual(acts[-1], "draft.create")
        evidence = next(iter(self.client.invoices.evidence(invoice["id"])))
        body = self.client.evidence.get(evidence["id"])
        self.assertEqual(body["sha256"], evidence["sha256"])
        found = self.client.recipients.lookup({"scheme": "0235", "id": "1234567890"})
        self.assertIn("found", found)

    def test_files(self) -> None:
        invoices = self.client.invoices
        checked = invoices.check_import(CSV.format(date="2026-02-30").encode())
        self.assertEqual([fault["column"] for fault in checked["faults"]], ["issue_date"])
        with self.assertRaises(quittance.ValidationError) as raised:
            invoices.import_file(CSV.format(date="2026-02-30").encode())
        self.assertIn("rows[2].issue_date", raised.exception.details)
        (made,) = invoices.import_file(CSV.format(date="2026-03-01").encode())["invoices"]
        rows = invoices.export("csv", invoice_number="PY-IMPORT", submitted=False)
        self.assertEqual(rows.count(b"\r\n"), 2)
        self.assertIn(made["id"].encode(), rows)
        items = invoices.export("xlsx", rows="items", timeout=100)
        self.assertEqual(items[:2], b"PK")
        self.assertEqual(self.client.credit_notes.export("csv")[:3], b"\xef\xbb\xbf")
        exported = self.client.incoming.export("csv", updated_since="2026-03-01T00:00:00Z")
        self.assertEqual(exported[:3], b"\xef\xbb\xbf")
