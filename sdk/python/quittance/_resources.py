"""The resources of the API: what a client has as invoices, credit_notes and so on.

Each method is one operation. It returns the content of "data", and raises a subclass of
QuittanceError: ResponseError if there was a response, and TransportError if there was none. Those
of documents are in _invoices.py and _documents.py, and those of people and keys in _people.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, Literal, TypeVar

from ._core import Core, path
from ._pages import EventListing, Listing
from ._resource import CLIENT, PER_PAGE, WEBHOOKS, Resource
from .errors import SecretLostError
from .types import (
    Account,
    CatalogueItem,
    CatalogueItemFieldsRequest,
    Customer,
    CustomerFieldsRequest,
    CustomerPatch,
    Deleted,
    Delivery,
    DeliveryDetail,
    ItemPatch,
    NewSubscription,
    Subscription,
    SubscriptionRequest,
)

Entry = TypeVar("Entry")
Fields = TypeVar("Fields", bound=Mapping[str, object])
Patch = TypeVar("Patch", bound=Mapping[str, object])


class Book(Resource, Generic[Entry, Fields, Patch]):
    """The customer book, or the item catalogue: what drafts are filled with.

    A draft copies an entry: a change or deletion of an entry changes no invoice.
    """

    def __init__(self, core: Core, name: str, kind: type[Entry]) -> None:
        super().__init__(core)
        self._path = f"{CLIENT}/{name}"
        self._kind = kind

    def list(self, *, name: str | None = None, per_page: int = PER_PAGE) -> Listing[Entry]:
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

    _path = WEBHOOKS + "/subscriptions"

    def list(self, *, per_page: int = PER_PAGE) -> Listing[Subscription]:
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

    def list(self, *, after: str = "", per_page: int = PER_PAGE) -> EventListing:
        """Return the events after a cursor, the oldest first; "" is the beginning.

        per_page is from 1 to 100.
        """
        return EventListing(self._core, WEBHOOKS + "/events", after, per_page)


class Deliveries(Resource):
    """Webhook deliveries: what happened to an event on its way to a subscription."""

    _path = WEBHOOKS + "/deliveries"

    def list(
        self,
        *,
        subscription_id: str | None = None,
        event_id: str | None = None,
        event: str | None = None,
        state: Literal["pending", "delivered", "failed", "blocked"] | None = None,
        per_page: int = PER_PAGE,
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
        return self._get(Account, CLIENT + "/account")
