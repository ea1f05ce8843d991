"""Google ADK: `TrajectoryEvaluator`, the metric `tool_trajectory_avg_score`."""

from google.adk.evaluation.eval_case import IntermediateData, Invocation
from google.adk.evaluation.eval_metrics import EvalMetric, ToolTrajectoryCriterion
from google.adk.evaluation.evaluator import EvalStatus
from google.adk.evaluation.trajectory_evaluator import TrajectoryEvaluator
from google.genai import types

import harness

Match = ToolTrajectoryCriterion.MatchType
# Only EXACT forbids extra calls, so it is also used for the same set.
MODES = {"strict": Match.EXACT, "same-set": Match.EXACT, "subsequence": Match.IN_ORDER, "superset": Match.ANY_ORDER}


def invocation(calls):
    uses = [types.FunctionCall(name=call["name"], args=harness.arguments(call)) for call in calls]
    return Invocation(
        user_content=types.Content(parts=[types.Part(text="-")]), intermediate_data=IntermediateData(tool_uses=uses)
    )


def judge(case):
    # Arguments are compared whole or not at all. There is no check for "contains the expected ones".
    if case["kind"] != "calls" or case["mode"] not in MODES or case["arguments"] != "exact":
        return harness.MODEL if case["kind"] == "claim" else None
    criterion = ToolTrajectoryCriterion(threshold=1.0, match_type=MODES[case["mode"]])
    evaluator = TrajectoryEvaluator(
        eval_metric=EvalMetric(metric_name="tool_trajectory_avg_score", criterion=criterion)
    )
    result = evaluator.evaluate_invocations([invocation(case["recorded"])], [invocation(case["expected"])])
    return harness.passed(result.overall_eval_status == EvalStatus.PASSED)


harness.run("google-adk", judge)
