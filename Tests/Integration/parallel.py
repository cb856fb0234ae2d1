"""Several processes at once. The server forgets the sign-in when a refresh token is used twice: a slip is seen."""

import json
import time

from glewlwyd import Glewlwyd
from world import address_shown

PROCESSES = 8


def expire(world):
    """Moves the time at which the account's tokens were received into the past: for the program, the access token has expired."""
    file = world.run("accounts", "export", "--reveal-secrets").json
    for account in file["accounts"]:
        account["received"] = int(time.time()) - 100_000
    world.run("sign-out", "--local")
    return world.run("accounts", "import", input=json.dumps(file))


def run(checks, world):
    server = Glewlwyd(world, access_ttl=600)
    world.use_settings({"types": {"real": server.type()}})
    waiting = world.start("sign-in", "real", "--no-browser")
    server.approve(address_shown(waiting))
    if not checks.ends("sign-in approved with curl", waiting.finish(), 0, "Signed in"):
        return
    for turn in ("first", "second"):
        old = world.run("token").out.strip()
        checks.ends(f"{turn} expiry: the token has expired", expire(world), 0)
        before = server.refresh_tokens_given()
        outcomes = [running.finish() for running in [world.start("token") for _ in range(PROCESSES)]]
        given = {outcome.out.strip() for outcome in outcomes}
        checks.check(f"{turn} expiry: {PROCESSES} processes get a token",
                     all(outcome.status == 0 for outcome in outcomes), "\n".join(map(str, outcomes)))
        checks.check(f"{turn} expiry: all get the same, a new one", len(given) == 1 and not given & {old, ""},
                     f"{len(given)} different tokens")
        refreshes = server.refresh_tokens_given() - before
        checks.check(f"{turn} expiry: the server was asked for one refresh", refreshes == 1, f"{refreshes} refreshes")
    outcomes = [running.finish() for running in [world.start("token", "--refresh") for _ in range(PROCESSES)]]
    checks.check(f"{PROCESSES} forced refreshes at once all end well", all(outcome.status == 0 for outcome in outcomes),
                 "\n".join(map(str, outcomes)))
    last = world.run("token", "--refresh")
    checks.check("the sign-in has survived: a further refresh works",
                 last.status == 0 and server.user_info(last.out.strip()).status == 200, last)
    checks.ends("status agrees", world.run("status"), 0)
