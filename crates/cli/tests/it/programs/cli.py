"""An agent CLI that prints events: runs the agent, and then prints what the file says that it did."""

import subprocess
import sys

agent, events = sys.argv[1:]
done = subprocess.run([sys.executable, agent], stdin=sys.stdin, capture_output=True)
sys.stderr.buffer.write(done.stderr)
print("Reading prompt from stdin...")
with open(events) as file:
    print(file.read(), end="")
sys.exit(done.returncode)
