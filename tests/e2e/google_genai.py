"""The vendor's Python library talks to the simulator, and reads the messages of our own client.

    recount simulate --script fixtures/scripts/foreign.jsonl
    python tests/e2e/google_genai.py --url ws://127.0.0.1:PORT \\
        [--frames RECORDING] [--generate-content REQUESTS]

Needs google-genai and installs nothing. The library speaks TLS only: it always passes an SSL
context to its socket, which a ws:// address does not accept. So this program starts a TLS relay
with its own certificate in front of the simulator, and leaves the library unchanged. It talks once
as with a gateway (Vertex mode, custom base URL) and once as with Google AI (API key).

RECORDING is the output of `recount simulate --record` during a conversation of our own client. Each
of its messages must validate as one of the library's types. REQUESTS are the requests of
`tests/engine/gemini_http.rs`, which must validate, too. On any mismatch the program prints the
reason and exits with 1.
"""

import argparse
import asyncio
import contextlib
import datetime
import ipaddress
import json
import os
import pathlib
import ssl
import sys
import tempfile
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from google import genai
from google.genai import errors, types

MODEL = "gemini-live-test"
TIMEOUT_SECONDS = 60


def check(what, expected, found):
    if found != expected:
        raise AssertionError(f"{what}: expected {expected!r}, found {found!r}")


def declaration(name, properties, **more):
    return {
        "name": name,
        "description": f"Does {name}.",
        "parameters": {
            "type": "OBJECT",
            "properties": {key: {"type": kind} for key, kind in properties.items()},
            **more,
        },
    }


TOOLS = [
    {
        "function_declarations": [
            declaration("get_weather", {"city": "STRING", "days": "INTEGER"}),
            {**declaration("get_time", {"time_zone": "STRING"}), "behavior": "NON_BLOCKING"},
        ]
    }
]

CONFIG = {"response_modalities": ["TEXT"], "system_instruction": "Be brief.", "tools": TOOLS}

# Setups that the service accepts, in every spelling of the library.
SETUPS = {
    "minimal": {},
    "generation": {
        "response_modalities": ["AUDIO"],
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": 40,
        "max_output_tokens": 100,
        "seed": 7,
        "media_resolution": "MEDIA_RESOLUTION_LOW",
        "enable_affective_dialog": True,
        "thinking_config": {"thinking_budget": 0, "include_thoughts": True},
        "speech_config": {
            "language_code": "en-US",
            "voice_config": {"prebuilt_voice_config": {"voice_name": "Kore"}},
        },
    },
    "built-in tools": {
        "tools": [{"google_search": {}}, {"code_execution": {}}, {"url_context": {}}]
    },
    "resumption": {"session_resumption": {}},
    "compression": {
        "context_window_compression": {
            "trigger_tokens": 25600,
            "sliding_window": {"target_tokens": 12800},
        }
    },
    "transcription": {"input_audio_transcription": {}, "output_audio_transcription": {}},
    "activity": {
        "realtime_input_config": {
            "automatic_activity_detection": {
                "disabled": False,
                "start_of_speech_sensitivity": "START_SENSITIVITY_HIGH",
                "end_of_speech_sensitivity": "END_SENSITIVITY_LOW",
                "prefix_padding_ms": 20,
                "silence_duration_ms": 100,
            },
            "activity_handling": "NO_INTERRUPTION",
            "turn_coverage": "TURN_INCLUDES_ALL_INPUT",
        }
    },
    "proactivity": {"proactivity": {"proactive_audio": True}},
}


class Turn:
    """The parts of one turn of the model."""

    def __init__(self):
        self.calls = []
        self.cancelled = []
        self.text = ""
        self.sound = []
        self.interrupted = False
        self.handle = None
        self.time_left = None
        self.completions = 0


async def turn(session, said=None, on_message=None):
    """Sends a text, and receives until the model's turn is complete."""
    if said is not None:
        await say(session, said)
    turn = Turn()
    async for message in session.receive():
        if message.tool_call:
            calls = message.tool_call.function_calls
            turn.calls.append([(call.id, call.name, call.args) for call in calls])
        if message.tool_call_cancellation:
            turn.cancelled += message.tool_call_cancellation.ids
        if update := message.session_resumption_update:
            turn.handle = update.new_handle
        if message.go_away:
            turn.time_left = message.go_away.time_left
        if content := message.server_content:
            for part in (content.model_turn.parts if content.model_turn else None) or []:
                turn.text += part.text or ""
                if part.inline_data:
                    turn.sound.append(part.inline_data.data)
            turn.interrupted |= bool(content.interrupted)
            turn.completions += bool(content.turn_complete)
        if on_message:
            await on_message(message)
    return turn


async def say(session, text):
    content = types.Content(role="user", parts=[types.Part(text=text)])
    await session.send_client_content(turns=content)


