"""JSON with exact decimals: no number ever becomes a float."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, TypeVar, get_args, get_origin, get_type_hints, is_typeddict

T = TypeVar("T")


def encode(value: object) -> bytes:
    """Return a value as JSON in UTF-8. A Decimal becomes a number with the same digits.

    Raises TypeError for a float and other types that JSON cannot hold exactly, and ValueError for
    a Decimal that is no finite number and for text that is not Unicode.
    """
    return _text(value).encode("utf-8")


def _text(value: object) -> str:
    if value is None or isinstance(value, (bool, str)):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise ValueError(f"{value} is not a finite number")
        return str(value)
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise TypeError("the keys of an object must be texts")
        return "{" + ",".join(f"{_text(key)}:{_text(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_text, value)) + "]"
    if isinstance(value, float):
        raise TypeError(f"{value!r} is a binary fraction: use decimal.Decimal")
    raise TypeError(f"a value of type {type(value).__name__} cannot be sent as JSON")


def decode(text: bytes) -> Any:
    """Return the value of a JSON text in UTF-8; a number with a fraction or exponent is a Decimal.

    Raises ValueError if it is not JSON.
    """
    try:
        return json.loads(text.decode("utf-8"), parse_float=Decimal, parse_constant=_refuse)
    except (ArithmeticError, RecursionError) as error:
        raise ValueError("a number is too large, or the nesting too deep") from error


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def shaped(value: Any, hint: type[T]) -> T:
    """Return a decoded value as one of a type of the API, with a Decimal wherever that has one.

    Raises ValueError if a decimal is anything but a number.
    """
    result: T = _shape(value, hint)
    return result


def _shape(value: Any, hint: Any) -> Any:
    if value is None:
        return None
    if hint is Decimal:
        if not isinstance(value, (int, Decimal)) or isinstance(value, bool):
            raise ValueError("a decimal is not a number")
        return Decimal(value)
    if isinstance(value, dict):
        if is_typeddict(hint):
            hints = _fields(hint)
            return {key: _shape(entry, hints.get(key)) for key, entry in value.items()}
        if get_origin(hint) is dict:
            entries = get_args(hint)[1]
            return {key: _shape(entry, entries) for key, entry in value.items()}
    if isinstance(value, list) and get_origin(hint) is list:
        return [_shape(entry, get_args(hint)[0]) for entry in value]
    options = [option for option in get_args(hint) if option is not type(None)]
    if len(options) == 1 and get_origin(hint) not in (list, dict):
        return _shape(value, options[0])  # X | None
    return value


@functools.cache
def _fields(hint: Any) -> dict[str, Any]:
    """Return the types of the fields of a TypedDict."""
    return get_type_hints(hint)
