"""The README of the package: its five lines, and its test."""

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


def _blocks():
    return re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


def test_the_five_lines_print_a_verdict_and_raise_the_report(tmp_path):
    five, _ = _blocks()
    assert len([line for line in five.splitlines() if line]) == 5
    done = subprocess.run([sys.executable, "-c", five], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == 'fail "deleted the note": no tool was called\n'
    assert "mcptest.errors.CheckFailed: trace\n✗ FAIL      trace 0\n" in done.stderr
    assert done.returncode == 1


def test_the_test_is_recorded_and_replayed(pytester, model, notes):
    _, test = _blocks()
    support = str(Path(__file__).parent)
    Path("my_agent.py").write_text(
        f"import sys\nsys.path.insert(0, {support!r})\nfrom support import agent\n"
        "class Agent(agent.Agent):\n"
        "    def __init__(self, url):\n        super().__init__()\n        self.url = url\n"
        "    def run(self, prompt):\n        return super().run(prompt, self.url)\n"
    )
    Path("gates.yml").write_text("trajectory: { calls: [{ name: search, status: ok }] }\n")
    Path("shop.py").write_text(f"import os\nos.execv({notes[0]!r}, {notes!r})\n")
    pytester.makepyfile(test_shop=test.replace("python shop.py", f"{sys.executable} shop.py"))
    for arguments in (["--mcptest-record"], []):
        pytester.runpytest_subprocess("-p", "no:cacheprovider", *arguments).assert_outcomes(passed=3)
    assert len(model.requests) == 6
