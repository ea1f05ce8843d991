"""mcp-eval: the evaluators behind `Expect`, on the metrics that it computes from its own traces."""

from collections import Counter

from mcp_eval import Expect
from mcp_eval.evaluators.base import EvaluatorContext
from mcp_eval.metrics import TestMetrics, ToolCall

import harness


def metrics(calls):
    # A session without a trace has metrics without calls. Arguments are required, so missing or broken ones are
    # passed as none.
    return TestMetrics(
        tool_calls=[
            ToolCall(
                name=call["name"],
                arguments=harness.arguments(call) or {},
                result=None,
                start_time=0,
                end_time=0,
                is_error=call.get("failed", False),
            )
            for call in calls or []
        ]
    )


def wanted(case):
    """A check tests one thing, so a reference becomes several: names and order, arguments, counts."""
    if case["kind"] == "forbidden":
        return [Expect.tools.count(case["forbidden"], 0)]
    if case["kind"] not in ("calls", "status"):
        return None
    names = [call["name"] for call in case["expected"]]
    arguments = [Expect.tools.called_with(call["name"], call["args"]) for call in case["expected"]]
    often = [Expect.tools.was_called(name, min_times=count) for name, count in Counter(names).items()]
    if case["kind"] == "status":
        return [*arguments, *(Expect.tools.success_rate(1.0, name) for name in names)]
    if case["mode"] == "subset":
        # Limits for the allowed tools and zero for all others. No optimal number of steps is given, because
        # a run with fewer has a score above 1, which the result rejects.
        return [
            Expect.path.efficiency(
                allow_extra_steps=len(names),
                penalize_backtracking=False,
                tool_usage_limits=dict(Counter(names)),
                default_tool_limit=0,
            )
        ]
    if case["mode"] == "superset":
        return [*arguments, *often]
    # Only the exact sequence forbids unnamed tools, so it is also used for the same set.
    return [*arguments, Expect.tools.sequence(names, allow_other_calls=case["mode"] == "subsequence")]


def judge(case):
    checks = wanted(case)
    if checks is None:
        return harness.MODEL if case["kind"] == "claim" else None
    context = EvaluatorContext(
        inputs="-", output="-", expected_output=None, metadata=None, metrics=metrics(case["recorded"])
    )
    return harness.passed(all(check.evaluate_sync(context).passed for check in checks))


harness.run("mcpevals", judge)
