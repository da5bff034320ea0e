"""The rule that says when a request is sent again."""

from __future__ import annotations

import random
from dataclasses import dataclass

from .problems import ServiceProblem
from .requests import Repeat

# The response says that the request had no effect.
_NOT_TAKEN = frozenset({"draining", "no-space", "not-writable", "too-many-requests"})

# The first of two requests with one key still runs.
_IN_PROGRESS = "idempotency-in-progress"


@dataclass(frozen=True)
class Failure:
    """A failed attempt."""

    sent: bool
    """True if the service may have received the request."""
    problem: ServiceProblem | None = None
    """The response, if there was one."""


@dataclass(frozen=True)
class Retry:
    """The number of attempts, and the times between them.

    A request is sent again only if a second one cannot have a second effect: a GET, a request whose
    key the API knows, or one that the service surely did not receive. The time before an attempt is
    random, up to a bound that doubles. `Retry-After` of a response counts, if it is longer.

    ```python
    client = Recount(url, token, retry=Retry(attempts=8, most_s=30))
    ```
    """

    attempts: int = 5
    first_s: float = 0.2
    """The bound of the time before the second attempt, in seconds."""
    most_s: float = 5.0
    """The maximum of that bound."""

    def pause(self, attempt: int, repeat: Repeat, failure: Failure) -> float | None:
        """Returns the seconds before the next attempt, or `None` if there is none.

        `attempt` is the number of the failed attempt, from 1.
        """
        if attempt >= self.attempts or not _may_repeat(repeat, failure):
            return None
        bound = min(self.most_s, self.first_s * 2.0 ** (attempt - 1))
        after = failure.problem.retry_after if failure.problem else None
        # Random, so that clients that failed together do not come back together.
        return max(random.uniform(0, bound), after or 0)  # noqa: S311

    @staticmethod
    def none() -> Retry:
        """Sends every request once."""
        return Retry(attempts=1)


def _may_repeat(repeat: Repeat, failure: Failure) -> bool:
    problem = failure.problem
    if problem is None:
        return repeat is not Repeat.ONCE or not failure.sent
    if problem.on_record is not None:
        return False
    if problem.code == _IN_PROGRESS:
        return repeat in (Repeat.KEYED, Repeat.LOST)
    if repeat is Repeat.LOST:
        return False
    if problem.code in _NOT_TAKEN:
        return True
    # A proxy in front of the service answered, or the journal failed meanwhile.
    return problem.status in (502, 503, 504) and repeat is not Repeat.ONCE
