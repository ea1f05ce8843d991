"""Spark with several executors: the verdicts of one process, for any number of partitions."""

import json
import os
import re
import subprocess
import sys
import time

import pytest
from pyspark.sql import SparkSession
from support.corpus import GATES, write

import mcptest.spark
from mcptest._engine import binary

TRACES = int(os.environ.get("SPARK_TRACES", "100000"))
GROUPS = max(1, TRACES // 20)


def _comparable(lines):
    """Lines without where their records were, sorted."""
    return sorted(re.sub(r'^\{"source":"[^"]*","index":\d+,', "{", line) for line in lines)


@pytest.fixture(scope="module")
def spark():
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    session = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "8")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    # Executors start with the first job, and their Python workers with the first function. Neither is measured below.
    assert session.range(0, 100, 1, 4).mapInArrow(lambda batches: batches, "id long").count() == 100
    yield session
    session.stop()


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    write(folder / "traces.jsonl", TRACES, GROUPS)
    (folder / "gates.yml").write_text(json.dumps(GATES))
    typed = [binary(), "score", "traces.jsonl", "--gates", "gates.yml", "--group-by", "task", "--output", "jsonl"]
    start = time.monotonic()
    done = subprocess.run(typed, cwd=folder, capture_output=True, text=True, check=False)
    return folder, _comparable(done.stdout.splitlines()), time.monotonic() - start


@pytest.mark.parametrize("partitions", [1, 4, 16])
def test_verdicts_and_groups_are_those_of_one_process(spark, corpus, partitions, capsys):
    folder, expected, alone = corpus
    text = spark.sparkContext.textFile(str(folder / "traces.jsonl"), partitions).coalesce(partitions)
    assert text.getNumPartitions() == partitions
    df = text.map(lambda line: (line,)).toDF(["trace"])
    start = time.monotonic()
    kept = df.mapInArrow(lambda batches: batches, "trace string").count()
    engine = time.monotonic() - start
    start = time.monotonic()
    rows = mcptest.spark.score(df, folder / "gates.yml", group_by="task").collect()
    took = time.monotonic() - start
    with capsys.disabled():
        print(
            f"\n{kept} traces, {partitions} partitions: {took:.1f} s; the engine alone {engine:.1f} s, one process {alone:.1f} s"
        )
    assert kept == TRACES
    broken = len(range(7, TRACES, 20011))
    assert len(expected) == TRACES + GROUPS
    assert {"pass", "fail", "error"} >= {row.verdict for row in rows if row.kind == "trace" and row.group is None} != set()
    assert sum(row.verdict == "error" for row in rows) == broken
    assert sum(row.kind == "group" for row in rows) == GROUPS
    found = _comparable(row.line for row in rows)
    # Messages about records that cannot be read name the place in their source, which is another one in each partition.
    place = re.compile(r"byte \d+|column \d+")
    assert [place.sub("", line) for line in found] == [place.sub("", line) for line in expected]


def test_mistakes_are_reported_on_the_driver(spark):
    df = spark.createDataFrame([("{}", 1)], "trace string, n int")
    with pytest.raises(ValueError, match="say which column has the traces: trace, n"):
        mcptest.spark.score(df, GATES)
    with pytest.raises(mcptest.InputError, match="unknown key `narativ`"):
        mcptest.spark.score(df, {"narativ": {}}, column="trace")
