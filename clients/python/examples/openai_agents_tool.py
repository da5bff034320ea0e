"""A tool of the OpenAI Agents SDK that Recount gates, records and runs once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from agents import (
    Agent,
    Model,
    ModelResponse,
    RunConfig,
    Runner,
    Tool,
    TResponseInputItem,
    Usage,
    function_tool,
)
from agents.items import TResponseStreamEvent
from agents.tool_context import ToolContext
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from plain_loop import kept_session
from recount_client import AsyncRecount, AsyncSession, CallFailed, Recount, current_call
from scripted import ScriptedModel, refunding


def gated(client: AsyncRecount) -> Tool:
    """Returns the tool of the agent: its function is a client-run tool of Recount."""

    @client.tool("refund")
    async def run_refund(order: int) -> dict[str, Any]:
        return {"refunded": order, "receipt": current_call().idempotency_key[:8]}

    @function_tool
    async def refund(context: ToolContext[AsyncSession], order: int) -> str:
        """Refunds an order."""
        try:
            # The id of the model's call is the key: a run that is repeated refunds nothing twice.
            key = context.tool_call_id
            result = await run_refund.within(context.context, key=key)(order=order)
        except CallFailed as failed:
            return json.dumps({"error": failed.error})
        return json.dumps(result)

    return refund


async def converse(client: AsyncRecount, script: ScriptedModel, session: AsyncSession) -> str:
    """Runs the agent to its end. Returns its last words."""
    agent = Agent[AsyncSession](
        name="shop", model=Scripted(script), tools=[gated(client)], instructions="Be kind."
    )
    async with client.worker(poll_s=1):
        done = await Runner.run(
            agent,
            "Please refund order 17.",
            context=session,
            run_config=RunConfig(tracing_disabled=True),
        )
    return str(done.final_output)


class Scripted(Model):
    """The scripted model as the SDK calls it."""

    def __init__(self, script: ScriptedModel) -> None:
        self._script = script

    async def get_response(
        self,
        system_instructions: str | None,
        input: str | list[TResponseInputItem],  # noqa: A002 - the SDK names it.
        *args: object,
        **kwargs: object,
    ) -> ModelResponse:
        """Returns the next turn of the script."""
        turn = self._script.turn(input)
        if turn.calls:
            output: list[Any] = [
                ResponseFunctionToolCall(
                    call_id=it.id,
                    name=it.name,
                    arguments=json.dumps(it.args),
                    type="function_call",
                )
                for it in turn.calls
            ]
        else:
            text = ResponseOutputText(text=turn.text, type="output_text", annotations=[])
            output = [
                ResponseOutputMessage(
                    id="message-1",
                    content=[text],
                    role="assistant",
                    status="completed",
                    type="message",
                )
            ]
        return ModelResponse(output=output, usage=Usage(), response_id=None)

    def stream_response(
        self, *args: object, **kwargs: object
    ) -> AsyncIterator[TResponseStreamEvent]:
        """The examples do not stream."""
        raise NotImplementedError


async def run(session: str) -> None:
    """Runs the conversation of the script in a session."""
    async with AsyncRecount.from_env() as client:
        print(await converse(client, refunding(), client.session(session)))


def main() -> None:
    """Runs the conversation of the script."""
    with Recount.from_env() as client:
        session = kept_session(client, Path("openai_agents_tool.session"))
    asyncio.run(run(session.id))


if __name__ == "__main__":
    main()
