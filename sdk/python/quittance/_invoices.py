"""Invoices: the methods of client.invoices."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Literal

from ._core import Call, moment, path
from ._pages import Listing, parameters
from ._resource import CLIENT, PER_PAGE, Format, Resource
from .errors import ConflictError, DraftAgainError
from .types import (
    CreditNote,
    Deleted,
    DraftRequest,
    Evidence,
    Import,
    Invoice,
    InvoicePatch,
    InvoiceSummary,
    Preflight,
    SubmissionRecord,
)

#: A document format: Peppol PINT for the United Arab Emirates, or Peppol BIS Billing 3.0.
Profile = Literal["pint-ae", "bis3"]

#: The intervals between reads of a submitted invoice in seconds: the first, doubled up to the
#: last.
_POLL_FIRST, _POLL_LAST = 0.5, 30.0
_XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


def is_final(document: Invoice | CreditNote) -> bool:
    """Report whether the provider calls the values of all four states final."""
    states = document["states"]
    four = (
        states["submission_state"],
        states["provider_invoice_state"],
        states["tax_authority_state"],
        states["receiver_state"],
    )
    return all(state is not None and state["final"] for state in four)


def _settled(invoice: Invoice) -> bool:
    """Report whether an invoice cannot change by itself any more."""
    submission = invoice["submission"]
    if submission is None:
        return False
    outcome = submission["outcome"]
    if outcome in ("rejected", "resolved_rejected"):
        return True
    return outcome != "in_progress" and submission["next_check_at"] is None


class Invoices(Resource):
    """Invoices: drafts, and what became of them."""

    _path = CLIENT + "/invoices"

    def list(
        self,
        *,
        invoice_number: str | None = None,
        external_id: str | None = None,
        recipient_name: str | None = None,
        issue_date_from: str | None = None,
        issue_date_to: str | None = None,
        updated_since: datetime | str | None = None,
        submitted: bool | None = None,
        submission_state: str | None = None,
        provider_invoice_state: str | None = None,
        tax_authority_state: str | None = None,
        receiver_state: str | None = None,
        attention: bool | None = None,
        sort: str | None = None,
        per_page: int = PER_PAGE,
    ) -> Listing[InvoiceSummary]:
        """Return the invoices that match every filter, the newest first.

        recipient_name is a part of the name, in any case; the other texts are exact. The dates are
        YYYY-MM-DD, both inclusive. updated_since selects invoices that changed at this time or
        later; a datetime needs a zone. attention selects those that need a person. sort is
        "created_at", "issue_date", "total_amount" or "recipient_name", with "-" before it for
        descending order. per_page is from 1 to 100.
        """
        return self._list(
            InvoiceSummary,
            self._path,
            per_page,
            invoice_number=invoice_number,
            external_id=external_id,
            recipient_name=recipient_name,
            issue_date_from=issue_date_from,
            issue_date_to=issue_date_to,
            updated_since=moment(updated_since),
            submitted=submitted,
            submission_state=submission_state,
            provider_invoice_state=provider_invoice_state,
            tax_authority_state=tax_authority_state,
            receiver_state=receiver_state,
            attention=attention,
            sort=sort,
        )

    def get(self, invoice_id: str) -> Invoice:
        """Return an invoice with its items."""
        return self._get(Invoice, self._path, invoice_id)

    def create(self, body: DraftRequest, *, idempotency_key: str | None = None) -> Invoice:
        """Store a draft. Nothing is sent to the provider.

        A call with the same idempotency key, of 1 to 255 visible ASCII characters, and the same
        body within 24 hours returns the invoice of the first one. None means a random key.
        """
        return self._change(Invoice, "POST", self._path, body, idempotency_key)

    def update(
        self, invoice_id: str, body: InvoicePatch, *, idempotency_key: str | None = None
    ) -> Invoice:
        """Change a draft, or an invoice that was rejected, by a merge patch (RFC 7396).

        None removes a field, and items are replaced as a whole.
        """
        where = path(self._path, invoice_id)
        return self._change(Invoice, "PATCH", where, body, idempotency_key)

    def delete(self, invoice_id: str) -> Deleted:
        """Delete a draft for good.

        NotFoundError may mean that an earlier attempt of this call, whose response was lost, has
        deleted it.
        """
        return self._repeat(Deleted, "DELETE", path(self._path, invoice_id))

    def preflight(self, body: DraftRequest, *, profile: Profile | None = None) -> Preflight:
        """Check a draft without storing it: what is missing, advice, and the computed totals."""
        query = parameters({"profile": profile})
        where = self._path + "/preflight"
        return self._core.one(Call("POST", where, query, body, repeatable=True), Preflight)

    def submit(self, invoice_id: str) -> Invoice:
        """Submit a complete draft once; a repeated call returns the recorded result.

        The outcome "unknown" of submission is no error: the service does not know yet whether the
        provider has the document, and goes on asking. Do not create the invoice again.
        """
        return self._repeat(Invoice, "POST", path(self._path, invoice_id) + "/submit")

    def submit_and_wait(
        self,
        invoice_id: str,
        *,
        timeout: float = 120.0,
        until: Callable[[Invoice], bool] = is_final,
    ) -> Invoice:
        """Submit an invoice once, and read it until all its states are final.

        until replaces this condition. The method also returns when no more changes can come,
        because the document was rejected or the service no longer asks the provider, and after
        timeout seconds: a state may never be reported. So check what it returns, with is_final.

        Raises DraftAgainError if the invoice is not submitted any more.
        """
        core = self._core
        deadline = core.monotonic() + timeout
        seen: Invoice | None = None
        try:
            seen = self.submit(invoice_id)
        except ConflictError as error:
            if error.code != "submission_in_progress":  # by another call, or an earlier attempt
                raise
        wait = _POLL_FIRST
        while True:
            if seen is not None:
                if not seen["submitted"]:
                    raise DraftAgainError(seen)
                if until(seen) or _settled(seen):
                    return seen
            left = deadline - core.monotonic()
            if left <= 0:
                return self.get(invoice_id) if seen is None else seen
            core.sleep(min(wait * (0.5 + core.jitter()), left))
            seen = self.get(invoice_id)
            wait = min(2 * wait, _POLL_LAST)

    def submissions(
        self, invoice_id: str, *, per_page: int = PER_PAGE
    ) -> Listing[SubmissionRecord]:
        """Return all submissions of an invoice."""
        where = path(self._path, invoice_id) + "/submissions"
        return self._list(SubmissionRecord, where, per_page)

    def evidence(self, invoice_id: str, *, per_page: int = PER_PAGE) -> Listing[Evidence]:
        """Return the provider responses about an invoice."""
        return self._list(Evidence, path(self._path, invoice_id) + "/evidence", per_page)

    def document(self, invoice_id: str, *, profile: Profile | None = None) -> bytes:
        """Return an invoice as an XML document (UBL 2.1).

        profile is the format; None means that of the connection of the company.
        """
        return self._file({"profile": profile}, self._path, invoice_id, "document")

    def pdf(self, invoice_id: str, *, profile: Profile | None = None) -> bytes:
        """Return an invoice as a PDF file for people."""
        return self._file({"profile": profile}, self._path, invoice_id, "document.pdf")

    def export(
        self,
        format: Format,
        *,
        rows: Literal["invoices", "items"] | None = None,
        invoice_number: str | None = None,
        external_id: str | None = None,
        recipient_name: str | None = None,
        issue_date_from: str | None = None,
        issue_date_to: str | None = None,
        updated_since: datetime | str | None = None,
        submitted: bool | None = None,
        submission_state: str | None = None,
        provider_invoice_state: str | None = None,
        tax_authority_state: str | None = None,
        receiver_state: str | None = None,
        attention: bool | None = None,
        sort: str | None = None,
        timeout: float | None = None,
    ) -> bytes:
        """Return the invoices that match every filter, which are those of list, as a file.

        With rows "items", a row is an item, in the columns of an import. timeout is the time
        for one attempt with the whole file, in seconds; None means that of the client.

        Raises ValidationError with the code "too_many_rows" if the list is too long for a file.
        """
        return self._export(
            self._path,
            format,
            timeout,
            rows=rows,
            invoice_number=invoice_number,
            external_id=external_id,
            recipient_name=recipient_name,
            issue_date_from=issue_date_from,
            issue_date_to=issue_date_to,
            updated_since=moment(updated_since),
            submitted=submitted,
            submission_state=submission_state,
            provider_invoice_state=provider_invoice_state,
            tax_authority_state=tax_authority_state,
            receiver_state=receiver_state,
            attention=attention,
            sort=sort,
        )

    def import_file(
        self, file: bytes, *, sheet: str | None = None, idempotency_key: str | None = None
    ) -> Import:
        """Create the drafts of a CSV or XLSX file, all or none.

        sheet is the name of a worksheet of an XLSX file; None means the first one. Raises
        ValidationError for a file with faults; details names their rows and columns.
        """
        return self._core.one(self._import(file, sheet=sheet, key=idempotency_key), Import)

    def check_import(self, file: bytes, *, sheet: str | None = None) -> Import:
        """Read a file as import_file does and store nothing. The result lists the faults."""
        return self._core.one(self._import(file, sheet=sheet, check=True), Import)

    def _import(
        self, file: bytes, *, sheet: str | None, key: str | None = None, check: bool = False
    ) -> Call:
        query = parameters({"sheet": sheet, "dry_run": check or None})
        call = Call("POST", self._path + "/import", query, key=key, repeatable=check)
        is_zip = file.startswith(b"PK")  # an XLSX file is a ZIP archive
        call.file = (file, _XLSX if is_zip else "text/csv")
        return call
