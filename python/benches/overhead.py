"""What `mcptest.score` costs, compared with the command line: 10,000 small traces, in turns, the median of each.

Fails if a score takes more than twice the time of the command line. Reading every result as an object is measured as well, and
not limited: it is what Python takes to parse the lines.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import mcptest
from mcptest._engine import binary

COUNT, ROUNDS, LIMIT = 10_000, 7, 2.0
GATES = {"narrative": {}, "trajectory": {"mode": "superset", "calls": [{"name": "search", "status": "ok"}]}}


def trace(at: int) -> dict[str, object]:
    return {
        "id": f"t{at}",
        "tool_calls": [{"name": "search", "args": {"q": f"word {at}"}}],
        "tool_results": [{"content": [{"type": "text", "text": "found"}], "is_error": False}],
        "final_response": "The note is about rain.",
    }


def timed(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> int:
    traces = [trace(at) for at in range(COUNT)]
    with tempfile.TemporaryDirectory() as folder:
        texts = [json.dumps(one) for one in traces]
        Path(folder, "traces.jsonl").write_text("".join(text + "\n" for text in texts))
        Path(folder, "gates.yml").write_text(json.dumps(GATES))
        typed = [binary(), "score", "traces.jsonl", "--gates", "gates.yml", "--output", "jsonl"]

        def command_line():
            with open(Path(folder, "out.jsonl"), "wb") as out:
                subprocess.run(typed, cwd=folder, stdout=out, stderr=subprocess.DEVNULL, check=True)

        ways = {
            "command line": command_line,
            "score, dictionaries": lambda: mcptest.score(traces, GATES),
            "score, JSON texts": lambda: mcptest.score(texts, GATES),
            "score, and every result as an object": lambda: mcptest.score(traces, GATES).traces,
        }
        limited = ("score, dictionaries", "score, JSON texts")
        times = {name: [] for name in ways}
        for _ in range(ROUNDS):
            for name, work in ways.items():
                times[name].append(timed(work))
    base = statistics.median(times["command line"])
    too_slow = []
    for name, all_times in times.items():
        median = statistics.median(all_times)
        print(f"{name:38} {median * 1000:7.1f} ms  {(median - base) / COUNT * 1e6:6.1f} us more per trace  {median / base:5.2f}x")
        if name in limited and median > LIMIT * base:
            too_slow.append(name)
    if too_slow:
        print(f"more than {LIMIT} times the command line: {'; '.join(too_slow)}")
    return 1 if too_slow else 0


if __name__ == "__main__":
    sys.exit(main())
