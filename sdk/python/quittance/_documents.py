"""Credit notes, incoming e-invoices, evidence and recipients."""

from __future__ import annotations

from datetime import datetime

from ._core import Call, moment, path
from ._invoices import Profile
from ._pages import Listing
from ._resource import CLIENT, PER_PAGE, Format, Resource
from .types import (
    CreditNote,
    CreditNotePatch,
    CreditNoteRequest,
    CreditNoteSummary,
    Evidence,
    IncomingInvoice,
    IncomingInvoiceDetail,
    IncomingRevision,
    RecipientLookup,
    RecipientQueryRequest,
    RetainedBody,
    SubmissionRecord,
)


class CreditNotes(Resource):
    """Credit notes, each linked to an invoice."""

    _path = CLIENT + "/credit-notes"

    def list(
        self,
        *,
        invoice_id: str | None = None,
        issue_date_from: str | None = None,
        issue_date_to: str | None = None,
        per_page: int = PER_PAGE,
    ) -> Listing[CreditNoteSummary]:
        """Return the credit notes, of one invoice or all, the newest first, with the void ones.

        The dates are YYYY-MM-DD, both inclusive.
        """
        return self._list(
            CreditNoteSummary,
            self._path,
            per_page,
            invoice_id=invoice_id,
            issue_date_from=issue_date_from,
            issue_date_to=issue_date_to,
        )

    def get(self, credit_note_id: str) -> CreditNote:
        """Return a credit note with its items."""
        return self._get(CreditNote, self._path, credit_note_id)

    def create(
        self, body: CreditNoteRequest, *, idempotency_key: str | None = None
    ) -> CreditNote:
        """Store a credit note for an invoice as a draft."""
        return self._change(CreditNote, "POST", self._path, body, idempotency_key)

    def update(
        self, credit_note_id: str, body: CreditNotePatch, *, idempotency_key: str | None = None
    ) -> CreditNote:
        """Change the date or the reason of a credit note by a merge patch (RFC 7396)."""
        where = path(self._path, credit_note_id)
        return self._change(CreditNote, "PATCH", where, body, idempotency_key)

    def void(self, credit_note_id: str, *, idempotency_key: str | None = None) -> CreditNote:
        """Void a credit note, so that another one can credit its amount."""
        where = path(self._path, credit_note_id) + "/void"
        return self._change(CreditNote, "POST", where, None, idempotency_key)

    def submit(self, credit_note_id: str) -> CreditNote:
        """Submit a credit note once, as Invoices.submit does an invoice.

        Raises ConflictError with the code "credit_note_submission_disabled" if the connection of
        the company does not submit credit notes.
        """
        return self._repeat(CreditNote, "POST", path(self._path, credit_note_id) + "/submit")

    def submissions(
        self, credit_note_id: str, *, per_page: int = PER_PAGE
    ) -> Listing[SubmissionRecord]:
        """Return all submissions of a credit note."""
        where = path(self._path, credit_note_id) + "/submissions"
        return self._list(SubmissionRecord, where, per_page)

    def evidence(self, credit_note_id: str, *, per_page: int = PER_PAGE) -> Listing[Evidence]:
        """Return the provider responses about a credit note."""
        return self._list(Evidence, path(self._path, credit_note_id) + "/evidence", per_page)

    def document(self, credit_note_id: str, *, profile: Profile | None = None) -> bytes:
        """Return a credit note as an XML document (UBL 2.1), as Invoices.document does."""
        return self._file({"profile": profile}, self._path, credit_note_id, "document")

    def pdf(self, credit_note_id: str, *, profile: Profile | None = None) -> bytes:
        """Return a credit note as a PDF file for people."""
        return self._file({"profile": profile}, self._path, credit_note_id, "document.pdf")

    def export(
        self,
        format: Format,
        *,
        invoice_id: str | None = None,
        issue_date_from: str | None = None,
        issue_date_to: str | None = None,
        timeout: float | None = None,
    ) -> bytes:
        """Return the credit notes that match every filter as a file, as Invoices.export does."""
        return self._export(
            self._path,
            format,
            timeout,
            invoice_id=invoice_id,
            issue_date_from=issue_date_from,
            issue_date_to=issue_date_to,
        )


