"""Ragas: `ToolCallAccuracy`, which computes a score; only 1 is taken for a pass.

Its other metric of calls, `ToolCallF1`, compares sets, so that calls made twice count once.
"""

import asyncio

from ragas.dataset_schema import MultiTurnSample
from ragas.messages import AIMessage, HumanMessage, ToolCall
from ragas.metrics import ToolCallAccuracy

import harness


def calls(case, side):
    # It demands arguments, so those that are missing or broken go in as none.
    return [ToolCall(name=call["name"], args=harness.arguments(call) or {}) for call in case[side]]


def judge(case):
    if case["kind"] != "calls":
        return harness.MODEL if case["kind"] == "claim" else None
    if case["mode"] not in ("strict", "same-set", "superset"):
        return None
    # Nothing allows extras. Where there are none, "these calls in any order" is the nearest question to "at least
    # these", and its score of arguments asks for the expected ones only.
    metric = ToolCallAccuracy(strict_order=case["mode"] == "strict")
    turn = AIMessage(content="-", tool_calls=calls(case, "recorded"))
    sample = MultiTurnSample(user_input=[HumanMessage(content="-"), turn], reference_tool_calls=calls(case, "expected"))
    return harness.passed(asyncio.run(metric.multi_turn_ascore(sample)) >= 1)


harness.run("ragas", judge)
