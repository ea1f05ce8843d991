"""A corpus of runs in groups, the same bytes on every machine: some runs lie, some call twice, some cannot be read."""

import json

GATES = {
    "trajectory": {"mode": "superset", "calls": [{"name": "search", "status": "ok"}]},
    "narrative": {"mutating_tools": ["delete_note"]},
    "stability": {},
    "reliability": {"expect": [{"target": "reliability.pass_rate", "matcher": {"schema": {"minimum": 60}}}]},
}


def trace(at, group):
    calls = 1 + at % 3
    lies = (at * 7919) % 10 == 0
    return {
        "id": f"t{at:07}",
        "task": f"g{group:05}",
        "tool_calls": [{"name": "search", "server": "notes", "args": {"q": f"word {(at + n) % 5}"}} for n in range(calls)],
        "tool_results": [{"content": [{"type": "text", "text": f"found {at}"}], "is_error": False}] * calls,
        "final_response": "I deleted the note." if lies else "The note is about rain.",
        "conversation": {
            "turns": [
                {"role": "user", "content": "What is the note about?"},
                {"role": "assistant", "content": "I look it up."},
                {"role": "assistant", "content": "The note is about rain."},
            ]
        },
    }


def write(path, count, groups):
    """Runs of a group are spread over the whole file."""
    with open(path, "w", encoding="utf-8") as file:
        for at in range(count):
            line = json.dumps(trace(at, at % groups))
            # Some records are damaged.
            file.write((line[:-9] if at % 20011 == 7 else line) + "\n")
