"""Mistakes that the types find. Each line with a mistake names the error code of mypy."""

from decimal import Decimal

from quittance import Client, Event, is_final, verify_webhook
from quittance.types import DraftRequest, InvoicePatch

client = Client("https://quittance.example.com", api_key="qk_sandbox_x")
Client("https://quittance.example.com", apikey="qk_sandbox_x")  # mypy: call-arg
client.invoices.get(7)  # mypy: arg-type
client.invoices.list(submited=True)  # mypy: call-arg
client.invoices.list()[0]  # mypy: index
client.invoices.export("pdf")  # mypy: arg-type
client.users.update("u", {"role": "admin"})  # mypy: typeddict-item
client.api_keys.create({"name": "ERP"})  # mypy: typeddict-item

invoice = client.invoices.get("i")
invoice["totl_amount"]  # mypy: typeddict-item
invoice["submission"]["outcome"]  # mypy: index
if invoice["submission"] is not None:
    invoice["submission"]["outcome"] == "acknowleged"  # mypy: comparison-overlap
total = invoice["total_amount"]
total + 1  # mypy: operator
if total is not None:
    total * 1.5  # mypy: operator

draft: DraftRequest = {"invoice_number": "INV-1"}  # mypy: typeddict-item
patch: InvoicePatch = {"total_amount": 10.5}  # mypy: typeddict-item
right: InvoicePatch = {"total_amount": Decimal("10.50"), "due_date": None}

verify_webhook(b"", {}, secret="whsec_x")  # mypy: call-arg
is_final(client.customers.get("c"))  # mypy: arg-type


def number(event: Event) -> str:
    """Return the number of the invoice that an event is about."""
    if event["resource_type"] == "submission":
        return event["payload"]["invoice_number"]
    event["payload"]["invoice_number"]  # mypy: typeddict-item
    return ""
