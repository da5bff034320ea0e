"""LiveKit's Gemini service holds the conversations of `fixtures/scripts/gateway.jsonl`.

    livekit_gemini.py --url https://127.0.0.1:PORT --seen FILE --scenes observed,approved

An `AgentSession` without a room, with the tools of conversation.py as LiveKit's function tools.
Only `http_options` and the trusted certificate (SSL_CERT_FILE) say that there is a gateway.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import pathlib
import sys
from typing import Any

from google.genai import types
from livekit.agents import Agent, AgentSession, RunContext, function_tool
from livekit.plugins import google

MODEL = "gemini-live-test"

# A model that waits for the response to each call, and takes one response alone.
BLOCKING_MODEL = "gemini-3.1-flash-live-preview"

ASKED = {
    "observed": ("Look up my order.", "It was shipped."),
    "mixed": ("Do everything.", "Everything is settled."),
    "quiet": ("Refund it quietly.", "It was refunded."),
    "denied": ("Wipe it.", "That is over."),
    "hosted": ("What time is it?", "I looked at the clock."),
    "inline": ("Transfer it.", "What you asked for before is decided."),
}


class Shop(Agent):
    """The agent, whose tools note that they ran."""

    def __init__(self, scene: str, seen: pathlib.Path) -> None:
        super().__init__(instructions="Be brief.")
        self.scene, self.seen = scene, seen

    def note(self, what: str, value: object) -> None:
        """Appends a line to the witness, which survives this process."""
        with self.seen.open("a") as file:
            file.write(json.dumps({"scene": self.scene, what: value}) + "\n")

    def ran(self, context: RunContext[Any], args: object, result: dict[str, Any]) -> dict[str, Any]:
        """Notes a run of a tool, and returns its result."""
        call = context.function_call
        self.note("call", [call.call_id, call.name, args])
        self.note("answered", call.call_id)
        return result

    @function_tool
    async def look_up(self, context: RunContext[Any], order: str) -> dict[str, Any]:
        """Does look_up."""
        return self.ran(context, order, {"status": "shipped"})

    @function_tool
    async def refund(self, context: RunContext[Any], order: str, cents: int) -> dict[str, Any]:
        """Does refund."""
        return self.ran(context, [order, cents], {"refunded": True})

    @function_tool
    async def wipe(self, context: RunContext[Any], order: str) -> dict[str, Any]:
        """Does wipe."""
        return self.ran(context, order, {"wiped": True})

    @function_tool
    async def transfer(self, context: RunContext[Any], cents: int) -> dict[str, Any]:
        """Does transfer."""
        return self.ran(context, cents, {"transferred": True})


async def converse(url: str, seen: pathlib.Path, scene: str) -> None:
    """Holds one scene, in a session of its own."""
    said, until = ASKED.get(scene, (scene, "It is done."))
    model = google.realtime.RealtimeModel(
        model=BLOCKING_MODEL if scene == "inline" else MODEL,
        api_key="test-key",
        modalities=[types.Modality.TEXT],
        http_options=types.HttpOptions(base_url=url),
    )
    shop = Shop(scene, seen)
    heard = asyncio.Event()
    session: AgentSession[Any] = AgentSession(llm=model)

    @session.on("conversation_item_added")
    def _added(event: Any) -> None:
        text = getattr(event.item, "text_content", None)
        if event.item.type == "message" and event.item.role == "assistant":
            shop.note("heard", text)
            if text and until in text:
                heard.set()
            if text and "I have asked." in text:
                shop.note("waiting", "inline-1")

    @session.on("error")
    def _failed(event: Any) -> None:
        shop.note("error", repr(event.error)[:300])

    await session.start(agent=shop)
    session.generate_reply(user_input=said)
    await heard.wait()
    await session.aclose()


async def run(url: str, seen: pathlib.Path, scenes: list[str]) -> None:
    """Holds the scenes, one after another."""
    for scene in scenes:
        await converse(url, seen, scene)


def main() -> int:
    """Holds the scenes that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", required=True)
    parser.add_argument("--seen", type=pathlib.Path, required=True)
    parser.add_argument("--scenes", required=True)
    given = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, stream=sys.stdout)
    asyncio.run(run(given.url, given.seen, given.scenes.split(",")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