def connect(client, **config):
    return client.aio.live.connect(model=MODEL, config={**CONFIG, **config})


async def setups(client):
    """Every variant of the setup is accepted, and the model answers."""
    for name, config in SETUPS.items():
        async with client.aio.live.connect(model=MODEL, config=config) as session:
            if session.setup_complete is None:
                raise AssertionError(f"{name}: the first message is not setupComplete")
            check(name, "I beg your pardon?", (await turn(session, "Hello.")).text)


async def tools(client):
    """Two calls in one frame get a response each, in reverse order."""

    async with connect(client) as session:

        async def answer(message):
            calls = (message.tool_call.function_calls if message.tool_call else None) or []
            for call in reversed(calls):
                response = types.FunctionResponse(
                    id=call.id, name=call.name, response={"output": "fine"}
                )
                if call.name == "get_time":
                    response.scheduling = types.FunctionResponseScheduling.WHEN_IDLE
                await session.send_tool_response(function_responses=response)

        heard = await turn(session, "What's the weather, and the time?", answer)
        expected = [
            ("w1", "get_weather", {"city": "Paris", "days": 3}),
            ("t1", "get_time", {"time_zone": "Europe/Paris"}),
        ]
        check("frames of calls", [expected], heard.calls)
        check("text", "That is what I could find out about Paris.", heard.text)
        check("turns completed", 1, heard.completions)


async def interruption(client):
    """A call is cancelled before its response, and a story is interrupted."""
    async with connect(client) as session:

        async def lose_patience(message):
            if message.tool_call:
                await say(session, "Never mind.")

        heard = await turn(session, "Do something slow.", lose_patience)
        check("cancelled", ["s1"], heard.cancelled)
        check("interrupted", True, heard.interrupted)

        asked = []

        async def stop(message):
            if not asked:
                asked.append(message)
                await say(session, "Stop!")

        heard = await turn(session, "Tell me a story.", stop)
        check("the story was interrupted", True, heard.interrupted)
        check("the story was told to its end", False, "The end." in heard.text)
        check("and its beginning was heard", True, heard.text.startswith("And then 1. "))


async def media(client):
    """Audio is sent in both directions."""
    async with connect(client) as session:
        heard = await turn(session, "Sing.")
        numbers = [int.from_bytes(it[:4], "little") for it in heard.sound]
        check("frames of sound", [0, 1, 2, 3, 4], numbers)
        check("bytes of sound", {960}, {len(it) for it in heard.sound})
        for _ in range(3):
            audio = types.Blob(data=bytes(640), mime_type="audio/pcm;rate=16000")
            await session.send_realtime_input(audio=audio)
        check("what was heard", "I heard three frames.", (await turn(session)).text)
        await session.send_realtime_input(audio_stream_end=True)
        await session.send_realtime_input(text="Hello?")
        check("realtime text", "I beg your pardon?", (await turn(session)).text)


async def resumption(client):
    """The connection ends, and the session resumes with the handle."""
    async with connect(client, session_resumption={}) as session:
        heard = await turn(session, "Remember this.")
        check("handle", "the-handle", heard.handle)
        check("time left", "5s", heard.time_left)
    async with connect(client, session_resumption={"handle": heard.handle}) as session:
        check("after resuming", "Welcome back.", (await turn(session)).text)
        check("and then", "I beg your pardon?", (await turn(session, "Hello.")).text)
    unknown = {"handle": "never-issued"}
    await refused(client, 1007, "invalid argument", session_resumption=unknown)


async def closes(client):
    """The library reports the close code of the service, before and after the setup."""
    for said, code, reason in [
        ("fail", 1011, "Internal error encountered."),
        ("bye", 1000, ""),
        ("abort", 1008, "The operation was aborted."),
        ("vanish", 1006, ""),
    ]:
        async with connect(client) as session:
            try:
                await turn(session, said)
            except errors.APIError as problem:
                check(f"code after {said!r}", code, problem.code)
                check(f"reason after {said!r}", True, reason in str(problem))
            else:
                raise AssertionError(f"after {said!r} the library saw no close")
    unknown = declaration("pay", {"cents": "INTEGER"}, additional_properties=False)
    await refused(client, 1007, "Unknown name", tools=[{"function_declarations": [unknown]}])
    await refused(client, 1008, "is not found", model="no-such-model")


async def refused(client, code, reason, model=MODEL, **config):
    try:
        async with client.aio.live.connect(model=model, config={**CONFIG, **config}):
            pass
    except errors.APIError as problem:
        check("code of the refusal", code, problem.code)
        check(f"{reason!r} in {problem}", True, reason in str(problem))
    else:
        raise AssertionError(f"expected a refusal with {code}, found none")


CONVERSATIONS = [setups, tools, interruption, media, resumption, closes]


