"""The examples of README.md run, against the real binary where they call a service."""

import contextlib
import http.client
import os
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.parse
import urllib.request
from datetime import datetime, timezone
from pathlib import Path

from quittance import sign_webhook
from tests import readme
from tests.service.sandbox import PATIENCE, Process

_PACKAGE = str(Path(__file__).resolve().parent.parent.parent)


def environment(**more: str) -> dict[str, str]:
    """Return the environment of an example."""
    return {**os.environ, "PYTHONPATH": _PACKAGE, "PYTHONDONTWRITEBYTECODE": "1", **more}


class Readme(unittest.TestCase):
    """Each example does what it says."""

    def test_the_examples_that_go_on_from_each_other(self) -> None:
        process = Process()
        self.addCleanup(process.stop)
        made = process.sandbox
        keys = {"QUITTANCE_URL": made.base_url, "QUITTANCE_API_KEY": made.api_key}
        user = {"EMAIL": made.email, "PASSWORD": made.password}
        got = self.run_program(readme.journey(), **keys, **user)
        self.assertIn("INV-2026-0002 accepted True", got)
        self.assertIn("invoice_not_editable", got)
        self.assertIn("INV-2026-0002 1050.00 AED", got)
        self.assertIn("einvoice.terminal INV-2026-0002", got)
        self.assertIn("api_key.create", got)

    def test_the_sandbox(self) -> None:
        self.assertIn("Sandbox Trading LLC", self.run_program(readme.program("sandbox")))

    def run_program(self, text: str, **more: str) -> str:
        """Run an example to its end and return its output."""
        with tempfile.TemporaryDirectory() as directory:
            ran = subprocess.run(
                [sys.executable, "-W", "error", "-c", text],
                env=environment(**more),
                cwd=directory,
                capture_output=True,
                text=True,
                timeout=2 * PATIENCE,
            )
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran.stdout

    def test_the_receiver(self) -> None:
        secrets = environment(QUITTANCE_WEBHOOK_SECRETS="whsec_new whsec_old", PORT="0")
        command = [sys.executable, "-W", "error", "-c", readme.program("receiver")]
        with subprocess.Popen(
            command, env=secrets, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as receiver:
            try:
                assert receiver.stdout is not None
                url = f"http://127.0.0.1:{receiver.stdout.readline().split()[-1]}/hooks"
                self.assertEqual(deliver(url, "e-1", "whsec_old"), 204)
                self.assertEqual(receiver.stdout.readline(), "einvoice.terminal INV-1\n")
                self.assertEqual(deliver(url, "e-1", "whsec_new"), 204)  # a duplicate
                self.assertEqual(deliver(url, "e-2", "whsec_other"), 401)
                self.assertEqual(announce(url, (1 << 20) + 1), 413)
                self.assertEqual(deliver(url, "e-4", "whsec_new", number="INV-4"), 204)
                self.assertEqual(receiver.stdout.readline(), "einvoice.terminal INV-4\n")
            finally:
                receiver.terminate()

    def test_the_other_examples_are_python(self) -> None:
        for comment, text in readme.examples():
            compile(text, comment or "README.md", "exec")


def announce(url: str, length: int) -> int:
    """Announce a body of so many bytes, send none of it, and return the status of the response."""
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=PATIENCE)
    with contextlib.closing(connection):
        connection.putrequest("POST", parts.path)
        connection.putheader("Content-Length", str(length))
        connection.endheaders()
        return connection.getresponse().status


def deliver(url: str, event: str, secret: str, number: str = "INV-1") -> int:
    """Deliver an event as the service does and return the status of the response."""
    at = datetime.now(timezone.utc).isoformat()
    body = (
        '{"schema_version":"service-webhook-v2","id":"%s","event":"einvoice.terminal",'
        '"resource_type":"submission","payload":{"invoice_number":"%s"}}' % (event, number)
    ).encode()
    headers = {
        "X-Webhook-Event": "einvoice.terminal",
        "X-Webhook-Delivery": event,
        "X-Webhook-Timestamp": at,
        "X-Webhook-Signature": sign_webhook(secret, at, body),
    }
    request = urllib.request.Request(url, body, headers)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code
