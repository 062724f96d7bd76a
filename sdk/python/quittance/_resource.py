"""What the resources of a client have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeVar

from ._core import Call, Core, path
from ._pages import Listing, parameters

#: The format of a file with a list: CSV (RFC 4180, UTF-8 with a byte order mark), or Office Open
#: XML.
Format = Literal["csv", "xlsx"]

CLIENT = "/api/v1/client"
WEBHOOKS = "/api/v1/webhooks"
PER_PAGE = 50
#: The largest file with a list that is read, in bytes. The service limits its rows to 100,000.
_LARGEST_EXPORT = 256 << 20

T = TypeVar("T")


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

    def _export(
        self, where: str, format: Format, timeout: float | None, **filters: object
    ) -> bytes:
        """Return the list below a path as a file."""
        query = parameters({"format": format, **filters})
        call = Call("GET", where + "/export", query, repeatable=True)
        call.timeout, call.limit = timeout, _LARGEST_EXPORT
        return self._core.file(call)
