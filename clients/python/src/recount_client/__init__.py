"""A client of Recount: sessions, approvals, and tools that run once and on record."""

from .async_client import AsyncRecount
from .async_session import AsyncCall, AsyncSession
from .async_worker import AsyncWorker
from .calls import CallState, ClaimedCall, Confirmation, Paused, Waiting
from .client import Recount
from .errors import (
    CallCancelled,
    CallDenied,
    CallFailed,
    ClientClosed,
    NotYet,
    RecountError,
    UnexpectedResponse,
    Unreachable,
)
from .models import Actor, Hold, Leave, Me, OnRecord, Pause, Record, SessionInfo
from .operations import OneOutcome
from .problems import (
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
from .retry import Retry
from .running import RunningCall, current_call
from .session import Call, Session
from .tool import AsyncTool, Tool, ToolFailure
from .worker import Worker

__all__ = [
    "Actor",
    "AlreadyDecided",
    "AsyncCall",
    "AsyncRecount",
    "AsyncSession",
    "AsyncTool",
    "AsyncWorker",
    "Call",
    "CallCancelled",
    "CallDenied",
    "CallEnded",
    "CallFailed",
    "CallState",
    "ClaimLost",
    "ClaimedCall",
    "ClientClosed",
    "Confirmation",
    "Conflict",
    "Forbidden",
    "Gone",
    "HashMismatch",
    "Hold",
    "KeyReused",
    "Leave",
    "Me",
    "NotAnApprover",
    "NotFound",
    "NotYet",
    "OnRecord",
    "OneOutcome",
    "Pause",
    "Paused",
    "Record",
    "Recount",
    "RecountError",
    "Retry",
    "RunningCall",
    "ServiceFailed",
    "ServiceProblem",
    "Session",
    "SessionInfo",
    "TooMany",
    "Tool",
    "ToolFailure",
    "Unauthenticated",
    "Unavailable",
    "UnexpectedResponse",
    "Unfit",
    "Unreachable",
    "Waiting",
    "Worker",
    "current_call",
]
