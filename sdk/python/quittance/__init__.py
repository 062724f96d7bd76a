"""The Python SDK of Quittance.

Client calls the service, and verify_webhook verifies what the service calls. The types of requests
and responses are in quittance.types.
"""

from . import types
from ._client import Client
from ._invoices import Profile, is_final
from ._pages import EventListing, EventPage, Listing, Page
from ._resource import Format
from ._transport import HTTPTransport, Request, Response, Transport
from .errors import (
    APIError,
    AuthenticationError,
    BadRequestError,
    ConfigurationError,
    ConflictError,
    DraftAgainError,
    KeyLostError,
    LinkLostError,
    NotFoundError,
    PermissionDeniedError,
    PreconditionFailedError,
    QuittanceError,
    RateLimitError,
    RequestTimeoutError,
    ResponseError,
    ResponseTooLargeError,
    SecretLostError,
    ServerError,
    TransportError,
    UnreadableResponseError,
    ValidationError,
    WebhookVerificationError,
)
from .webhooks import Event, EventInProgressError, once, sign_webhook, verify_webhook

__all__ = [
    "APIError",
    "AuthenticationError",
    "BadRequestError",
    "Client",
    "ConfigurationError",
    "ConflictError",
    "DraftAgainError",
    "Event",
    "EventInProgressError",
    "EventListing",
    "EventPage",
    "Format",
    "HTTPTransport",
    "KeyLostError",
    "LinkLostError",
    "Listing",
    "NotFoundError",
    "Page",
    "PermissionDeniedError",
    "PreconditionFailedError",
    "Profile",
    "QuittanceError",
    "RateLimitError",
    "Request",
    "RequestTimeoutError",
    "Response",
    "ResponseError",
    "ResponseTooLargeError",
    "SecretLostError",
    "ServerError",
    "Transport",
    "TransportError",
    "UnreadableResponseError",
    "ValidationError",
    "WebhookVerificationError",
    "is_final",
    "once",
    "sign_webhook",
    "types",
    "verify_webhook",
]
