"""Accounts in PostgreSQL for two machines in two networks: one refresh, events, kills, and no lost sign-in."""

import glob
import os
import re
import shutil
import signal
import stat
import time

from browse import Shell
from failing_provider import sign_in
from machine import Machine, can_isolate
from postgresql import Server, programs
from token_endpoint import TokenEndpoint


def run(checks, world):
    if not programs():
        print("skipped: PostgreSQL is not installed", flush=True)
        return
    if not can_isolate():
        print("skipped: a store for two machines, because only root can create networks", flush=True)
        return
    server, endpoint = Server(world), TokenEndpoint(world)
    world.use_settings(endpoint.settings)
    world.environment.update(LODGE_STORE=server.url, PGPASSFILE=server.pass_file)
    one, two = (Machine(world, name, [server.port, endpoint.port]).world for name in ("worker-1", "worker-2"))
    refused(checks, world, server)
    first_use(checks, one, two, endpoint)
    one_refresh(checks, one, two, endpoint)
    events(checks, one, two)
    holder(checks, one, two, endpoint)
    ended(checks, one, two, endpoint)
    killed(checks, one, two, endpoint)
    rescue(checks, one, two, server, endpoint)
    checks.check("no refresh token was used twice", endpoint.reuses == 0, endpoint.requests)
    checks.ends("sign-out on one machine", two.run("sign-out", "--local"), 0)
    checks.ends("the other machine has no account", one.run("token"), 4)


def key_folder(world):
    found = glob.glob(os.path.join(world.environment["HOME"], ".local/share/lodge/postgresql/*/*"))
    return found[0] if found else None


def refused(checks, world, server):
    with open(server.pass_file, encoding="utf-8") as file:
        password = file.read().strip().rsplit(":", 1)[1]
    url = server.url.replace("worker@", f"worker:{password}@")
    shown = world.run("status", "--store", url)
    checks.ends("a password in --store is rejected", shown, 2, "other users can read", "PGPASSFILE", "LODGE_STORE")
    there = world.run("status", LODGE_STORE=url, PGPASSFILE="/nonexistent")
    checks.ends("a password in LODGE_STORE is accepted", there, 0)
    checks.check("no output contains the password", password not in shown.out + shown.err + there.out + there.err)
    checks.ends("without the password the hint names PGPASSFILE", world.run("status", PGPASSFILE="/nonexistent"), 9, "PGPASSFILE")
    checks.ends("accounts salvage works only with files", world.run("accounts", "salvage"), 2, "pg_dump")


def first_use(checks, one, two, endpoint):
    checks.ends("without accounts status creates no store", one.run("status"), 0, "No accounts yet")
    checks.check("status creates no key", key_folder(one) is None, key_folder(one))
    sign_in(checks, one, endpoint, left=-60)
    folder = key_folder(one)
    mode = folder and stat.S_IMODE(os.stat(folder).st_mode)
    checks.check("the key is in a separate folder", mode == 0o700 and os.listdir(folder) == ["accounts.key"], folder)
    checks.ends("another machine has no key", two.run("token"), 9, "the key of this store is missing", "copy it from a machine")
    other = folder.replace(one.environment["HOME"], two.environment["HOME"])
    os.makedirs(os.path.dirname(other), mode=0o700)
    shutil.copytree(folder, other)
    with open(os.path.join(other, "accounts.key"), "r+b") as file:
        right = file.read()
        file.seek(0)
        file.write(bytes(32))
    checks.ends("a different key is rejected", two.run("token"), 9, "it is not the key of this store", "the key of the other machines")
    with open(os.path.join(other, "accounts.key"), "wb") as file:
        file.write(right)
    checks.ends("with the key the other machine lists the account", two.run("accounts"), 0)


def one_refresh(checks, one, two, endpoint):
    before = len(endpoint.requests)
    waiting = [machine.start("token") for _ in range(6) for machine in (one, two)]
    tokens = {outcome.out if outcome.status == 0 else str(outcome) for outcome in [each.finish() for each in waiting]}
    checks.check("12 processes of two machines print the same token", tokens == {f"AT-{endpoint.number}\n"}, tokens)
    checks.check("12 processes of two machines send one refresh", len(endpoint.requests) == before + 1, endpoint.requests[before:])


