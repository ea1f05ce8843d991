"""Ray Data: the verdicts of one process."""

import json
import os

import ray
from support.corpus import GATES, trace

import mcptest.ray


def test_verdicts_and_groups_are_those_of_one_process():
    # Ray would build an environment of its own.
    os.environ["RAY_ENABLE_UV_RUN_RUNTIME_ENV"] = "0"
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        traces = [json.dumps(trace(at, at % 50)) for at in range(1000)]
        expected = mcptest.score(traces, GATES, group_by="task")
        ds = ray.data.from_items([{"text": text} for text in traces], override_num_blocks=4)
        rows = mcptest.ray.score(ds, GATES, column="text", group_by="task").take_all()
    finally:
        ray.shutdown()
    found = {row["id"]: row["verdict"] for row in rows if row["kind"] == "trace"}
    assert found == {result.id: result.verdict for result in expected.traces}
    groups = {row["group"]: json.loads(row["line"]) for row in rows if row["kind"] == "group"}
    assert len(groups) == len(expected.groups) == 50
    for group in expected.groups:
        line = groups[group.group]
        assert (line["runs"], line["verdict"]) == (group.runs, group.verdict)
        assert line["metrics"]["reliability"]["pass_rate"] == group.metrics["reliability"]["pass_rate"]
