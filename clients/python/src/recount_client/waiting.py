"""The times of a wait for the end of a call."""

from __future__ import annotations

import math

WAIT_S = 20
"""The seconds for which the service holds a response back. Proxies often cut at 30 or 60."""

EARLY_S = 0.5
"""A response before this time came early, as from a service that is shutting down."""

PAUSE_S = 0.5
"""The time before the next request then."""


def slice_of(left_s: float) -> int:
    """Returns the whole seconds for which the service holds a response back."""
    return max(0, min(WAIT_S, math.ceil(left_s)))


def first_wait(timeout: float | None) -> float:
    """Returns the time for which the first response may be held back, in seconds."""
    return WAIT_S if timeout is None else timeout
