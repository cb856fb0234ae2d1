"""`lodge demo` in a pipe: every step said, nothing left behind, soon over."""

import glob
import os
import time


def steps(text):
    """The first words of each step's line: what they have in common from run to run."""
    return [" ".join(line.split()[1:3]) for line in text.splitlines() if line.startswith("* ")]


def run(checks, world):
    begun = time.monotonic()
    told = world.run("demo")
    took = time.monotonic() - begun
    checks.ends("it ends well, with nothing on standard error", told, 0, silent=True)
    # Most of a slow machine's time, and less than the 30 s after which a request without a response ends.
    checks.check("nothing in it waits for the end of a time limit", took < 25, f"{took:.1f} s")
    said = steps(told.out)
    wanted = ["Started a", "Signed in", "Saved account", "Searched startswith(givenName,'A'):", "Waiting for",
              "Opened the", "Signed out:"]
    checks.check("it tells the whole story in order", [s for s in said if s in wanted][:3] == wanted[:3]
                 and all(w in said for w in wanted) and said.count(wanted[3]) == 3, said)
    checks.check("it shows the events", told.out.count("event: ") >= 3, told.out)
    checks.check("there is no colour in a pipe", "\x1b" not in told.out)
    again = world.run("demo")
    checks.check("told again, it is the same story", steps(again.out) == said, again)
    left = glob.glob(os.path.join(world.environment["TMPDIR"], "*"))
    checks.check("nothing is left behind", not left and not os.path.exists(world.store), left)
