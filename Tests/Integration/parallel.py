"""Concurrent processes. The server revokes all tokens if a refresh token is used twice, so an error is visible."""

import json
import time

from glewlwyd import Glewlwyd
from world import address_shown

PROCESSES = 8


def expire(world):
    """Sets the time of the token response to the past, so that the access token has expired for lodge."""
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
        checks.check(f"{turn} expiry: {PROCESSES} processes print a token",
                     all(outcome.status == 0 for outcome in outcomes), "\n".join(map(str, outcomes)))
        checks.check(f"{turn} expiry: all processes print the same new token", len(given) == 1 and not given & {old, ""},
                     f"{len(given)} different tokens")
        refreshes = server.refresh_tokens_given() - before
        checks.check(f"{turn} expiry: the server got one refresh request", refreshes == 1, f"{refreshes} refreshes")
    outcomes = [running.finish() for running in [world.start("token", "--refresh") for _ in range(PROCESSES)]]
    checks.check(f"{PROCESSES} concurrent forced refreshes succeed", all(outcome.status == 0 for outcome in outcomes),
                 "\n".join(map(str, outcomes)))
    last = world.run("token", "--refresh")
    checks.check("the account is still signed in: another refresh succeeds",
                 last.status == 0 and server.user_info(last.out.strip()).status == 200, last)
    checks.ends("status shows the account as signed in", world.run("status"), 0)
