"""The parts of workers that both clients share: settings, claims, renewals and their failures."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from . import operations as ops
from .calls import ClaimedCall
from .errors import RecountError
from .models import OnRecord
from .requests import Request
from .running import TRANSIENT, log

ToolT = TypeVar("ToolT")

AGAIN_S = 2.0
"""The time before a worker asks again after a failure of the service, in seconds."""

# A lease is renewed each third of it, so that two renewals may fail.
_RENEWALS = 3


@dataclass(frozen=True)
class WorkerSettings:
    """The settings of a worker. `Recount.worker` describes them."""

    agents: tuple[str, ...]
    labels: Mapping[str, str]
    concurrency: int
    lease_s: float
    poll_s: int
    grace_s: float
    name: str | None

    def __post_init__(self) -> None:
        if self.concurrency < 1:
            raise ValueError("a worker runs at least one function at a time")


class WorkerBase(Generic[ToolT]):
    """The requests of a worker, and its decisions after failures. It sends nothing."""

    def __init__(self, tools: Mapping[str, ToolT], settings: WorkerSettings) -> None:
        if not tools:
            raise ValueError("a worker needs at least one tool")
        self.tools = dict(tools)
        self.name = settings.name or f"{socket.gethostname()}-{os.getpid()}"
        """The beginning of the ids of the claims."""
        self._settings = settings
        self._error: RecountError | None = None

    @property
    def _renewal_s(self) -> float:
        """The time between two renewals, in seconds."""
        return self._settings.lease_s / _RENEWALS

    @property
    def _lease_ms(self) -> int:
        return int(self._settings.lease_s * 1000)

    def _claim_request(self, wait: int) -> Request[ClaimedCall | None]:
        return ops.claim(
            f"{self.name}/{secrets.token_hex(8)}",
            tools=list(self.tools),
            agents=self._settings.agents,
            labels=self._settings.labels,
            lease_ms=self._lease_ms,
            wait=wait,
        )

    def _renewal_request(self, held: ClaimedCall) -> Request[OnRecord]:
        return ops.renew(held, self._lease_ms)

    def _may_claim_after(self, error: RecountError) -> bool:
        """Notes that a claim failed. Returns false if the worker cannot go on."""
        if isinstance(error, TRANSIENT):
            log.warning("no call was claimed: %s", error)
            return True
        log.error("the worker cannot go on: %s", error)
        self._error = error
        return False
