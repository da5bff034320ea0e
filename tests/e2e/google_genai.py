"""The vendor's Python library holds conversations with tool calls with the simulator.

    recount simulate --script fixtures/scripts/two_tools.jsonl
    python tests/e2e/google_genai.py --url ws://127.0.0.1:PORT

Needs google-genai and installs nothing. The library speaks TLS only: it always hands its socket an SSL context, which no
ws:// address takes. So this puts a TLS relay with a certificate of its own before the simulator and leaves the library
as it is. It talks once as with a gateway (Vertex mode, custom base URL) and once as with Google AI (API key). Exits with
1 and says why on any mismatch.
"""

import argparse
import asyncio
import contextlib
import datetime
import ipaddress
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
from google.genai import types

EXPECTED_CALLS = [
    ("w1", "get_weather", {"city": "Paris", "days": 3}),
    ("t1", "get_time", {"time_zone": "Europe/Paris"}),
]
EXPECTED_TEXT = "It is noon in Paris, and sunny."
TIMEOUT_SECONDS = 30


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


CONFIG = {
    "response_modalities": ["TEXT"],
    "system_instruction": "Be brief.",
    "tools": [
        {
            "function_declarations": [
                declaration("get_weather", {"city": "STRING", "days": "INTEGER"}),
                declaration("get_time", {"time_zone": "STRING"}),
            ]
        }
    ],
}


async def converse(client):
    async with client.aio.live.connect(model="gemini-live-test", config=CONFIG) as session:
        if session.setup_complete is None:
            raise AssertionError("the first message is not setupComplete")
        await session.send_client_content(
            turns=types.Content(role="user", parts=[types.Part(text="What's the weather, and the time?")])
        )
        frames, text, completions = [], "", 0
        async for message in session.receive():
            if message.tool_call:
                calls = message.tool_call.function_calls
                frames.append([(call.id, call.name, call.args) for call in calls])
                await session.send_tool_response(
                    function_responses=[
                        types.FunctionResponse(id=call.id, name=call.name, response={"output": "fine"})
                        for call in calls
                    ]
                )
            if content := message.server_content:
                if content.model_turn:
                    text += "".join(part.text or "" for part in content.model_turn.parts)
                completions += bool(content.turn_complete)
        check("frames of calls", [EXPECTED_CALLS], frames)
        check("text", EXPECTED_TEXT, text)
        check("turns completed", 1, completions)


def certificate(directory):
    """Writes a certificate for 127.0.0.1 and its key, good for this run."""
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
    """Passes what comes over TLS on to `host` and `port`, byte for byte; yields where it listens."""

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
                await converse(client(kind, address, pem))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", required=True, help="where the simulator listens, such as ws://127.0.0.1:8765")
    url = parser.parse_args().url
    # Nothing here leaves this machine, whatever proxy it is set up with.
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1"
    try:
        asyncio.run(asyncio.wait_for(run(url), TIMEOUT_SECONDS))
    except Exception as problem:
        print(f"google-genai {genai.__version__}: {type(problem).__name__}: {problem}", file=sys.stderr)
        return 1
    print(
        f"google-genai {genai.__version__}: as gateway and as Google AI, {len(EXPECTED_CALLS)} calls in one frame, "
        "both answered, final text and turn_complete received"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
