"""A graph of LangGraph whose tool node calls tools of Recount.

The id of the model's call is the key, so a node that runs again after a crash, or from a
checkpoint, joins the call that it made before.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages

from plain_loop import gated, kept_session
from recount_client import CallFailed, Recount
from scripted import ScriptedModel, refunding


class State(TypedDict):
    """The state of the graph: the conversation, and the session of Recount."""

    messages: Annotated[list[AnyMessage], add_messages]
    session: str


def graph(client: Recount, model: ScriptedModel) -> Any:
    """Returns the compiled graph."""

    def think(state: State) -> dict[str, Any]:
        turn = model.turn(state["messages"][-1].content)
        calls = [{"id": it.id, "name": it.name, "args": it.args} for it in turn.calls]
        return {"messages": [AIMessage(turn.text, tool_calls=calls)]}

    def act(state: State) -> dict[str, Any]:
        session = client.session(state["session"])
        last = state["messages"][-1]
        told = []
        for call in last.tool_calls if isinstance(last, AIMessage) else []:
            try:
                result = session.call(call["name"], call["args"], key=call["id"])
            except CallFailed as failed:
                result = {"error": failed.error}
            told.append(ToolMessage(json.dumps(result), tool_call_id=call["id"]))
        return {"messages": told}

    def next_node(state: State) -> str:
        last = state["messages"][-1]
        return "act" if isinstance(last, AIMessage) and last.tool_calls else END

    built = StateGraph(State)
    built.add_node("think", think)
    built.add_node("act", act)
    built.add_edge(START, "think")
    built.add_conditional_edges("think", next_node, ["act", END])
    built.add_edge("act", "think")
    return built.compile()


def converse(client: Recount, model: ScriptedModel, session: str) -> str:
    """Runs the graph to its end. Returns the last words."""
    begin = {"messages": [HumanMessage("Please refund order 17.")], "session": session}
    return str(graph(client, model).invoke(begin)["messages"][-1].content)


def main() -> None:
    """Runs the conversation of the script."""
    with Recount.from_env() as client:
        gated(client)
        session = kept_session(client, Path("langgraph_node.session"))
        with client.worker(poll_s=1):
            print(converse(client, refunding(), session.id))


if __name__ == "__main__":
    main()
