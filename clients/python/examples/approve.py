"""Approves what waits, after a look at it."""

from __future__ import annotations

from recount_client import Confirmation, Recount


def main() -> None:
    """Asks about each request on the terminal."""
    with Recount.from_env() as client:
        for waiting in client.pending():
            if not isinstance(waiting, Confirmation):
                continue
            print(f"{waiting.tool} {waiting.args}: {waiting.hint or waiting.about}")
            again = " It may have run before." if waiting.about == "in_doubt" else ""
            if input(f"Approve?{again} [y/N] ").lower() == "y":
                client.approve(waiting)
            else:
                client.deny(waiting, reason="an operator said no")


if __name__ == "__main__":
    main()
