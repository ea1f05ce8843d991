"""Inspect: the reducer `pass_k` and the metric `ci_wilson`. It leaves call matching to user-written scorers."""

from inspect_ai.scorer import SampleScore, Score, ci_wilson, pass_k

import harness


def judge(case):
    scores = [Score(value=1 if outcome else 0) for outcome in case.get("outcomes", [])]
    if case["kind"] == "pass-hat":
        return round(pass_k(case["k"])(scores).value, 6)
    if case["kind"] == "interval":
        bounds = ci_wilson(case["level"] / 100)([SampleScore(score=score) for score in scores])
        return "interval" if bounds["lower"] < bounds["upper"] else "point"
    return harness.MODEL if case["kind"] == "claim" else None


harness.run("inspect-ai", judge)