def events(checks, one, two):
    known = {account["id"] for account in one.run("accounts", "--output", "json").json}
    shell = Shell(two)
    shell.command("browse", "ada")
    checks.check("browse runs on one machine", shell.wait("ctrl-c"), shell.screen)
    imported = one.run("accounts", "import", input='{"access_token": "AT-second", "token_type": "Bearer"}')
    checks.ends("accounts import adds an account on the other machine", imported, 0)
    new = {account["id"] for account in one.run("accounts", "--output", "json").json} - known
    checks.check("accounts lists one more account", len(new) == 1, new)
    new = "".join(new)
    shell.keys("Tab", "a")
    checks.check("browse lists the new account", shell.wait(new), shell.screen)
    shell.keys("C-c")
    shell.wait("ended with")
    checks.ends("the machine of browse removes the new account", two.run("accounts", "remove", new), 0)
    checks.ends("the first account is active again", one.run("accounts", "use", "".join(known)), 0)


def refresh(machine, endpoint):
    """Starts a refresh whose request the endpoint has received, but to which it has not responded."""
    before = len(endpoint.requests)
    endpoint.responds.clear()
    running = machine.start("token", "--refresh")
    running.wait_for(lambda _: len(endpoint.requests) > before)
    return running


def holder(checks, one, two, endpoint):
    running = refresh(one, endpoint)
    looked = two.run("doctor", "--offline")
    checks.check("doctor names the process of the other machine that holds a lock",
                 "(lodge) on worker-1 holds the lock" in looked.out and "end it there: kill " in looked.out, looked)
    checks.ends("--timeout limits the wait for the other machine", two.run("token", "--refresh", "--timeout", "1"), 7)
    endpoint.responds.set()
    checks.ends("the first refresh succeeds", running.finish(), 0)


def ended(checks, one, two, endpoint):
    """Processes that a signal ends during a refresh: they save the tokens and leave no lease that delays others."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        running = refresh(one, endpoint)
        running.signal(number)
        running.wait_for(lambda running: "Waiting for the provider's response" in running.err)
        endpoint.responds.set()
        checks.ends(f"{number.name} during a refresh: the process saves the tokens", running.finish(), 128 + number, "saved")
        # The time limit would end the wait for a lease.
        checks.ends("the other machine does not wait for a lease", two.run("token", "--refresh", "--timeout", "15"), 0)


def killed(checks, one, two, endpoint):
    """A killed process whose request did not reach the provider."""
    endpoint.drops.set()
    running = refresh(one, endpoint)
    running.signal(signal.SIGKILL)
    running.process.wait()
    endpoint.responds.set()
    checks.ends("after a kill during a refresh, other processes wait for its request", two.run("token", "--refresh", "--timeout", "2"), 7)
    looked = two.run("doctor", "--offline")
    checks.check("doctor reports how long the request may take", "its request may still be in progress" in looked.out, looked)
    endpoint.drops.clear()
    told = two.run("token", "--refresh")
    checks.check("the error says when to try again", told.status == 9 and re.search(r"try again in \d+ s", told.err), told)
    time.sleep(int(re.search(r"try again in (\d+) s", told.err).group(1)))
    checks.ends("after that time another process refreshes", two.run("token", "--refresh"), 0)


def rescue(checks, one, two, server, endpoint):
    """The server stops during a refresh, until the process must end."""
    before = len(endpoint.requests)
    running = refresh(one, endpoint)
    server.call("pg_ctl", "-D", server.data, "-w", "-m", "immediate", "stop")
    endpoint.responds.set()
    endpoint.finish()
    running.signal(signal.SIGTERM)
    ended = running.finish(120)
    checks.ends("a server that stops during a refresh: the message names the rescue file", ended, 143, "rescue-",
                "before another machine")
    server.call("pg_ctl", *server.start)
    prints(checks, "after the restart, the machine uses the new token", one.run("token"), f"AT-{endpoint.number}")
    checks.check("the machine sends no other request", len(endpoint.requests) == before + 1, endpoint.requests[before:])
    checks.check("no rescue file remains", os.listdir(key_folder(one)) == ["accounts.key"], os.listdir(key_folder(one)))
    prints(checks, "the other machine gets the rescued token", two.run("token"), f"AT-{endpoint.number}")


def prints(checks, sentence, outcome, token):
    checks.check(sentence, outcome.status == 0 and outcome.out.strip() == token, outcome)
