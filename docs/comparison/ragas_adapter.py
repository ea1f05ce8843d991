"""Ragas: `ToolCallAccuracy`, which computes a score; only 1 counts as a pass.

Its other call metric, `ToolCallF1`, compares sets, so repeated calls count once.
"""

import asyncio

from ragas.dataset_schema import MultiTurnSample
from ragas.messages import AIMessage, HumanMessage, ToolCall
from ragas.metrics import ToolCallAccuracy

import harness


def calls(case, side):
    # It requires arguments, so missing or broken ones are passed as none.
    return [ToolCall(name=call["name"], args=harness.arguments(call) or {}) for call in case[side]]


def judge(case):
    if case["kind"] != "calls":
        return harness.MODEL if case["kind"] == "claim" else None
    if case["mode"] not in ("strict", "same-set", "superset"):
        return None
    # Nothing allows extra calls. If there are none, "these calls in any order" is the closest check to "at least
    # these", and its argument score only checks the expected ones.
    metric = ToolCallAccuracy(strict_order=case["mode"] == "strict")
    turn = AIMessage(content="-", tool_calls=calls(case, "recorded"))
    sample = MultiTurnSample(user_input=[HumanMessage(content="-"), turn], reference_tool_calls=calls(case, "expected"))
    return harness.passed(asyncio.run(metric.multi_turn_ascore(sample)) >= 1)


harness.run("ragas", judge)
