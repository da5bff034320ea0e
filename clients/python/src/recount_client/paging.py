"""Iteration over the pages of a listing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import TypeVar

from .operations import Page

T = TypeVar("T")


def pages(page: Callable[[str | None], Page[T]]) -> Iterator[T]:
    """Iterates over the items of all pages. A page is requested when its first item is."""
    cursor: str | None = None
    while True:
        found = page(cursor)
        yield from found.items
        if found.next is None:
            return
        cursor = found.next


async def async_pages(page: Callable[[str | None], Awaitable[Page[T]]]) -> AsyncIterator[T]:
    """Iterates over the items of all pages, as `pages` does."""
    cursor: str | None = None
    while True:
        found = await page(cursor)
        for item in found.items:
            yield item
        if found.next is None:
            return
        cursor = found.next
