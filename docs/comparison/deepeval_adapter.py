"""DeepEval: `ToolCorrectnessMetric` and `ToolPermissionMetric`."""

from deepeval.metrics import ToolCorrectnessMetric, ToolPermissionMetric
from deepeval.models import DeepEvalBaseLLM
from deepeval.test_case import LLMTestCase, ToolCall, ToolCallParams

import harness


class NoModel(DeepEvalBaseLLM):
    """The metric requires a model at construction, but never calls it without `available_tools`."""

    def load_model(self):
        return self

    def generate(self, *_args, **_kwargs):
        raise RuntimeError("a model was asked")

    async def a_generate(self, *_args, **_kwargs):
        raise RuntimeError("a model was asked")

    def get_model_name(self):
        return "none"


def tools(calls, with_outputs=False):
    if calls is None:
        return None
    return [
        ToolCall(
            name=call["name"],
            input_parameters=harness.arguments(call),
            output=("refused" if call.get("failed") else "done") if with_outputs else None,
        )
        for call in calls
    ]


def judge(case):
    outputs = case["kind"] == "status"
    parameters = [ToolCallParams.INPUT_PARAMETERS]
    if case["kind"] == "forbidden":
        metric = ToolPermissionMetric(denied_tools=[case["forbidden"]])
    elif case["kind"] == "calls" and case["mode"] == "subset":
        metric = ToolPermissionMetric(allowed_tools=[call["name"] for call in case["expected"]])
    elif case["kind"] in ("calls", "status"):
        mode = case.get("mode", "superset")
        metric = ToolCorrectnessMetric(
            model=NoModel(),
            # Arguments are scored by the share that agrees. As a threshold for "contains the expected ones", 0.5
            # (the default) is right more often than 1. Everywhere else, only 1 means a pass.
            threshold=0.5 if case.get("arguments") == "within" else 1.0,
            evaluation_params=parameters + [ToolCallParams.OUTPUT] if outputs else parameters,
            # Only the exact match forbids extra calls, so it is also used for the same set.
            should_exact_match=mode in ("strict", "same-set"),
            should_consider_ordering=mode == "subsequence",
            async_mode=False,
        )
    else:
        return harness.MODEL if case["kind"] == "claim" else None
    test = LLMTestCase(
        input="-",
        actual_output="-",
        tools_called=tools(case["recorded"], outputs),
        expected_tools=tools(case.get("expected", []), outputs),
    )
    metric.measure(test, _show_indicator=False)
    return harness.passed(metric.is_successful())


harness.run("deepeval", judge)
