"""A sandbox of the binary, an API key for it, and a draft."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
import uuid
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from quittance import Client
from quittance.types import APIKeyRequest, DraftRequest

#: A generous limit for what has to happen at some time, in seconds.
PATIENCE = 120.0


@dataclass
class Sandbox:
    """A running sandbox."""

    base_url: str
    email: str
    password: str
    receiver_url: str
    receiver_ca: str
    api_key: str = ""

    def client(self) -> Client:
        """Return a client with the API key."""
        return Client(self.base_url, api_key=self.api_key)


def draft() -> DraftRequest:
    """Return a complete draft with a number of its own."""
    return {
        "invoice_number": f"PY-{uuid.uuid4()}",
        "recipient_name": "Palm Trading LLC",
        "recipient_network_id": "1234567890",
        "buyer_endpoint_scheme": "0235",
        "buyer_street": "12 Harbour Road",
        "buyer_city": "Dubai",
        "buyer_subdivision": "DXB",
        "buyer_country": "AE",
        "currency": "AED",
        "issue_date": "2026-03-01",
        "due_date": "2026-03-31",
        "payment_means_code": "30",
        "total_amount": Decimal("1050.00"),
        "items": [
            {
                "name": "Consulting",
                "unit_code": "HUR",
                "quantity": Decimal("10.000"),
                "net_unit_price": Decimal("100.00"),
                "vat_category": "S",
                "vat_rate": 5,
            }
        ],
    }


class Process:
    """The program, whose sandbox the tests of a module share."""

    def __init__(self) -> None:
        self._directory = tempfile.TemporaryDirectory()
        ready, log = (Path(self._directory.name, name) for name in ("ready.json", "log"))
        listen = ["--listen", "127.0.0.1:0", "--provider-listen", "127.0.0.1:0", "--chaos", "off"]
        poll = ["--poll-first", "100ms", "--poll-max", "1s"]
        files = ["--data", str(Path(self._directory.name, "data")), "--ready-file", str(ready)]
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                ["quittance", "sandbox", "run", *listen, *poll, *files],
                stdout=output,
                stderr=output,
            )
        deadline = time.monotonic() + PATIENCE
        while not ready.exists():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self._process.kill()
                raise RuntimeError("the sandbox does not start:\n" + log.read_text("utf-8"))
            time.sleep(0.05)
        info = json.loads(ready.read_text("utf-8"))
        self.sandbox = Sandbox(
            **{name: info[name] for name in Sandbox.__dataclass_fields__ if name in info}
        )
        made = self.sandbox
        with Client(made.base_url, email=made.email, password=made.password) as client:
            key: APIKeyRequest = {"name": "t", "scopes": ["read", "write", "submit", "webhooks"]}
            made.api_key = client.api_keys.create(key)["key"]

    def stop(self) -> None:
        """End the sandbox. Raises RuntimeError if it does not end cleanly."""
        self._process.terminate()
        code = self._process.wait(PATIENCE)
        self._directory.cleanup()
        if code != 0:
            raise RuntimeError(f"the sandbox has ended with {code}")
