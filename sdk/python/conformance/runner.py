"""The runner of the conformance suite: makes the calls that standard input orders with this SDK.

sdk/conformance/README.md describes its protocol.
"""

from __future__ import annotations

import base64
import itertools
import json
import sys
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import quittance  # noqa: E402  (found by the line above)

Arguments = dict[str, Any]

#: The types of the protocol by the classes of errors, the more special ones first.
TYPES: list[tuple[type[Exception], str]] = [
    (quittance.ConfigurationError, "configuration"),
    (quittance.BadRequestError, "bad_request"),
    (quittance.AuthenticationError, "authentication"),
    (quittance.PermissionDeniedError, "permission"),
    (quittance.NotFoundError, "not_found"),
    (quittance.ConflictError, "conflict"),
    (quittance.PreconditionFailedError, "precondition_failed"),
    (quittance.ValidationError, "validation"),
    (quittance.RateLimitError, "rate_limit"),
    (quittance.ServerError, "server"),
    (quittance.UnreadableResponseError, "unreadable"),
    (quittance.RequestTimeoutError, "timeout"),
    (quittance.TransportError, "connection"),
    (quittance.SecretLostError, "secret_lost"),
    (quittance.KeyLostError, "secret_lost"),
    (quittance.LinkLostError, "link_lost"),
    (quittance.DraftAgainError, "draft_again"),
    (quittance.WebhookVerificationError, "webhook"),
]


def main() -> None:
    """Answer each line of standard input with a line of standard output."""
    for line in sys.stdin:
        # As a program reads JSON that it sends on: decimals keep their digits.
        order = json.loads(line, parse_float=Decimal)
        answer: dict[str, Any] = {"case": order["case"]}
        try:
            answer["result"] = run(order)
        except quittance.QuittanceError as error:
            answer["error"] = described(error)
        except Unsupported:
            answer["error"] = {"type": "unsupported"}
        # The protocol allows a text for a decimal.
        print(json.dumps(answer, default=str), flush=True)


class Unsupported(Exception):
    """The runner does not know the operation."""


def run(order: Arguments) -> Any:
    """Make the call of a line and return its result. Raises Unsupported."""
    operation, arguments = order["operation"], order.get("arguments") or {}
    if operation == "webhooks.verify":
        return verify(arguments, arguments)
    if operation == "webhooks.once":
        return once(arguments)
    resource, _, name = operation.rpartition(".")
    with client(order) as made:
        method = getattr(getattr(made, resource, None) if resource else made, name, None)
        if method is None:
            raise Unsupported
        return call(method, name, dict(arguments))


def client(order: Arguments) -> quittance.Client:
    """Make the client of a line."""
    given, options = dict(order["credentials"]), order.get("options") or {}
    otp = given.pop("otp", None)
    if otp is not None:
        given["otp"] = lambda: otp
    if "timeout_ms" in options:
        given["timeout"] = float(options["timeout_ms"]) / 1000
    for name in ("max_retries", "user_agent"):
        if name in options:
            given[name] = options[name]
    return quittance.Client(order["base_url"], **given)


def call(method: Callable[..., Any], name: str, arguments: Arguments) -> Any:
    """Call a method with the arguments of the protocol."""
    limit = arguments.pop("limit", None)
    arguments.update(arguments.pop("query", None) or {})
    if "timeout_ms" in arguments:
        arguments["timeout"] = float(arguments.pop("timeout_ms")) / 1000
    if "file" in arguments:
        arguments["file"] = arguments["file"].encode()
    positional = [arguments.pop(first) for first in ("id", "body") if first in arguments]
    result = method(*positional, **arguments)
    if name == "export":
        return result.decode("utf-8-sig")
    if isinstance(result, bytes):
        return {"size": len(result), "start": result[:5].decode("latin-1")}
    if name == "list":
        return list(itertools.islice(result, limit))
    return result


def verify(callback: Arguments, options: Arguments) -> quittance.Event:
    """Verify a callback with the secrets, the clock and the tolerance of options."""
    body = callback.get("body")
    if body is None:
        body = base64.b64decode(callback["body_base64"])
    now = datetime.fromisoformat(options["now"].replace("Z", "+00:00"))
    more = {}
    if "tolerance_ms" in options:
        more["tolerance"] = timedelta(milliseconds=options["tolerance_ms"])
    return quittance.verify_webhook(
        body, callback["headers"], secrets=options["secrets"], now=lambda: now, **more
    )


def once(arguments: Arguments) -> Any:
    """Pass callbacks through verification to one handler."""
    handled: list[str] = []
    failing: list[bool] = []

    def handler(event: quittance.Event) -> None:
        handled.append(event["id"])
        if failing[-1]:
            raise RuntimeError("the case orders this failure")

    def outcome(callback: Arguments) -> str:
        failing.append(bool(callback.get("fail")))
        try:
            guarded(verify(callback, arguments))
        except quittance.WebhookVerificationError as error:
            return error.reason
        except RuntimeError:
            return "failed"
        return "ok"

    guarded = quittance.once(handler, arguments["capacity"])
    callbacks: Iterable[Arguments] = arguments["callbacks"]
    return {"results": [outcome(callback) for callback in callbacks], "handled": handled}


def described(error: quittance.QuittanceError) -> dict[str, Any]:
    """Return an error as the protocol has it."""
    out: dict[str, Any] = {"message": str(error)}
    out["type"] = next((name for kind, name in TYPES if isinstance(error, kind)), "unknown")
    if isinstance(error, quittance.ResponseError):
        out["status"], out["request_id"] = error.status, error.request_id
        # Nothing reads more than a day, which infinity is not.
        out["retry_after_ms"] = int(min(error.retry_after, 86400) * 1000)
    if isinstance(error, quittance.APIError):
        out["code"], out["details"] = error.code, error.details
        out["message"] = error.message
    if isinstance(error, quittance.WebhookVerificationError):
        out["reason"] = error.reason
    if isinstance(error, quittance.SecretLostError):
        out["id"] = error.subscription["id"]
    if isinstance(error, quittance.KeyLostError):
        out["id"] = error.api_key["id"]
    if isinstance(error, quittance.LinkLostError):
        out["id"] = error.invitation["id"]
    if isinstance(error, quittance.DraftAgainError):
        out["id"] = error.invoice["id"]
    return out


if __name__ == "__main__":
    main()