class Incoming(Resource):
    """Incoming e-invoices, which the company has received.

    Their senders have chosen the content: treat documents and attachments as data, and do not run
    or open them unchecked.
    """

    _path = CLIENT + "/incoming-invoices"

    def list(
        self,
        *,
        issue_date_from: str | None = None,
        issue_date_to: str | None = None,
        updated_since: datetime | str | None = None,
        per_page: int = PER_PAGE,
    ) -> Listing[IncomingInvoice]:
        """Return the incoming e-invoices, each in its latest revision, the newest first.

        The dates are YYYY-MM-DD, both inclusive. updated_since selects those whose latest revision
        was retained at this time or later; a datetime needs a zone.
        """
        return self._list(
            IncomingInvoice,
            self._path,
            per_page,
            issue_date_from=issue_date_from,
            issue_date_to=issue_date_to,
            updated_since=moment(updated_since),
        )

    def get(self, incoming_invoice_id: str) -> IncomingInvoiceDetail:
        """Return an incoming e-invoice in its latest revision, with what its document says."""
        return self._get(IncomingInvoiceDetail, self._path, incoming_invoice_id)

    def revisions(
        self, incoming_invoice_id: str, *, per_page: int = PER_PAGE
    ) -> Listing[IncomingRevision]:
        """Return the revisions of an incoming e-invoice, the oldest first."""
        where = path(self._path, incoming_invoice_id) + "/revisions"
        return self._list(IncomingRevision, where, per_page)

    def document(self, incoming_invoice_id: str, revision: int) -> RetainedBody:
        """Return the document of a revision, from 1, exactly as it was received."""
        parts = (incoming_invoice_id, "revisions", revision, "document")
        return self._get(RetainedBody, self._path, *parts)

    def attachment(self, incoming_invoice_id: str, revision: int, attachment: str) -> bytes:
        """Return the bytes of an attachment; attachment is its id in parsed["attachments"]."""
        parts = (incoming_invoice_id, "revisions", revision, "attachments", attachment)
        return self._file({}, self._path, *parts)

    def pdf(self, incoming_invoice_id: str, *, revision: int | None = None) -> bytes:
        """Return a revision, or the latest one, as a PDF file for people."""
        parts: tuple[str | int, ...] = (incoming_invoice_id, "document.pdf")
        if revision is not None:
            parts = (incoming_invoice_id, "revisions", revision, "document.pdf")
        return self._file({}, self._path, *parts)

    def export(
        self,
        format: Format,
        *,
        issue_date_from: str | None = None,
        issue_date_to: str | None = None,
        updated_since: datetime | str | None = None,
        timeout: float | None = None,
    ) -> bytes:
        """Return the e-invoices that match every filter as a file, as Invoices.export does."""
        return self._export(
            self._path,
            format,
            timeout,
            issue_date_from=issue_date_from,
            issue_date_to=issue_date_to,
            updated_since=moment(updated_since),
        )


class EvidenceBodies(Resource):
    """What the provider has responded, as it was retained."""

    def get(self, evidence_id: str) -> RetainedBody:
        """Return the bytes of one entry of the evidence of an invoice or a credit note."""
        return self._get(RetainedBody, CLIENT + "/evidence", evidence_id)


class Recipients(Resource):
    """The buyers that the provider can reach."""

    def lookup(self, body: RecipientQueryRequest) -> RecipientLookup:
        """Ask the provider whether the buyer with an electronic address can receive documents.

        The answer is advice; found is None if the provider cannot say. The call waits for the
        provider, up to 20 seconds.
        """
        call = Call("POST", CLIENT + "/recipients/lookup", body=body, repeatable=True)
        return self._core.one(call, RecipientLookup)
