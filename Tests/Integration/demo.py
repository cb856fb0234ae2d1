"""`lodge demo` in a pipe: it prints every step, leaves no files, and ends soon."""

import glob
import os
import time


def steps(text):
    """Returns the first words of each step, which are the same in every run."""
    return [" ".join(line.split()[1:3]) for line in text.splitlines() if line.startswith("* ")]


def run(checks, world):
    def timed():
        begun = time.monotonic()
        return world.run("demo"), time.monotonic() - begun

    told, first = timed()
    checks.ends("demo exits with 0 and prints nothing on standard error", told, 0, silent=True)
    said = steps(told.out)
    wanted = ["Started a", "Signed in", "Saved account", "Searched startswith(givenName,'A'):", "Waiting for",
              "Opened the", "Signed out:"]
    checks.check("demo prints all steps in order", [s for s in said if s in wanted][:3] == wanted[:3]
                 and all(w in said for w in wanted) and said.count(wanted[3]) == 3, said)
    checks.check("demo prints the events", told.out.count("event: ") >= 3, told.out)
    checks.check("demo prints no color in a pipe", "\x1b" not in told.out)
    again, second = timed()
    checks.check("a second run prints the same steps", steps(again.out) == said, again)
    # Enough time for a slow machine, but less than the 30 s after which a request without a response ends.
    checks.check("demo does not wait for the end of a time limit", min(first, second) < 25, f"{first:.1f} s and {second:.1f} s")
    left = glob.glob(os.path.join(world.environment["TMPDIR"], "*"))
    checks.check("demo leaves no files", not left and not os.path.exists(world.store), left)
