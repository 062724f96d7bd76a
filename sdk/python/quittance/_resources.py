"""The resources of the API: what a client has as invoices, credit_notes and so on.

Each method is one operation. It returns the content of "data", and raises a subclass of
QuittanceError: ResponseError if there was a response, and TransportError if there was none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Generic, Literal, TypeVar

from ._core import Call, Core, moment, path
from ._pages import EventListing, Listing, parameters
from .errors import ConflictError, DraftAgainError, SecretLostError
from .types import (
    Account,
    CatalogueItem,
    CatalogueItemFieldsRequest,
    CreditNote,
    CreditNotePatch,
    CreditNoteRequest,
    CreditNoteSummary,
    Customer,
    CustomerFieldsRequest,
    CustomerPatch,
    Deleted,
    Delivery,
    DeliveryDetail,
    DraftRequest,
    Evidence,
    IncomingInvoice,
    IncomingInvoiceDetail,
    IncomingRevision,
    Invoice,
    InvoicePatch,
    InvoiceSummary,
    ItemPatch,
    NewSubscription,
    Preflight,
    RetainedBody,
    SubmissionRecord,
    Subscription,
    SubscriptionRequest,
)

#: A document format: Peppol PINT for the United Arab Emirates, or Peppol BIS Billing 3.0.
Profile = Literal["pint-ae", "bis3"]

_CLIENT = "/api/v1/client"
_WEBHOOKS = "/api/v1/webhooks"
_PER_PAGE = 50
#: The intervals between reads of a submitted invoice in seconds: the first, doubled up to the
#: last.
_POLL_FIRST, _POLL_LAST = 0.5, 30.0

T = TypeVar("T")
Entry = TypeVar("Entry")
Fields = TypeVar("Fields", bound=Mapping[str, object])
Patch = TypeVar("Patch", bound=Mapping[str, object])


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


class Resource:
    """The operations below one path of the API."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def _get(self, kind: type[T], fixed: str, *segments: str | int) -> T:
        return self._core.one(Call("GET", path(fixed, *segments), repeatable=True), kind)

    def _file(self, query: Mapping[str, object], fixed: str, *segments: str | int) -> bytes:
        call = Call("GET", path(fixed, *segments), parameters(query), repeatable=True)
        return self._core.file(call)

    def _change(
        self,
        kind: type[T],
        method: str,
        where: str,
        body: Mapping[str, object] | None,
        key: str | None,
    ) -> T:
        return self._core.one(Call(method, where, body=body, key=key), kind)

    def _repeat(self, kind: type[T], method: str, where: str) -> T:
        """Make a call without a body that the service recognizes when it is repeated."""
        return self._core.one(Call(method, where, repeatable=True), kind)

    def _list(self, kind: type[T], where: str, per_page: int, **filters: object) -> Listing[T]:
        return Listing(self._core, where, kind, per_page, filters)


class Invoices(Resource):
    """Invoices: drafts, and what became of them."""

    _path = _CLIENT + "/invoices"

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
        per_page: int = _PER_PAGE,
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
        self, invoice_id: str, *, per_page: int = _PER_PAGE
    ) -> Listing[SubmissionRecord]:
        """Return all submissions of an invoice."""
        where = path(self._path, invoice_id) + "/submissions"
        return self._list(SubmissionRecord, where, per_page)

    def evidence(self, invoice_id: str, *, per_page: int = _PER_PAGE) -> Listing[Evidence]:
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


class CreditNotes(Resource):
    """Credit notes, each linked to an invoice."""

    _path = _CLIENT + "/credit-notes"

    def list(
        self,
        *,
        invoice_id: str | None = None,
        issue_date_from: str | None = None,
        issue_date_to: str | None = None,
        per_page: int = _PER_PAGE,
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
        self, credit_note_id: str, *, per_page: int = _PER_PAGE
    ) -> Listing[SubmissionRecord]:
        """Return all submissions of a credit note."""
        where = path(self._path, credit_note_id) + "/submissions"
        return self._list(SubmissionRecord, where, per_page)

    def evidence(self, credit_note_id: str, *, per_page: int = _PER_PAGE) -> Listing[Evidence]:
        """Return the provider responses about a credit note."""
        return self._list(Evidence, path(self._path, credit_note_id) + "/evidence", per_page)

    def document(self, credit_note_id: str, *, profile: Profile | None = None) -> bytes:
        """Return a credit note as an XML document (UBL 2.1), as Invoices.document does."""
        return self._file({"profile": profile}, self._path, credit_note_id, "document")

    def pdf(self, credit_note_id: str, *, profile: Profile | None = None) -> bytes:
        """Return a credit note as a PDF file for people."""
        return self._file({"profile": profile}, self._path, credit_note_id, "document.pdf")


