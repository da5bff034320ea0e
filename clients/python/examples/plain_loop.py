"""An agent as a plain loop, with a tool that a person approves.

Start the service, then this program, and approve the refund in another terminal:

    RECOUNT_TOKEN=… python examples/approve.py
"""

from __future__ import annotations

from typing import Any

from recount_client import CallFailed, Recount, Session, current_call
from scripted import ScriptedModel, refunding


def gated(client: Recount) -> None:
    """Makes a function a tool of the agent `shop`."""

    @client.tool("refund")
    def refund(order: int) -> dict[str, Any]:
        # The bank does nothing twice for one key.
        return {"refunded": order, "receipt": current_call().idempotency_key[:8]}


def converse(model: ScriptedModel, session: Session) -> str:
    """Runs the loop: the model asks for calls, and is told their results."""
    told: object = "Please refund order 17."
    while True:
        turn = model.turn(told)
        if not turn.calls:
            return turn.text
        results = {}
        for call in turn.calls:
            try:
                # With the id of the model's call as the key, a restarted loop calls nothing twice.
                results[call.id] = session.call(call.name, call.args, key=call.id)
            except CallFailed as failed:
                results[call.id] = {"error": failed.error}
        told = results


def main() -> None:
    """Runs the conversation of the script."""
    with Recount.from_env() as client:
        gated(client)
        session = client.open_session("shop", external_id="case-17")
        with client.worker(poll_s=1):
            print(converse(refunding(), session))


if __name__ == "__main__":
    main()
