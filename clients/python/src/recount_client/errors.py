"""The exceptions of the client that are no response. `problems` has those that are one."""

from __future__ import annotations


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

    The call goes on. `call_ref` resumes it, also in another process:

    ```python
    try:
        result = session.call("refund", {"order": 17}, timeout=60)
    except NotYet as open_call:
        save(open_call.call_ref)  # Later: client.resume(call_ref).wait().result()
    ```
    """

    def __init__(self, call_ref: str) -> None:
        super().__init__(f"the call {call_ref} has not ended")
        self.call_ref = call_ref
        """The reference for `Recount.resume`."""


class CallFailed(RecountError):
    """A call ended without a result.

    ```python
    try:
        result = session.call("refund", {"order": 17})
    except CallDenied as denied:
        print("not approved:", denied.error)
    except CallFailed as failed:
        print(failed.outcome, failed.error)
    ```
    """

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
