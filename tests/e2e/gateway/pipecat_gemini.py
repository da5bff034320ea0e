"""pipecat's Gemini Live service holds the conversations of `fixtures/scripts/gateway.jsonl`.

    pipecat_gemini.py --url https://127.0.0.1:PORT --seen FILE --scenes observed,quiet

A pipeline without a transport, with the tools of conversation.py as pipecat's function schemas.
Only `http_options` and the trusted certificate (SSL_CERT_FILE) say that there is a gateway. The
pipeline ends when it was idle for 300 s, which is pipecat's default, or for PIPECAT_IDLE_S.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import pathlib
import sys
from typing import Any

from google.genai.types import HttpOptions
from loguru import logger
from pipecat.adapters.schemas.function_schema import FunctionSchema
from pipecat.adapters.schemas.tools_schema import ToolsSchema
from pipecat.frames.frames import (
    EndFrame,
    ErrorFrame,
    Frame,
    InputTextRawFrame,
    LLMFullResponseEndFrame,
    LLMRunFrame,
    TextFrame,
)
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.runner import PipelineRunner
from pipecat.pipeline.task import PipelineTask
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import LLMContextAggregatorPair
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat.services.google.gemini_live.llm import GeminiLiveLLMService, GeminiModalities
from pipecat.services.llm_service import FunctionCallParams

MODEL = "models/gemini-live-test"

# A model that waits for the response to each call, and takes one response alone.
BLOCKING_MODEL = "models/gemini-3.1-flash-live-preview"

# The time between two looks at the state of the service, in seconds.
POLL_S = 0.02

ASKED = {
    "observed": ("Look up my order.", "It was shipped."),
    "mixed": ("Do everything.", "Everything is settled."),
    "quiet": ("Refund it quietly.", "It was refunded."),
    "approved": ("Refund my order.", "It was refunded."),
    "denied": ("Wipe it.", "That is over."),
    "hosted": ("What time is it?", "I looked at the clock."),
    "inline": ("Transfer it.", "What you asked for before is decided."),
}

TOOLS: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
    "look_up": ({"order": "string"}, {"status": "shipped"}),
    "refund": ({"order": "string", "cents": "integer"}, {"refunded": True}),
    "wipe": ({"order": "string"}, {"wiped": True}),
    "transfer": ({"cents": "integer"}, {"transferred": True}),
}


class Listener(FrameProcessor):
    """Waits for words of the model, and notes what passes."""

    def __init__(self, scene: str, seen: pathlib.Path, until: str) -> None:
        super().__init__()
        self.scene, self.seen, self.until = scene, seen, until
        self.text = ""
        self.heard = asyncio.Event()

    def note(self, what: str, value: object) -> None:
        """Appends a line to the witness, which survives this process."""
        with self.seen.open("a") as file:
            file.write(json.dumps({"scene": self.scene, what: value}) + "\n")

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        """Looks at a frame, and passes it on."""
        await super().process_frame(frame, direction)
        if isinstance(frame, TextFrame):
            self.text += frame.text
        if isinstance(frame, LLMFullResponseEndFrame):
            self.note("heard", self.text)
            if "I have asked." in self.text:
                self.note("waiting", "inline-1")
            if self.until in self.text:
                self.heard.set()
            self.text = ""
        if isinstance(frame, ErrorFrame):
            self.note("error", str(frame.error)[:300])
        await self.push_frame(frame, direction)

    async def run_tool(self, params: FunctionCallParams) -> None:
        """Runs a tool."""
        self.note("call", [params.tool_call_id, params.function_name, params.arguments])
        self.note("answered", params.tool_call_id)
        await params.result_callback(TOOLS[params.function_name][1])


async def converse(url: str, seen: pathlib.Path, scene: str) -> None:
    """Holds one scene, in a pipeline of its own."""
    said, until = ASKED.get(scene, (scene, "It is done."))
    listener = Listener(scene, seen, until)
    schemas = [
        FunctionSchema(
            name, f"Does {name}.", {it: {"type": kind} for it, kind in fields.items()}, []
        )
        for name, (fields, _) in TOOLS.items()
    ]
    model = BLOCKING_MODEL if scene == "inline" else MODEL
    llm = GeminiLiveLLMService(
        api_key="test-key",
        system_instruction="Be brief.",
        settings=GeminiLiveLLMService.Settings(model=model, modalities=GeminiModalities.TEXT),
        http_options=HttpOptions(base_url=url),
    )
    for name in TOOLS:
        llm.register_function(name, listener.run_tool)
    context = LLMContext(
        [{"role": "user", "content": "Be kind."}], ToolsSchema(standard_tools=schemas)
    )
    aggregators = LLMContextAggregatorPair(context)
    pipeline = Pipeline([aggregators.user(), llm, listener, aggregators.assistant()])
    task = PipelineTask(pipeline, idle_timeout_secs=float(os.environ.get("PIPECAT_IDLE_S", "300")))

    @task.event_handler("on_idle_timeout")
    async def _idle(_task: Any) -> None:
        listener.note("error", "idle timeout of the pipeline")

    running = asyncio.create_task(PipelineRunner(handle_sigint=False).run(task))
    # The context is the history of the session. Words before it are lost, and no event tells.
    await task.queue_frames([LLMRunFrame()])
    while not llm._ready_for_realtime_input:  # noqa: ASYNC110
        await asyncio.sleep(POLL_S)
    await task.queue_frames([InputTextRawFrame(text=said)])
    waiting = asyncio.create_task(listener.heard.wait())
    await asyncio.wait([running, waiting], return_when=asyncio.FIRST_COMPLETED)
    assert listener.heard.is_set(), f"the pipeline ended before the model said {until!r}"
    await task.queue_frames([EndFrame()])
    await running


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
    logger.remove()
    logger.add(sys.stdout, level="WARNING")
    asyncio.run(run(given.url, given.seen, given.scenes.split(",")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
