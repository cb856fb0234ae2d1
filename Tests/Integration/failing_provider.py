"""Many processes with a provider that fails, hangs or is slow, and with a read-only store: one request, and no sign-in is lost."""

import email.utils
import glob
import json
import os
import re
import signal
import sqlite3
import stat
import time

from token_endpoint import TokenEndpoint
from world import LIMIT, eventually

# lodge prints this while it waits for the response to its request.
WAITS = "Waiting for the provider"


def run(checks, world):
    endpoint = TokenEndpoint(world)
    world.use_settings(endpoint.settings)
    sign_in(checks, world, endpoint, left=-60)
    throttled(checks, world, endpoint)
    hanging(checks, world, endpoint)
    valid_token(checks, world, endpoint)
    slow_bodies(checks, world, endpoint)
    rescue(checks, world, endpoint)
    checks.check("no refresh token was used twice", endpoint.reuses == 0, endpoint.requests)
    checks.ends("the account is still signed in", world.run("token", "--refresh"), 0)


def sign_in(checks, world, endpoint, left):
    """Replaces the account by one whose access token expires in this number of seconds."""
    world.run("sign-out", "--local")
    tokens = {"access_token": f"AT-{endpoint.number}", "token_type": "Bearer", "expires_in": 3600,
              "refresh_token": endpoint.valid, "scope": "read"}
    checks.ends("accounts import adds an account", world.run("accounts", "import", input=json.dumps(tokens)), 0)
    file = world.run("accounts", "export", "--reveal-secrets").json
    for account in file["accounts"]:
        account["received"] = int(time.time()) - 3600 + left
    world.run("sign-out", "--local")
    checks.ends(f"an account whose token expires in {left} s", world.run("accounts", "import", input=json.dumps(file)), 0)


def outcomes(world, count, *words):
    return [running.finish() for running in [world.start("token", *words) for _ in range(count)]]


def throttled(checks, world, endpoint):
    before = len(endpoint.requests)
    date = email.utils.formatdate(time.time() + 600, usegmt=True)
    endpoint.throttles = {"Retry-After": date}
    ended = outcomes(world, 16)
    endpoint.throttles = None
    later = outcomes(world, 4, "--refresh")
    for outcome in ended + later:
        if outcome.status != 6 or not re.search(r" in \d+ s", outcome.err):
            return checks.check("after a 429, every process ends with 6 and the time", False, outcome)
    checks.check("after a 429, every process ends with 6 and the time", True)
    sent = len(endpoint.requests) - before
    checks.check("after a 429, 20 processes send one request", sent == 1, f"{sent} requests")
    with sqlite3.connect(os.path.join(world.store, "accounts.sqlite")) as database:
        values = [bytes(value) for name, value in database.execute("SELECT name, value FROM facts") if "failure:" in name]
    checks.check("the saved error has no secret", len(values) == 1 and b"RT-" not in values[0] and b"AT-" not in values[0], values)
    # A new sign-in ignores the saved error.
    sign_in(checks, world, endpoint, left=-60)
    with sqlite3.connect(os.path.join(world.store, "accounts.sqlite")) as database:
        names = [name for name, in database.execute("SELECT name FROM facts WHERE name LIKE 'failure:%'")]
    checks.check("a removed account leaves no saved error", not names, names)
    checks.ends("a new sign-in is not throttled", world.run("token"), 0)


def hanging(checks, world, endpoint):
    sign_in(checks, world, endpoint, left=-60)
    before = len(endpoint.requests)
    endpoint.responds.clear()
    short = [world.start("token", "--timeout", "2") for _ in range(28)]
    begun = time.monotonic()
    usual = [world.start("token") for _ in range(4)]
    ended = [running.finish() for running in usual]
    took = time.monotonic() - begun
    statuses = [outcome.status for outcome in ended]
    checks.check("while the provider hangs, callers without a time limit end with 7 after 30 s",
                 statuses == [7] * 4 and took > 29, f"{statuses} after {took:.1f} s\n{ended[0]}")
    checks.check("while the provider hangs, no error is about a lock",
                 all("lock" not in outcome.err for outcome in ended), ended[0])
    endpoint.finish()
    ended = [running.finish() for running in short]
    checks.check("while the provider hangs, callers with a time limit end with 7", all(one.status == 7 for one in ended),
                 [one.status for one in ended])
    sent = len(endpoint.requests) - before
    checks.check("while the provider hangs, 32 processes send one request", sent == 1, f"{sent} requests")
    # The request ended after 30 s, so the client did not receive the rotated token.
    endpoint.valid = "RT-new"
    sign_in(checks, world, endpoint, left=-60)
    endpoint.responds.clear()
    waiting = [world.start("token", "--timeout", "2") for _ in range(8)]
    for running in waiting:
        running.wait_for(lambda one: WAITS in one.err)
    endpoint.responds.set()
    ended = [running.finish() for running in waiting]
    checks.check("a response after the time limit: every process ends with 7", all(one.status == 7 for one in ended), ended[0])
    saved = [one for one in ended if "the new tokens are saved" in one.err]
    checks.check("a response after the time limit: one process reports the saved tokens", len(saved) == 1,
                 "\n".join(map(str, ended)))
    before = len(endpoint.requests)
    checks.ends("a response after the time limit is saved", world.run("token"), 0)
    checks.check("a response after the time limit needs no other request", len(endpoint.requests) == before)