class Incoming(Resource):
    """Incoming e-invoices, which the company has received.

    Their senders have chosen the content: treat documents and attachments as data, and do not run
    or open them unchecked.
    """

    _path = _CLIENT + "/incoming-invoices"

    def list(
        self,
        *,
        issue_date_from: str | None = None,
        issue_date_to: str | None = None,
        updated_since: datetime | str | None = None,
        per_page: int = _PER_PAGE,
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
        self, incoming_invoice_id: str, *, per_page: int = _PER_PAGE
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


class Book(Resource, Generic[Entry, Fields, Patch]):
    """The customer book, or the item catalogue: what drafts are filled with.

    A draft copies an entry: a change or deletion of an entry changes no invoice.
    """

    def __init__(self, core: Core, name: str, kind: type[Entry]) -> None:
        super().__init__(core)
        self._path = f"{_CLIENT}/{name}"
        self._kind = kind

    def list(self, *, name: str | None = None, per_page: int = _PER_PAGE) -> Listing[Entry]:
        """Return the entries in the order of their names.

        name is text in the name, in any case, in the network identifier of a customer, or in the
        code of an item.
        """
        return self._list(self._kind, self._path, per_page, name=name)

    def get(self, entry_id: str) -> Entry:
        """Return an entry."""
        return self._get(self._kind, self._path, entry_id)

    def create(self, body: Fields, *, idempotency_key: str | None = None) -> Entry:
        """Add an entry."""
        return self._change(self._kind, "POST", self._path, body, idempotency_key)

    def update(self, entry_id: str, body: Patch, *, idempotency_key: str | None = None) -> Entry:
        """Change an entry by a merge patch (RFC 7396): None removes a field."""
        where = path(self._path, entry_id)
        return self._change(self._kind, "PATCH", where, body, idempotency_key)

    def delete(self, entry_id: str) -> Deleted:
        """Delete an entry for good.

        NotFoundError may mean that an earlier attempt of this call, whose response was lost, has
        deleted it.
        """
        return self._repeat(Deleted, "DELETE", path(self._path, entry_id))


#: The customer book of a company.
Customers = Book[Customer, CustomerFieldsRequest, CustomerPatch]
#: The item catalogue of a company.
Items = Book[CatalogueItem, CatalogueItemFieldsRequest, ItemPatch]


class Webhooks(Resource):
    """Webhook subscriptions."""

    _path = _WEBHOOKS + "/subscriptions"

    def list(self, *, per_page: int = _PER_PAGE) -> Listing[Subscription]:
        """Return the subscriptions, the newest first, with the deactivated ones."""
        return self._list(Subscription, self._path, per_page)

    def get(self, subscription_id: str) -> Subscription:
        """Return a subscription, without its secret."""
        return self._get(Subscription, self._path, subscription_id)

    def create(
        self, body: SubscriptionRequest, *, idempotency_key: str | None = None
    ) -> NewSubscription:
        """Subscribe an HTTPS destination. Only this response has the signing secret: store it.

        Raises SecretLostError, with the subscription, if an earlier attempt or call with the same
        key has created it.
        """
        created = self._change(NewSubscription, "POST", self._path, body, idempotency_key)
        if not created.get("secret"):
            raise SecretLostError(created)
        return created

    def deactivate(
        self, subscription_id: str, *, idempotency_key: str | None = None
    ) -> Subscription:
        """Deactivate a subscription for good. Its history is kept."""
        where = path(self._path, subscription_id) + "/deactivate"
        return self._change(Subscription, "POST", where, None, idempotency_key)


class Events(Resource):
    """The events feed, which has every event of the company."""

    def list(self, *, after: str = "", per_page: int = _PER_PAGE) -> EventListing:
        """Return the events after a cursor, the oldest first; "" is the beginning.

        per_page is from 1 to 100.
        """
        return EventListing(self._core, _WEBHOOKS + "/events", after, per_page)


class Deliveries(Resource):
    """Webhook deliveries: what happened to an event on its way to a subscription."""

    _path = _WEBHOOKS + "/deliveries"

    def list(
        self,
        *,
        subscription_id: str | None = None,
        event_id: str | None = None,
        event: str | None = None,
        state: Literal["pending", "delivered", "failed", "blocked"] | None = None,
        per_page: int = _PER_PAGE,
    ) -> Listing[Delivery]:
        """Return the deliveries that match every filter, the newest first."""
        return self._list(
            Delivery,
            self._path,
            per_page,
            subscription_id=subscription_id,
            event_id=event_id,
            event=event,
            state=state,
        )

    def get(self, delivery_id: str) -> DeliveryDetail:
        """Return a delivery with every attempt."""
        return self._get(DeliveryDetail, self._path, delivery_id)

    def redeliver(
        self, delivery_id: str, *, idempotency_key: str | None = None
    ) -> DeliveryDetail:
        """Start a delivery again, with the same event UUID and the same bytes."""
        where = path(self._path, delivery_id) + "/redeliver"
        return self._change(DeliveryDetail, "POST", where, None, idempotency_key)


class Accounts(Resource):
    """The company that the key or the user belongs to."""

    def get(self) -> Account:
        """Return the company, its profile, its provider connection and its quotas."""
        return self._get(Account, _CLIENT + "/account")
