"""Shared by all adapters: reads the cases, calls the tool, and prints its verdicts as one JSON object.

An adapter is a function from a case to a verdict. A verdict is `pass`, `fail`, `unassessable`, a number, `interval` or
`point`. None means that the tool has no such check, MODEL that its check asks a model. An exception is the verdict
`error`, because that is what a user of the tool gets.
"""

import argparse
import importlib.metadata
import json
import sys

MODEL = "model"


def passed(holds):
    return "pass" if holds else "fail"


def arguments(call):
    """Parsed arguments. None if they are not JSON or were not recorded."""
    if "text" in call:
        try:
            return json.loads(call["text"])
        except ValueError:
            return None
    return call.get("args")


def run(package, judge):
    """`package` is the name of a Python package, or a function that returns the version."""
    parser = argparse.ArgumentParser()
    parser.add_argument("cases")
    parser.add_argument("--only", help="one case, for measuring a process")
    options = parser.parse_args()
    with open(options.cases, encoding="utf-8") as file:
        cases = json.load(file)["cases"]
    verdicts = {}
    for case in cases:
        if options.only in (None, case["id"]):
            verdicts[case["id"]] = attempt(judge, case)
    # Only the last line counts: some tools print a banner.
    version = package() if callable(package) else importlib.metadata.version(package)
    print(json.dumps({"version": version, "verdicts": verdicts}))


def attempt(judge, case):
    try:
        return {"verdict": judge(case)}
    except Exception as error:  # an exception is the tool's answer
        print(f"{case['id']}: {type(error).__name__}: {error}", file=sys.stderr)
        return {"verdict": "error", "error": type(error).__name__}
