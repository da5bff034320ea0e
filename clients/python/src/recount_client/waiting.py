"""The times of a wait for the end of a call."""

from __future__ import annotations

import logging
import math
import time

from .errors import NotYet, RecountError, Unreachable
from .problems import ServiceProblem, TooMany, Unavailable

log = logging.getLogger("recount_client")

WAIT_S = 20
"""The seconds for which the service holds a response back. Proxies often cut at 30 or 60."""

EARLY_S = 0.5
"""A response before this time came early, as from a service that is shutting down."""

PAUSE_S = 0.5
"""The time before the next request then."""

OUTAGE_S = 1.0
"""The time before the next request while the service does not answer."""

FIRST_S = 1.0
"""The time for which the response to a new call is held back. A service that is killed meanwhile
leaves the client without the reference of the call, so it is short."""

# A proxy in front of the service answered: bad gateway, and gateway timeout.
_OF_PROXIES = (502, 504)


def slice_of(left_s: float) -> int:
    """Returns the whole seconds for which the service holds a response back."""
    return max(0, min(WAIT_S, math.ceil(left_s)))


def first_wait(timeout: float | None) -> float:
    """Returns the time for which the response to a new call may be held back, in seconds."""
    return FIRST_S if timeout is None else min(FIRST_S, timeout)


def outlives(call_ref: str, error: RecountError, left_s: float | None) -> float | None:
    """Returns the time after which a wait asks again, or `None` if the error ends the wait.

    A restart of the service, or a failure of the network, ends no wait for a call on record.
    """
    passing = isinstance(error, Unreachable | Unavailable | TooMany) or (
        isinstance(error, ServiceProblem) and error.status in _OF_PROXIES
    )
    if not passing or (left_s is not None and left_s <= 0):
        return None
    log.warning("still waiting for the call %s: %s", call_ref, error)
    return OUTAGE_S if left_s is None else min(OUTAGE_S, left_s)


class EndOfCall:
    """A wait for the end of a call. Both clients follow it; it sends nothing and never sleeps."""

    def __init__(self, call_ref: str, timeout: float | None) -> None:
        self._ref = call_ref
        self._began = time.monotonic()
        self._end = None if timeout is None else self._began + timeout

    def hold_s(self) -> int:
        """Begins a request. Returns the seconds for which the service holds the response back."""
        self._began = time.monotonic()
        return WAIT_S if self._end is None else slice_of(self._end - self._began)

    def pause_after_response(self) -> float:
        """Returns the time before the next request, since the call has not ended, in seconds.

        Raises:
            NotYet: The timeout has passed.
        """
        now = time.monotonic()
        if self._end is not None and now >= self._end:
            raise NotYet(self._ref)
        return PAUSE_S if now - self._began < EARLY_S else 0

    def pause_after_error(self, error: RecountError, *, known: bool) -> float:
        """Returns the time before the next request, after one that failed, in seconds.

        The wait outlives an outage of the service only once the call is known to exist.

        Raises:
            RecountError: This error, which ends the wait.
        """
        left = None if self._end is None else self._end - time.monotonic()
        pause = outlives(self._ref, error, left) if known else None
        if pause is None:
            raise error
        return pause
