"""The errors of this package, all subclasses of QuittanceError.

No error contains an API key, a password or a token.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from .types import Invoice, NewAPIKey, NewInvitation, NewSubscription

__all__ = [
    "APIError",
    "AuthenticationError",
    "BadRequestError",
    "ConfigurationError",
    "ConflictError",
    "DraftAgainError",
    "KeyLostError",
    "LinkLostError",
    "NotFoundError",
    "PermissionDeniedError",
    "PreconditionFailedError",
    "QuittanceError",
    "RateLimitError",
    "RequestTimeoutError",
    "ResponseError",
    "ResponseTooLargeError",
    "SecretLostError",
    "ServerError",
    "TransportError",
    "UnreadableResponseError",
    "ValidationError",
    "WebhookReason",
    "WebhookVerificationError",
]


class QuittanceError(Exception):
    """The base of all errors of this package."""


class ConfigurationError(QuittanceError, ValueError):
    """The options of a client or the arguments of a call are wrong. Nothing was sent."""


class TransportError(QuittanceError):
    """There was no response: the connection failed or ended early.

    The service may have received the request. __cause__ is the error of the connection.
    """


class RequestTimeoutError(TransportError):
    """There was no complete response within the time-out of the client."""


class ResponseError(QuittanceError):
    """The service, or a proxy before it, has responded with something that is not a success."""

    #: HTTP status. It is a 2xx if a success cannot be read.
    status: int
    #: X-Request-Id of the response, for support; "" if it has none.
    request_id: str
    #: How long the service asks the client to wait, in seconds; 0 if it does not say.
    retry_after: float

    def __init__(self, text: str, *, status: int, request_id: str, retry_after: float) -> None:
        super().__init__(text + (f" (request {request_id})" if request_id else ""))
        self.status = status
        self.request_id = request_id
        self.retry_after = retry_after


class UnreadableResponseError(ResponseError):
    """The response is not one of the API: it is a redirect, the page of a proxy, or has no data.

    After a 2xx status the operation has probably had its effect.
    """


class ResponseTooLargeError(UnreadableResponseError):
    """The response has more than 16 MiB. Ask for fewer entries a page."""


class APIError(ResponseError):
    """An error of the service."""

    #: Stable code for programs, such as "duplicate_invoice_number".
    code: str
    #: One English sentence for people; it may change.
    message: str
    #: Lists of faults by the path of the field, or facts such as "invoice_id"; {} if there are
    #: none.
    details: Mapping[str, object]

    def __init__(
        self,
        text: str,
        *,
        status: int,
        request_id: str,
        retry_after: float,
        code: str,
        message: str,
        details: Mapping[str, object],
    ) -> None:
        super().__init__(text, status=status, request_id=request_id, retry_after=retry_after)
        self.code = code
        self.message = message
        self.details = details


class BadRequestError(APIError):
    """The request is not one of the API (400, 405, 413 and 415, and any other 4xx)."""


class AuthenticationError(APIError):
    """The API key, the token or the password is not accepted, or a code is missing (401)."""


class PermissionDeniedError(APIError):
    """The role or the scopes do not allow the operation, or the account is suspended (403)."""


class NotFoundError(APIError):
    """There is nothing with this identifier (404). It may be one of another company."""


class ConflictError(APIError):
    """The operation does not fit the present state (409)."""


class PreconditionFailedError(APIError):
    """The resource has changed meanwhile (412)."""


class ValidationError(APIError):
    """Some fields are not valid or missing (422). details has the faults by field."""


class RateLimitError(APIError):
    """There were too many calls (429). retry_after says how long to wait."""


class ServerError(APIError):
    """The service or the provider has failed (5xx)."""


class SecretLostError(QuittanceError):
    """A subscription exists, but the only response with its signing secret was lost.

    Deactivate the subscription, and create another one with another idempotency key.
    """

    #: The subscription, without its secret.
    subscription: NewSubscription

    def __init__(self, subscription: NewSubscription) -> None:
        super().__init__(f"the signing secret of subscription {subscription['id']} was lost")
        self.subscription = subscription


class KeyLostError(QuittanceError):
    """An API key exists, but the only response with the key itself was lost.

    Revoke it, and create another one with another idempotency key.
    """

    #: What is known of the key, without the key itself.
    api_key: NewAPIKey

    def __init__(self, api_key: NewAPIKey) -> None:
        super().__init__(f"the response with the API key {api_key['id']} was lost")
        self.api_key = api_key


class LinkLostError(QuittanceError):
    """An invitation exists, but the only response with its link was lost.

    Invite the person again with another idempotency key, which replaces the invitation.
    """

    #: The invitation, without its link.
    invitation: NewInvitation

    def __init__(self, invitation: NewInvitation) -> None:
        super().__init__(f"the response with the link of invitation {invitation['id']} was lost")
        self.invitation = invitation


class DraftAgainError(QuittanceError):
    """The submitted invoice is a draft again.

    The provider certainly did not accept it, or somebody has changed it after a rejection. It is
    your decision whether to submit it again.
    """

    #: The draft.
    invoice: Invoice

    def __init__(self, invoice: Invoice) -> None:
        super().__init__(f"invoice {invoice['id']} is a draft again")
        self.invoice = invoice


#: Why a callback could not be verified.
WebhookReason = Literal["no_secret", "signature", "timestamp", "body", "mismatch"]


class WebhookVerificationError(QuittanceError):
    """A callback is not genuine, is too old, or cannot be verified.

    The right response is 401, and 500 for the reason no_secret, which is a fault of the receiver.
    """

    #: no_secret, signature, timestamp, body or mismatch.
    reason: WebhookReason

    def __init__(self, reason: WebhookReason, text: str) -> None:
        super().__init__(text)
        self.reason = reason


#: The class of an error of the service, by its HTTP status.
STATUS_ERRORS: Mapping[int, type[APIError]] = {
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    412: PreconditionFailedError,
    422: ValidationError,
    429: RateLimitError,
}
