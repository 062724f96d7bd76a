"""The client of one Quittance service."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from ._core import Call, Core, options
from ._documents import CreditNotes, EvidenceBodies, Incoming, Recipients
from ._invoices import Invoices
from ._pages import parameters
from ._people import APIKeys, Audit, Invitations, SecondFactors, Sessions, Users
from ._resources import Accounts, Customers, Deliveries, Events, Items, Webhooks
from ._transport import HTTPTransport, Transport
from .errors import ConfigurationError
from .types import CatalogueItem, Customer, Login


class Client:
    """Calls one service with an API key or as one user. It is safe for use by several threads.

    It sends nothing before the first call. With email and password that call logs in, and so does
    a call whose token is no longer valid. Calls that are safe to repeat are retried. A context
    manager closes the idle connections at its end; the client can be used again after that.
    """

    #: Invoices.
    invoices: Invoices
    #: Credit notes.
    credit_notes: CreditNotes
    #: Incoming e-invoices.
    incoming: Incoming
    #: The bodies of evidence.
    evidence: EvidenceBodies
    #: The buyers that the provider can reach.
    recipients: Recipients
    #: Webhook subscriptions.
    webhooks: Webhooks
    #: The events feed.
    events: Events
    #: Webhook deliveries.
    deliveries: Deliveries
    #: The customer book.
    customers: Customers
    #: The item catalogue.
    items: Items
    #: The company.
    account: Accounts
    #: The users of the company.
    users: Users
    #: Invitations of people.
    invitations: Invitations
    #: API keys.
    api_keys: APIKeys
    #: Sessions of users.
    sessions: Sessions
    #: The second factor of the user.
    second_factor: SecondFactors
    #: The audit log.
    audit: Audit

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        email: str | None = None,
        password: str | None = None,
        otp: Callable[[], str] | None = None,
        timeout: float = 60.0,
        max_retries: int = 3,
        user_agent: str = "quittance-python",
        transport: Transport | None = None,
    ) -> None:
        """Make a client.

        base_url is the address of the service without /api, http or https with an optional path
        prefix. It should be https unless the service is on the same machine. Either api_key, or
        email and password are required. otp returns a code of the authenticator app, or a recovery
        code, when a login has asked for one; each code is sent once.

        timeout is the time for one attempt with its response, in seconds. A submission waits for
        the provider during its call, for 20 s by default, so do not make it much shorter.
        max_retries is the number of retries of a call after its first attempt. transport sends the
        requests: HTTPTransport by default, which verifies certificates.

        Raises ConfigurationError, whose text has no option.
        """
        given = options(
            base_url, api_key, email, password, otp, timeout, max_retries, user_agent, transport
        )
        self._core = core = Core(given)
        self.invoices = Invoices(core)
        self.credit_notes = CreditNotes(core)
        self.incoming = Incoming(core)
        self.evidence = EvidenceBodies(core)
        self.recipients = Recipients(core)
        self.webhooks = Webhooks(core)
        self.events = Events(core)
        self.deliveries = Deliveries(core)
        self.customers = Customers(core, "customers", Customer)
        self.items = Items(core, "items", CatalogueItem)
        self.account = Accounts(core)
        self.users = Users(core)
        self.invitations = Invitations(core)
        self.api_keys = APIKeys(core)
        self.sessions = Sessions(core)
        self.second_factor = SecondFactors(core)
        self.audit = Audit(core)

    def login(self) -> Login:
        """Log in now, and use the new token from then on.

        That is optional: the first call logs in, and so does a call whose token is no longer
        valid. Raises AuthenticationError for wrong credentials, and ConfigurationError for a
        client with an API key.
        """
        return self._core.log_in()

    def logout(self) -> None:
        """Revoke the token of the login, if there is one. The next call logs in again.

        An API key is not revoked.
        """
        self._core.log_out()

    def change_password(self, password: str) -> None:
        """Change the password to one of 15 to 256 characters, which the client uses from then on.

        All other tokens of the user are revoked. The call is never repeated: after a
        TransportError, either password may be the current one. Raises ConfigurationError for a
        client with an API key.
        """
        self._core.change_password(password)

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, object] | None = None,
        body: Mapping[str, object] | bytes | None = None,
        content_type: str | None = None,
        idempotency_key: str | None = None,
    ) -> dict[str, Any]:
        """Call an operation that has no method here, and return its response: data, pagination.

        path begins with /api/. body is JSON, or with content_type the bytes of a file. GET and
        DELETE are repeated when they fail; other calls only with an idempotency_key, which the
        operation must have according to the API reference. A number with a fraction is a Decimal.
        """
        call = Call(method, _checked(path), parameters(query or {}), key=idempotency_key)
        call.repeatable, call.without_key = method in ("GET", "DELETE"), True
        if isinstance(body, bytes):
            if content_type is None:
                raise ConfigurationError("a file needs a content_type")
            call.file = (body, content_type)
        else:
            call.body = body
        return self._core.envelope(call)

    def download(self, path: str, *, query: Mapping[str, object] | None = None) -> bytes:
        """Return the file of an operation that has no method here. path begins with /api/."""
        call = Call("GET", _checked(path), parameters(query or {}), repeatable=True)
        return self._core.file(call)

    def close(self) -> None:
        """Close the idle connections. A later call opens new ones."""
        transport = self._core.options.transport
        if isinstance(transport, HTTPTransport):
            transport.close()

    def __enter__(self) -> Client:
        """Return the client."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the idle connections."""
        self.close()

    def __repr__(self) -> str:
        """Return the address and the user, without a credential."""
        given = self._core.options
        who = "api_key=[redacted]" if given.key else f"email={given.email!r}, password=[redacted]"
        return f"Client({given.base!r}, {who})"


def _checked(path: str) -> str:
    """Return the path of a call. One without a slash at its start would be a part of the host."""
    if not path.startswith("/api/") or not re.fullmatch(r"[!\"$->@-~]+", path):
        raise ConfigurationError("a path begins with /api/ and has no query")
    return path
