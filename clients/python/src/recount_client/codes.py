"""The table of the codes that have a class of their own, and of the classes of the statuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .errors import (
    AlreadyDecided,
    CallEnded,
    ClaimLost,
    Conflict,
    Forbidden,
    Gone,
    HashMismatch,
    KeyReused,
    NotAnApprover,
    NotFound,
    ServiceFailed,
    ServiceProblem,
    TooMany,
    Unauthenticated,
    Unavailable,
    Unfit,
)

CODES: Mapping[str, type[ServiceProblem]] = {
    "already-answered": AlreadyDecided,
    "already-approved": AlreadyDecided,
    "already-on-record": AlreadyDecided,
    "already-paused": AlreadyDecided,
    "already-reconciled": AlreadyDecided,
    "already-supplied": AlreadyDecided,
    "call-settled": CallEnded,
    "claim-ended": ClaimLost,
    "stale-attempt": ClaimLost,
    "not-the-holder": ClaimLost,
    "already-claimed": ClaimLost,
    "not-an-approver": NotAnApprover,
    "is-the-requester": NotAnApprover,
    "requester-unknown": NotAnApprover,
    "automatic-answer": NotAnApprover,
    "unverified-answer": NotAnApprover,
    "key-reused": KeyReused,
}
"""The class of a code. A code that is not listed has the class of its status."""

STATUSES: Mapping[int, type[ServiceProblem]] = {
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    412: HashMismatch,
    429: TooMany,
    503: Unavailable,
}
"""The class of a status. Other statuses below 500 are `Unfit`, from 500 `ServiceFailed`."""


def problem_of(
    status: int, raw: Mapping[str, Any], retry_after: float | None = None
) -> ServiceProblem:
    """Returns the exception for a response that is no success."""
    other = Unfit if status < 500 else ServiceFailed
    kind = CODES.get(str(raw.get("code")), STATUSES.get(status, other))
    return kind(status, raw, retry_after)
