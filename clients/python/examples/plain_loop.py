"""An agent as a plain loop, with a tool that a person approves.

Start the service of the quick start, then this program, and approve the refund in another terminal:

    RECOUNT_TOKEN=… python examples/approve.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from recount_client import CallFailed, Recount, Session, current_call
from scripted import ScriptedModel, refunding


def gated(client: Recount) -> None:
    """Makes a function a tool of the agent `shop`."""

    @client.tool("refund")
    def refund(order: int) -> dict[str, Any]:
        # The bank does nothing twice for one key.
        return {"refunded": order, "receipt": current_call().idempotency_key[:8]}


def kept_session(client: Recount, kept: Path) -> Session:
    """Returns the session of an earlier start of this program, or a new one whose id it keeps."""
    if not kept.exists():
        kept.write_text(client.open_session("shop", external_id="case-17").id)
    return client.session(kept.read_text())


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
                # The id of the model's call is the key: a restarted loop calls nothing twice. This
                # model repeats its turns after a restart. Turns of a real one are to be kept, too.
                results[call.id] = session.call(call.name, call.args, key=call.id)
            except CallFailed as failed:
                results[call.id] = {"error": failed.error}
        told = results


def main() -> None:
    """Runs the conversation of the script."""
    with Recount.from_env() as client:
        gated(client)
        session = kept_session(client, Path("plain_loop.session"))
        with client.worker(poll_s=1):
            print(converse(refunding(), session))


if __name__ == "__main__":
    main()