# The library sends these members in a setup, but its setup type lacks them.
BESIDE_THE_SETUP = {"realtimeInputConfig": types.RealtimeInputConfig}


def frames(recording):
    """Validates every message of our own client; the library's types know all of its fields."""
    seen = {}
    for number, line in enumerate(pathlib.Path(recording).read_text().splitlines(), 1):
        frame = json.loads(line)
        if frame["direction"] != "client->server" or frame["opcode"] == "handshake":
            continue
        setup = frame["message"].get("setup", {})
        try:
            for field, kind in BESIDE_THE_SETUP.items():
                if field in setup:
                    kind.model_validate(setup.pop(field))
            message = types.LiveClientMessage.model_validate(frame["message"])
        except ValueError as problem:
            raise AssertionError(f"{recording}, line {number}: {problem}") from problem
        kinds = list(message.model_dump(exclude_none=True))
        check(f"payloads of line {number}", 1, len(kinds))
        seen[kinds[0]] = seen.get(kinds[0], 0) + 1
    for kind in ("setup", "client_content", "realtime_input", "tool_response"):
        check(f"{recording} has a {kind}", True, seen.get(kind, 0) > 0)
    return sum(seen.values())


def generate_content(requests):
    """Validates every request of our agents' client; the library's types know all of its fields."""
    fields = {
        "systemInstruction": types.Content,
        "contents": types.Content,
        "tools": types.Tool,
        "generationConfig": types.GenerationConfig,
    }
    seen = set()
    for number, line in enumerate(pathlib.Path(requests).read_text().splitlines(), 1):
        for field, value in json.loads(line).items():
            seen.add(field)
            for one in value if isinstance(value, list) else [value]:
                try:
                    fields[field].model_validate(one)
                except (KeyError, ValueError) as problem:
                    place = f"{requests}, line {number}, {field}"
                    raise AssertionError(f"{place}: {problem}") from problem
    check(f"the fields of {requests}", set(fields), seen)


def certificate(directory):
    """Writes a certificate for 127.0.0.1 and its key, valid for this run."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "simulator")])
    now = datetime.datetime.now(datetime.timezone.utc)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = pathlib.Path(directory, "simulator.pem")
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + signed.public_bytes(serialization.Encoding.PEM)
    )
    return path


@contextlib.asynccontextmanager
async def tls_relay(host, port, pem):
    """Relays TLS connections to `host` and `port`; yields its own address."""

    async def pump(reader, writer):
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def relay(reader, writer):
        try:
            onward_reader, onward_writer = await asyncio.open_connection(host, port)
        except OSError:
            writer.close()
            return
        await asyncio.gather(pump(reader, onward_writer), pump(onward_reader, writer))

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    server = await asyncio.start_server(relay, "127.0.0.1", 0, ssl=context)
    try:
        yield "127.0.0.1:%d" % server.sockets[0].getsockname()[1]
    finally:
        server.close()


def client(kind, address, pem):
    trust = {"ssl": ssl.create_default_context(cafile=pem)}
    if kind == "gateway":
        options = types.HttpOptions(base_url=f"wss://{address}", async_client_args=trust)
        return genai.Client(vertexai=True, http_options=options)
    options = types.HttpOptions(base_url=f"https://{address}/", async_client_args=trust)
    return genai.Client(api_key="test-key", http_options=options)


async def run(url):
    simulator = urlsplit(url)
    with tempfile.TemporaryDirectory() as directory:
        pem = certificate(directory)
        async with tls_relay(simulator.hostname, simulator.port, pem) as address:
            for kind in ("gateway", "google_ai"):
                for conversation in CONVERSATIONS:
                    try:
                        await conversation(client(kind, address, pem))
                    except Exception as problem:
                        place = f"{kind}, {conversation.__name__}"
                        raise AssertionError(f"{place}: {problem!r}") from problem


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--url", required=True, help="the address of the simulator, such as ws://127.0.0.1:8765"
    )
    parser.add_argument(
        "--frames", action="append", default=[], help="a recording of our own client's messages"
    )
    parser.add_argument(
        "--generate-content", help="the requests of our agents' client, one per line"
    )
    arguments = parser.parse_args()
    # All connections stay on this machine, even if a proxy is configured.
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1"
    try:
        asyncio.run(asyncio.wait_for(run(arguments.url), TIMEOUT_SECONDS))
        read = sum(frames(recording) for recording in arguments.frames)
        if arguments.generate_content:
            generate_content(arguments.generate_content)
    except Exception as problem:
        kind = type(problem).__name__
        print(f"google-genai {genai.__version__}: {kind}: {problem}", file=sys.stderr)
        return 1
    print(
        f"google-genai {genai.__version__}: {len(CONVERSATIONS)} conversations "
        "as with a gateway and as with Google AI, "
        f"{len(SETUPS)} setups each; {read} frames of our own client read"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
