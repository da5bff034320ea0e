"""The vendor's Python library holds the conversations of `fixtures/scripts/gateway.jsonl`.

    conversation.py --url https://127.0.0.1:PORT --seen FILE --scenes talk,observed

It is a client program as its author would write it, and does not know of a gateway: only the URL
and the trusted certificate (SSL_CERT_FILE) differ. It answers each call with a message of its own.
FILE gets a line for each call that it received, cancellation and reply, before it answers.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import pathlib
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from google import genai
from google.genai import types

MODEL = "gemini-live-test"

# A model that waits for the response to each call, and takes one response alone.
BLOCKING_MODEL = "gemini-3.1-flash-live-preview"


def declaration(name: str, **properties: str) -> dict[str, Any]:
    """Returns the declaration of a tool."""
    fields = {key: {"type": kind} for key, kind in properties.items()}
    parameters = {"type": "OBJECT", "properties": fields}
    return {"name": name, "description": f"Does {name}.", "parameters": parameters}


CONFIG: dict[str, Any] = {
    "response_modalities": ["TEXT"],
    "system_instruction": "Be brief.",
    "tools": [
        {
            "function_declarations": [
                declaration("look_up", order="STRING"),
                declaration("refund", order="STRING", cents="INTEGER"),
                declaration("wipe", order="STRING"),
                declaration("transfer", cents="INTEGER"),
            ]
        }
    ],
}

TOOLS: dict[str, dict[str, Any]] = {
    "look_up": {"status": "shipped"},
    "refund": {"refunded": True},
    "wipe": {"wiped": True},
    "transfer": {"transferred": True},
}


class Talk:
    """One connection of a scene, and what it received."""

    def __init__(self, session: Any, scene: str, seen: pathlib.Path) -> None:
        self.session, self.scene, self.seen = session, scene, seen
        self.answers = True
        """Set to False for tools that take so long that they never answer."""
        self.text = ""
        self.calls = 0
        self.sound: list[bytes] = []
        self.handle: str | None = None

    def note(self, what: str, value: object) -> None:
        """Appends a line to the witness, which survives this process."""
        with self.seen.open("a") as file:
            file.write(json.dumps({"scene": self.scene, what: value}) + "\n")
            file.flush()

    async def say(self, text: str) -> None:
        """Says a text as the user."""
        content = types.Content(role="user", parts=[types.Part(text=text)])
        await self.session.send_client_content(turns=content)

    async def sound_out(self, frames: int) -> None:
        """Sends frames of sound, each with its number in every byte."""
        for number in range(frames):
            audio = types.Blob(data=bytes([number] * 640), mime_type="audio/pcm;rate=16000")
            await self.session.send_realtime_input(audio=audio)

    async def turn(
        self, until: str, on_text: Callable[[], Any] | None = None, calls: int = 0
    ) -> None:
        """Receives until a turn of the model ends, the text of which has these words.

        The user reacts once, to the first text and to this number of calls.
        """
        while until not in self.text:
            async for message in self.session.receive():
                await self._take(message)
                if on_text is not None and self.text and self.calls >= calls:
                    reaction, on_text = on_text, None
                    await reaction()
        self.note("heard", self.text)
        self.text = ""

    async def _take(self, message: Any) -> None:
        if message.tool_call:
            for call in message.tool_call.function_calls or []:
                self.calls += 1
                self.note("call", [call.id, call.name, call.args])
                if self.answers:
                    await self._answer(call)
        if message.tool_call_cancellation:
            self.note("cancelled", message.tool_call_cancellation.ids)
        if message.session_resumption_update and message.session_resumption_update.new_handle:
            self.handle = message.session_resumption_update.new_handle
        content = message.server_content
        if content and content.model_turn:
            for part in content.model_turn.parts or []:
                self.text += part.text or ""
                if part.inline_data:
                    self.sound.append(part.inline_data.data)
        if content and content.interrupted:
            self.note("interrupted", True)

    async def _answer(self, call: Any) -> None:
        response = {"output": TOOLS[call.name]} if call.name in TOOLS else {"error": "unknown"}
        answer = types.FunctionResponse(id=call.id, name=call.name, response=response)
        self.note("answered", call.id)
        await self.session.send_tool_response(function_responses=answer)


class Scenes:
    """The scenes, each on connections of its own."""

    def __init__(self, client: genai.Client, seen: pathlib.Path) -> None:
        self.client, self.seen = client, seen

    @asynccontextmanager
    async def connect(self, scene: str, model: str = MODEL, **config: Any) -> AsyncIterator[Talk]:
        """Opens a connection of a scene."""
        given: Any = {**CONFIG, **config}
        async with self.client.aio.live.connect(model=model, config=given) as session:
            yield Talk(session, scene, self.seen)

    async def asked(self, scene: str, said: str, heard: str) -> None:
        """One question of the user, and the turn of the model that answers it."""
        async with self.connect(scene) as talk:
            await talk.say(said)
            await talk.turn(heard)

    async def talk(self) -> None:
        """Text and sound in both directions."""
        async with self.connect("talk") as talk:
            await talk.say("Hello.")
            await talk.turn("I beg your pardon?")
            await talk.say("Sing.")
            await talk.turn("La.")
            await talk.sound_out(3)
            await talk.turn("I heard three frames.")
            numbers = [int.from_bytes(it[:4], "little") for it in talk.sound]
            assert numbers == [0, 1, 2, 3, 4, 0, 1, 2], numbers

    async def interrupted(self) -> None:
        """A story, which the user interrupts."""
        async with self.connect("interrupted") as talk:
            await talk.say("Tell me a story.")
            await talk.turn("Once upon a time.", lambda: talk.say("Stop!"))

    async def cancelled(self) -> None:
        """Two calls, which the user cancels before they are answered."""
        async with self.connect("cancelled") as talk:
            talk.answers = False
            await talk.say("Do it slowly.")
            await talk.turn("Just a moment.", lambda: talk.say("Never mind."), calls=1)

    async def resumed(self) -> None:
        """The session resumes on a second connection."""
        async with self.connect("resumed", session_resumption={}) as talk:
            await talk.say("Remember this.")
            await talk.turn("Call me again.")
        assert talk.handle == "gateway-1", talk.handle
        async with self.connect("resumed", session_resumption={"handle": talk.handle}) as talk:
            await talk.turn("Welcome back.")

    async def inline(self) -> None:
        """A call that waits longer than the model: it is acknowledged, and told as conversation."""
        async with self.connect("inline", model=BLOCKING_MODEL) as talk:
            await talk.say("Transfer it.")
            await talk.turn("I have asked.")
            talk.note("waiting", "inline-1")
            await talk.turn("What you asked for before is decided.")

    async def across(self) -> None:
        """A call that waits while the connection ends, and is delivered on the next one."""
        async with self.connect("across", session_resumption={}) as talk:
            await talk.say("Later, please.")
            await talk.turn("I will.")
        async with self.connect("across", session_resumption={"handle": talk.handle}) as talk:
            await talk.turn("Here we are again.")
            talk.note("waiting", "across-1")
            await talk.turn("What you asked for before is decided.")

    async def run(self, scene: str) -> None:
        """Runs a scene by its name."""
        if scene in ASKED:
            await self.asked(scene, *ASKED[scene])
        elif "hold of" in scene:
            await self.asked(scene, scene, "It is done.")
        else:
            await getattr(self, scene)()


ASKED = {
    "observed": ("Look up my order.", "It was shipped."),
    "mixed": ("Do everything.", "Everything is settled."),
    "quiet": ("Refund it quietly.", "It was refunded."),
    "approved": ("Refund my order.", "It was refunded."),
    "denied": ("Wipe it.", "That is over."),
    "hosted": ("What time is it?", "I looked at the clock."),
}


async def converse(url: str, seen: pathlib.Path, scenes: list[str]) -> None:
    """Runs the scenes, one after another."""
    options = types.HttpOptions(base_url=url)
    client = genai.Client(api_key="test-key", http_options=options)
    for scene in scenes:
        try:
            await Scenes(client, seen).run(scene)
        except Exception as problem:
            raise AssertionError(f"the scene {scene}: {problem!r}") from problem


def main() -> int:
    """Runs the scenes that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", required=True)
    parser.add_argument("--seen", type=pathlib.Path, required=True)
    parser.add_argument("--scenes", required=True)
    given = parser.parse_args()
    # All connections stay on this machine, even if a proxy is configured.
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1"
    asyncio.run(converse(given.url, given.seen, given.scenes.split(",")))
    print(f"google-genai {genai.__version__}: {given.scenes}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