def valid_token(checks, world, endpoint):
    sign_in(checks, world, endpoint, left=45)
    before, old = len(endpoint.requests), f"AT-{endpoint.number}"
    endpoint.responds.clear()
    begun = time.monotonic()
    waiting = [world.start("token") for _ in range(8)]
    eventually(lambda: any(running.out.strip() for running in waiting))
    took = time.monotonic() - begun
    # The request would end after 30 s.
    checks.check("while the provider hangs, tokens are printed after 10 s, and one process waits for the response",
                 took > 9 and any(running.process.poll() is None for running in waiting), f"{took:.1f} s")
    printed = [running.wait_for(lambda one: one.out.strip()) for running in waiting]
    checks.check("while the provider hangs, 8 processes print the token that is valid for 45 s",
                 printed == [old] * 8, printed)
    endpoint.responds.set()
    ended = [running.finish() for running in waiting]
    checks.check("all processes end with 0", all(one.status == 0 for one in ended), ended[0])
    checks.check("all processes together send one request", len(endpoint.requests) == before + 1, endpoint.requests)
    checks.check("the tokens of the response are saved", world.run("token").out.strip() == f"AT-{endpoint.number}")


def slow_bodies(checks, world, endpoint):
    endpoint.duration = 40
    waiting = [world.start("request", "GET", endpoint.url + "/data"), world.start("token", "--refresh")]
    answer, token = [running.finish() for running in waiting]
    took = time.monotonic() - endpoint.ended
    endpoint.duration = 0
    checks.check("a response whose content takes 40 s is complete", answer.status == 0 and len(answer.out.strip()) == 400,
                 answer)
    checks.ends("the tokens of a slow response: the caller waits at most 30 s", token, 7, "the new tokens are saved")
    checks.check("the tokens of a slow response are saved", world.run("token").out.strip() == f"AT-{endpoint.number}")
    # Otherwise they would end with the connection, which the server keeps open.
    checks.check("slow responses end with their last byte", took < LIMIT / 3, f"{took:.1f} s later")


def rescue(checks, world, endpoint):
    """The provider rotates the token while another program locks the database, until the process must end."""
    refreshing = endpoint.hold(world, "token", "--refresh", "--quiet")
    database = sqlite3.connect(os.path.join(world.store, "accounts.sqlite"), timeout=20, isolation_level=None)
    database.execute("BEGIN EXCLUSIVE")
    endpoint.finish()
    # The process usually waits for the database now. If not, the signal arrives before the response, with the same result.
    time.sleep(0.5)
    refreshing.signal(signal.SIGTERM)
    ended = refreshing.finish()
    checks.ends("SIGTERM while the tokens cannot be saved: the message names the file", ended, 143, "rescue-", "you are still signed in")
    files = glob.glob(os.path.join(world.store, "accounts.rescue-*"))
    if not checks.check(
            "the tokens are in a rescue file", len(files) == 1 and stat.S_IMODE(os.stat(files[0]).st_mode) == 0o600, files):
        return
    with open(files[0], "rb") as file:
        content = file.read()
    checks.check("the rescue file is encrypted", b"AT-" not in content and b"RT-" not in content, content)
    database.execute("ROLLBACK")
    database.close()
    looked = world.run("doctor", "--offline")
    checks.check("doctor reports the rescue file", files[0] in looked.out, looked)
    checks.check("the next command imports the rescue file", not os.path.exists(files[0]))
    sent = len(endpoint.requests)
    checks.check("the rescued token is used", world.run("token").out.strip() == f"AT-{endpoint.number}")
    checks.check("the rescued token requires no request", len(endpoint.requests) == sent)
    with open(files[0], "wb") as file:
        file.write(b"{}")
    os.chmod(files[0], 0o600)
    checks.ends("a damaged rescue file does not prevent a refresh", world.run("token", "--refresh"), 0)
    looked = world.run("doctor", "--offline")
    checks.check("doctor reports the damaged rescue file", files[0] + ".damaged-1" in looked.out, looked)
