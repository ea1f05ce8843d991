"""Ray Data: the verdicts of one process."""

import json
import os
import re

import ray
from support.corpus import GATES, trace

import mcptest.ray


def _comparable(lines):
    """Lines without where their records were and in which order they came, sorted."""
    found = [{**json.loads(line), "source": None, "index": None, "carry": None} for line in lines]
    return sorted(re.sub(r"byte \d+", "", json.dumps(line, sort_keys=True)) for line in found)


def test_verdicts_and_groups_are_those_of_one_process():
    # Ray would build an environment of its own.
    os.environ["RAY_ENABLE_UV_RUN_RUNTIME_ENV"] = "0"
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        # Every tenth trace has no group, which is an error.
        traces = [{**trace(at, at % 49), **({} if at % 10 else {"task": None})} for at in range(1000)]
        traces = [json.dumps(trace) for trace in traces]
        expected = mcptest.score(traces, GATES, group_by="task")
        ds = ray.data.from_items([{"text": text} for text in traces], override_num_blocks=4)
        rows = mcptest.ray.score(ds, GATES, column="text", group_by="task").take_all()
    finally:
        ray.shutdown()
    assert {row["kind"] for row in rows} == {"trace", "group"}
    assert _comparable(row["line"] for row in rows) == _comparable(expected.lines)
    assert [json.loads(row["line"])["verdict"] for row in rows] == [row["verdict"] for row in rows]
