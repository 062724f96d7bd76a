"""Lists: iterators that read a page when it is needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from ._core import Call, Core
from .errors import ConfigurationError, ResponseTooLargeError
from .types import Cursor, EventValue, Pagination
from .webhooks import Event

T = TypeVar("T")

#: The greatest number of entries on a page.
_MOST = 100


@dataclass(frozen=True)
class Page(Generic[T]):
    """One page of a list."""

    #: The entries of the page, in the order of the list.
    data: list[T]
    #: Where the page is in the list, and whether there are more.
    pagination: Pagination


@dataclass(frozen=True)
class EventPage:
    """One page of the events feed."""

    #: The next events, oldest first.
    data: list[Event]
    #: The cursor to go on from, and whether there are more events now.
    pagination: Cursor


class Listing(Generic[T]):
    """All entries of a list: iterate over it, as often as you like.

    An iteration reads a page when it is needed, yields each entry once even if new entries move it
    to the next page meanwhile, and may also yield the new ones. Do not change what the list is
    filtered by during an iteration: if an entry leaves the list, another one moves to the previous
    page and is missed. Collect the identifiers first.
    """

    def __init__(
        self, core: Core, path: str, kind: type[T], per_page: int, filters: Mapping[str, object]
    ) -> None:
        self._core, self._path, self._kind = core, path, kind
        self._per_page = _size(per_page)
        self._filters = parameters(filters)

    def __iter__(self) -> Iterator[T]:
        """Iterate over all entries. Raises the errors of a call."""
        number, per_page = 1, self._per_page
        seen: set[object] = set()
        while True:
            try:
                page = self._read(number, per_page)
            except ResponseTooLargeError:
                if per_page == 1:
                    raise
                # Half the size, from the smaller page with the first entry of this one.
                first = (number - 1) * per_page
                per_page //= 2
                number = first // per_page + 1
                continue
            for entry in page.data:
                key = identity(entry)
                if key not in seen:
                    seen.add(key)
                    yield entry
            if not page.pagination["has_more"] or not page.data:
                return
            number += 1

    def page(self, number: int = 1) -> Page[T]:
        """Read one page, from 1, with its position in the list. Raises the errors of a call."""
        if number < 1:
            raise ConfigurationError("pages are numbered from 1")
        return self._read(number, self._per_page)

    def _read(self, number: int, per_page: int) -> Page[T]:
        query = {**self._filters, "page": str(number), "per_page": str(per_page)}
        data, at = self._core.page(Call("GET", self._path, query, repeatable=True), self._kind)
        position: Pagination = {
            "current_page": at.get("current_page", number),
            "per_page": at.get("per_page", per_page),
            "last_page": at.get("last_page", number),
            "has_more": at.get("has_more", False),
            "total": at.get("total", len(data)),
        }
        if "truncated" in at:
            position["truncated"] = at["truncated"]
        return Page(data, position)


class EventListing:
    """All events after a cursor, oldest first: iterate over it, as often as you like.

    An iteration reads a page when it is needed and ends when there are no further events at that
    time. No event is skipped, however late it was recorded.
    """

    def __init__(self, core: Core, path: str, after: str, per_page: int) -> None:
        self._core, self._path = core, path
        self._after, self._per_page = after, _size(per_page)

    def __iter__(self) -> Iterator[Event]:
        """Iterate over the events. Raises the errors of a call."""
        for page in self.pages():
            yield from page.data

    def pages(self) -> Iterator[EventPage]:
        """Iterate over the pages, for a program that stores the cursor of each processed page."""
        after = self._after
        while True:
            page = self.page(after)
            yield page
            if not page.pagination["has_more"]:
                return
            after = page.pagination["next_cursor"]

    def page(self, after: str | None = None) -> EventPage:
        """Read one page after a cursor; None means that of this list."""
        query = {"limit": str(self._per_page)}
        cursor = self._after if after is None else after
        if cursor:
            query["after"] = cursor
        data, at = self._core.page(Call("GET", self._path, query, repeatable=True), EventValue)
        next_cursor = at.get("next_cursor", cursor)
        # With the same cursor the same page would come again and again.
        has_more = at.get("has_more", False) and next_cursor != cursor
        position: Cursor = {"next_cursor": next_cursor, "has_more": has_more}
        return EventPage(cast(list[Event], data), position)


def parameters(filters: Mapping[str, object]) -> dict[str, str]:
    """Return filters as query parameters, without those that are None."""
    texts = {True: "true", False: "false"}
    return {
        name: texts[value] if isinstance(value, bool) else str(value)
        for name, value in filters.items()
        if value is not None
    }


def identity(entry: Any) -> object:
    """Return what an entry of a list is recognized by: its identifier, or its revision."""
    return entry.get("id", entry.get("revision"))


def _size(per_page: int) -> int:
    if not 1 <= per_page <= _MOST:
        raise ConfigurationError(f"per_page must be from 1 to {_MOST}")
    return per_page
