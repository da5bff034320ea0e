"""The exceptions of the client.

`ServiceProblem` is a response that is no success (RFC 9457). It has the stable code of the command
line, and a class for each kind of response, so that a program can catch what it can handle:

```python
try:
    client.approve(request)
except AlreadyDecided as problem:
    print(f"{problem.by.name if problem.by else 'someone'} was faster")
```
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .models import Actor, OnRecord


class RecountError(Exception):
    """The base of all exceptions of this package."""


class Unreachable(RecountError):
    """No response arrived. The request may or may not be on record.

    The request was repeated first, if the API allows that.
    """


class UnexpectedResponse(RecountError):
    """The response is none of this API. Another service may listen at the address."""


class ClientClosed(RecountError):
    """The client was closed."""


class NotYet(RecountError):
    """The call has not ended within the time that the caller was ready to wait.

    The call goes on. `call_ref` resumes it, also in another process.
    """

    def __init__(self, call_ref: str) -> None:
        super().__init__(f"the call {call_ref} has not ended")
        self.call_ref = call_ref
        """The reference for `Recount.resume`."""


class CallFailed(RecountError):
    """A call ended without a result."""

    def __init__(self, call_ref: str, outcome: str, error: str) -> None:
        super().__init__(f"the call {call_ref} ended as {outcome}: {error}")
        self.call_ref = call_ref
        """The reference of the call."""
        self.outcome = outcome
        """The outcome on record, such as `failed`, `denied`, `cancelled` or `unknown`."""
        self.error = error
        """The reason, in the text that a model would get."""


class CallDenied(CallFailed):
    """An approver denied the call, or the question about it expired."""


class CallCancelled(CallFailed):
    """The call was cancelled."""


class ServiceProblem(RecountError):
    """A response that is no success."""

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
        from .models import Actor  # noqa: PLC0415 - the models raise errors of this module.

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
        from .models import OnRecord  # noqa: PLC0415

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
