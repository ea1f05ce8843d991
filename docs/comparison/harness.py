"""What every adapter shares: reading the cases, calling the tool, and printing what it said as one JSON object.

An adapter is a function from a case to a verdict. A verdict is `pass`, `fail`, `unassessable`, a number, `interval` or
`point`; None means that the tool has nothing of the kind, MODEL that it has, and asks a model. An exception is the
verdict `error`, because that is what a user of the tool gets.
"""

import argparse
import importlib.metadata
import json
import sys

MODEL = "model"


def passed(holds):
    return "pass" if holds else "fail"


def arguments(call):
    """The arguments as tools take them that want them parsed: what is no JSON, or not recorded, is None."""
    if "text" in call:
        try:
            return json.loads(call["text"])
        except ValueError:
            return None
    return call.get("args")


def run(package, judge):
    """`package` is the name of a Python package, or a function that tells the version."""
    parser = argparse.ArgumentParser()
    parser.add_argument("cases")
    parser.add_argument("--only", help="one case, for measuring a process")
    options = parser.parse_args()
    with open(options.cases, encoding="utf-8") as file:
        cases = json.load(file)["cases"]
    said = {}
    for case in cases:
        if options.only in (None, case["id"]):
            said[case["id"]] = attempt(judge, case)
    # The last line counts: some tools print a greeting of their own.
    version = package() if callable(package) else importlib.metadata.version(package)
    print(json.dumps({"version": version, "verdicts": said}))


def attempt(judge, case):
    try:
        return {"verdict": judge(case)}
    except Exception as error:  # whatever a tool raises is its answer
        print(f"{case['id']}: {type(error).__name__}: {error}", file=sys.stderr)
        return {"verdict": "error", "error": type(error).__name__}
