"""agentevals: `create_trajectory_match_evaluator` on OpenAI messages."""

import json

from agentevals.trajectory.match import create_trajectory_match_evaluator

import harness

MODES = {"strict": "strict", "superset": "superset", "subset": "subset", "same-set": "unordered"}
# Its "superset" of arguments means that the recorded ones contain the expected ones.
ARGUMENTS = {"exact": "exact", "within": "superset"}


def messages(calls):
    """One message per call, unless the recording says that calls share one."""
    if calls is None:
        return None
    grouped = {}
    for index, call in enumerate(calls):
        grouped.setdefault(("shared", call["message"]) if "message" in call else index, []).append(call)
    return [
        {"role": "assistant", "content": "", "tool_calls": [wire(call) for call in group]} for group in grouped.values()
    ]


def wire(call):
    function = {"name": call["name"]}
    if "text" in call or "args" in call:
        function["arguments"] = call.get("text") or json.dumps(call["args"])
    return {"id": "", "type": "function", "function": function}


def judge(case):
    if case["kind"] == "calls" and case["mode"] in MODES:
        mode, args, reference = MODES[case["mode"]], ARGUMENTS[case["arguments"]], case["expected"]
    elif case["kind"] == "forbidden":
        # There is no list of forbidden tools. The closest is a list of allowed ones with any arguments.
        mode, args = "subset", "ignore"
        reference = [call for call in case["recorded"] or [] if call["name"] != case["forbidden"]]
    else:
        return harness.MODEL if case["kind"] == "claim" else None
    evaluate = create_trajectory_match_evaluator(trajectory_match_mode=mode, tool_args_match_mode=args)
    return harness.passed(evaluate(outputs=messages(case["recorded"]), reference_outputs=messages(reference))["score"])


harness.run("agentevals", judge)
