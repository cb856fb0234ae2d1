"""Counts checks and prints each on one line."""

import os
import sys
import time


def say(*lines):
    """Prints lines together, so that no line of the other lane comes between them."""
    sys.stdout.flush()
    rest = "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")
    while rest:
        rest = rest[os.write(sys.stdout.fileno(), rest):]


class Checks:
    def __init__(self):
        self.passed = 0
        self.failed = 0
        self.topic = ""
        self.last = time.monotonic()

    def check(self, sentence, condition, detail=""):
        """Counts and prints one check. `detail` is printed if the check fails: the actual result."""
        now = time.monotonic()
        took, self.last = now - self.last, now
        line = f"{self.topic}: {sentence}" + (f" ({took:.1f} s)" if took >= 1 else "")
        if condition:
            self.passed += 1
            say(f"ok      {line}")
        else:
            self.failed += 1
            say(f"FAILED  {line}", *(f"        {one}" for one in str(detail).splitlines()))
        return bool(condition)

    def ends(self, sentence, outcome, status, *words, silent=False):
        """Checks that a command ended with this status and that its standard error contains these words (ignoring case)."""
        missing = [word for word in words if word.lower() not in outcome.err.lower()]
        right = outcome.status == status and not missing and not (silent and outcome.err)
        wish = f"expected status {status}" + (f" and {missing} on standard error" if missing else "")
        return self.check(sentence, right, f"{wish}\n{outcome}")
