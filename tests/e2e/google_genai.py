"""The vendor's Python library holds a conversation with tool calls with the simulator.

    recount simulate --script fixtures/scripts/two_tools.jsonl
    python tests/e2e/google_genai.py --url ws://127.0.0.1:PORT

Needs google-genai; installs nothing. The library forces TLS unless it is in its Vertex gateway mode with a custom base
URL, which is therefore what this uses. Exits with 1 and says why on any mismatch.
"""

import argparse
import asyncio
import sys

from google import genai
from google.genai import types

EXPECTED_CALLS = [
    ("w1", "get_weather", {"city": "Paris", "days": 3}),
    ("t1", "get_time", {"time_zone": "Europe/Paris"}),
]
EXPECTED_TEXT = "It is noon in Paris, and sunny."
TIMEOUT_SECONDS = 20


def check(what, expected, found):
    if found != expected:
        raise AssertionError(f"{what}: expected {expected!r}, found {found!r}")


def declaration(name, properties):
    return {
        "name": name,
        "description": f"Does {name}.",
        "parameters": {
            "type": "OBJECT",
            "properties": {key: {"type": kind} for key, kind in properties.items()},
        },
    }


async def converse(url):
    http_url = url.replace("ws://", "http://", 1)
    client = genai.Client(vertexai=True, http_options=types.HttpOptions(base_url=http_url))
    tools = [
        {
            "function_declarations": [
                declaration("get_weather", {"city": "STRING", "days": "INTEGER"}),
                declaration("get_time", {"time_zone": "STRING"}),
            ]
        }
    ]
    config = types.LiveConnectConfig(
        response_modalities=["TEXT"], system_instruction="Be brief.", tools=tools
    )
    async with client.aio.live.connect(model="gemini-live-test", config=config) as session:
        if session.setup_complete is None:
            raise AssertionError("the first message is not setupComplete")
        await session.send_client_content(
            turns=types.Content(role="user", parts=[types.Part(text="What's the weather, and the time?")])
        )

        calls, text, completions = [], "", 0
        async for message in messages(session):
            if message.tool_call:
                calls.extend(message.tool_call.function_calls)
                await session.send_tool_response(
                    function_responses=[
                        types.FunctionResponse(id=call.id, name=call.name, response={"output": "fine"})
                        for call in message.tool_call.function_calls
                    ]
                )
            if content := message.server_content:
                if content.model_turn:
                    text += "".join(part.text or "" for part in content.model_turn.parts)
                if content.turn_complete:
                    completions += 1
                    break
        check("calls", EXPECTED_CALLS, [(call.id, call.name, call.args) for call in calls])
        check("text", EXPECTED_TEXT, text)
        check("turns completed", 1, completions)


async def messages(session):
    # The library's `receive` ends with each turn.
    while True:
        async for message in session.receive():
            yield message


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", required=True, help="where the simulator listens, such as ws://127.0.0.1:8765")
    url = parser.parse_args().url
    try:
        asyncio.run(asyncio.wait_for(converse(url), TIMEOUT_SECONDS))
    except Exception as problem:
        print(f"google-genai {genai.__version__}: {type(problem).__name__}: {problem}", file=sys.stderr)
        return 1
    print(
        f"google-genai {genai.__version__}: connected, {len(EXPECTED_CALLS)} calls in one frame, both answered, "
        "final text and turn_complete received"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
