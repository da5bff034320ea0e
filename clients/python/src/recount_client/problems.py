"""The responses that are no success, as exceptions, and the table of their codes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .errors import RecountError
from .models import Actor, OnRecord


class ServiceProblem(RecountError):
    """A response that is no success (RFC 9457).

    It has the stable code of the command line, and a class for each kind of response, so that a
    program can catch what it can handle:

    ```python
    try:
        client.approve(request)
    except AlreadyDecided as problem:
        print(f"{problem.by.name if problem.by else 'another person'} was faster")
    except ServiceProblem as problem:
        print(problem.status, problem.code, problem.detail)
    ```
    """

    def __init__(self, status: int, raw: Mapping[str, Any], retry_after: float | None) -> None:
        self.status = status
        """The HTTP status."""
        self.code = str(raw.get("code", "unknown"))
        """The stable code, such as `already-answered`."""
        self.detail = str(raw.get("detail", raw.get("title", "")))
        """The description, in one line."""
        self.raw = raw
        """The whole problem."""
        self.retry_after = retry_after
        """The time after which to try again, in seconds."""
        super().__init__(f"{self.detail} [{self.code}]")

    @property
    def session(self) -> str | None:
        """The session of the record that conflicts with the request."""
        return self._text("session")

    @property
    def at(self) -> int | None:
        """The seq of the record that conflicts with the request."""
        return self._number("at")

    @property
    def at_us(self) -> int | None:
        """The time of that record, in microseconds since 1970."""
        return self._number("at_us")

    @property
    def by(self) -> Actor | None:
        """The actor of that record."""
        found = self.raw.get("by")
        return Actor.of(found) if isinstance(found, dict) else None

    @property
    def confirmed(self) -> bool | None:
        """The earlier answer."""
        found = self.raw.get("confirmed")
        return found if isinstance(found, bool) else None

    @property
    def instead(self) -> str | None:
        """The request to answer instead."""
        return self._text("instead")

    @property
    def leaves_open(self) -> bool:
        """True if nothing is decided, so that another answer may count."""
        return self.raw.get("leaves_open") is True

    @property
    def on_record(self) -> OnRecord | None:
        """The record of the operation, if it was recorded in spite of the problem."""
        found = self.raw.get("on_record")
        return OnRecord.of(found) if isinstance(found, dict) else None

    def _text(self, key: str) -> str | None:
        found = self.raw.get(key)
        return found if isinstance(found, str) else None

    def _number(self, key: str) -> int | None:
        found = self.raw.get(key)
        return found if isinstance(found, int) and not isinstance(found, bool) else None


class Unauthenticated(ServiceProblem):
    """The token is missing, unknown, expired or revoked (401)."""


class Forbidden(ServiceProblem):
    """The role, or the site of the request, does not allow this (403)."""


class NotAnApprover(Forbidden):
    """The terms of the request exclude the answer: another person may give it (403)."""


class NotFound(ServiceProblem):
    """Nothing with this id exists in the sessions that the token may see (404)."""


class Conflict(ServiceProblem):
    """The state on record does not allow this (409)."""


class AlreadyDecided(Conflict):
    """The matter was decided before: `by`, at `at_us` (409)."""


class CallEnded(Conflict):
    """The call has ended, for example because it was cancelled (409)."""


class ClaimLost(Conflict):
    """The claim has ended, or the call was started again (409)."""


class Gone(ServiceProblem):
    """The request expired, was withdrawn, or was replaced by `instead` (410)."""


class HashMismatch(ServiceProblem):
    """The answer names the hash of another request (412)."""


class Unfit(ServiceProblem):
    """The content of the request does not fit (400, 405, 413, 415, 421, 422)."""


class KeyReused(Conflict):
    """The idempotency key belongs to a call with another tool or other arguments (409)."""


class TooMany(ServiceProblem):
    """There are too many requests or answers (429)."""


class Unavailable(ServiceProblem):
    """The service is shutting down, or cannot write its journal (503)."""


class ServiceFailed(ServiceProblem):
    """The service failed (5xx)."""


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
