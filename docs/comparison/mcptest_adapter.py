"""mcptest: `mcptest score` on one trace per case, with a gates file for each. Needs only the program."""

import json
import os
import pathlib
import subprocess
import tempfile

import harness

PROGRAM = os.environ["MCPTEST"]


def trace(case):
    """The envelope. Unrecorded values are absent."""
    if case["recorded"] is None:
        return {"final_response": "-"}
    calls, results = [], []
    for call in case["recorded"]:
        calls.append({"name": call["name"], **({"args": call["args"]} if "args" in call else {})})
        results.append({"is_error": call.get("failed", False)})
    return {"tool_calls": calls, "tool_results": results, "final_response": case.get("final", "-")}


def broken(call):
    """Broken arguments exist only as model output, so this case is a Chat Completions log."""
    function = {"name": call["name"], "arguments": call["text"]}
    turn = {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function", "function": function}]}
    return {"messages": [{"role": "user", "content": "-"}, turn]}


def gates(case):
    if case["kind"] == "forbidden":
        return {"expect": [{"target": "tool_calls[*].name", "matcher": {"not": {"contains": case["forbidden"]}}}]}
    if case["kind"] == "claim":
        return {"narrative": {}}
    how = {"exact": "exact", "within": "subset"}[case.get("arguments", "exact")]
    calls = [{"name": call["name"], "args": {how: call["args"]}} for call in case["expected"]]
    if case["kind"] == "status":
        calls = [{**call, "status": "ok"} for call in calls]
    mode = case.get("mode", "superset")
    # `unordered` allows other calls unless a limit is set.
    rest = {"mode": "unordered", "max_extra": 0} if mode == "same-set" else {"mode": mode}
    return {"trajectory": {"calls": calls, **rest}}


def score(lines, *flags):
    text = "".join(json.dumps(line) + "\n" for line in lines)
    done = subprocess.run([PROGRAM, "score", "-", *flags], input=text, capture_output=True, text=True, timeout=60)
    return [json.loads(line) for line in done.stdout.splitlines()]


def reliability(case):
    runs = [{"tool_calls": [], "group": "runs", "outcome": outcome} for outcome in case["outcomes"]]
    return score(runs, "--from", "envelope", "--outcome", "outcome", "--outcome-pass", "true")[-1]["metrics"][
        "reliability"
    ]


def judge(case):
    if case["kind"] == "pass-hat":
        return round(reliability(case)["pass_hat"][case["k"]] / 100, 6)
    if case["kind"] == "interval":
        metrics = reliability(case)
        return "interval" if metrics["wilson_low"] < metrics["wilson_high"] else "point"
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "gates.yml")
        file.write_text(json.dumps(gates(case)), encoding="utf-8")  # JSON is YAML
        text = next((call for call in case["recorded"] or [] if "text" in call), None)
        record, form = (broken(text), "openai-chat") if text else (trace(case), "envelope")
        return score([record], "--from", form, "--gates", str(file))[0]["verdict"]


def version():
    done = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.split()[-1]


harness.run(version, judge)
