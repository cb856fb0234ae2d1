"""Interrupted sign-ins, by Ctrl-C in the terminal or by the user in the browser: they end immediately and save nothing."""

import os
import shutil
import signal
import socket
import sqlite3
import time
import urllib.parse

import failing_provider
from provider import Provider
from terminal import Terminal
from token_endpoint import TokenEndpoint
from world import LIMIT, PATIENT, address_shown, eventually, free_port
import web

WAITS = "Waiting for the provider"


def run(checks, world):
    provider = Provider(world)
    # A port that no other program gets afterwards.
    provider.settings["types"]["local"]["redirectUri"] = f"http://127.0.0.1:{free_port()}/callback"
    world.use_settings(provider.settings)
    if shutil.which("tmux"):
        by_the_keyboard(checks, world)
    else:
        print("skipped: Ctrl-C, because tmux is not installed", flush=True)
    in_the_browser(checks, world)
    during_a_refresh(checks, world)
    stalled = Provider(world, "--fault", "token-stall", "--log")
    world.use_settings(stalled.settings)
    if shutil.which("tmux"):
        at_the_provider(checks, world, stalled)


def nothing_is_left(checks, world, sentence, port=None):
    listed = world.run("accounts", "--output", "json")
    checks.check(f"{sentence}: no account is saved", listed.status in (3, 8) and listed.json in ([], None), listed)
    if os.path.exists(world.store):
        looked = world.run("doctor", "--offline")
        checks.check(f"{sentence}: the store is undamaged, and no lock is held", looked.status == 0 and "locks\tok" in looked.out,
                     looked)
    if port:
        with socket.socket() as probe:
            checks.check(f"{sentence}: the redirect port is closed", probe.connect_ex(("127.0.0.1", port)) != 0)


def by_the_keyboard(checks, world):
    idle = world.write("idle-browser", "#!/bin/sh\nexec sleep 600\n")
    os.chmod(idle, 0o755)
    world.environment["BROWSER"], person = idle, world.environment["BROWSER"]
    for name, words, awaited in (("browser open", [], "Ctrl-C ends"), ("URL shown", ["--no-browser"], "Ctrl-C ends"),
                                 ("device flow", ["--device"], "Ctrl-C ends"), ("prompt for a code", ["--paste"], "press Enter")):
        shown = Terminal(world, 400, 40, "sign-in", *PATIENT, *words)
        checks.check(f"{name}: lodge waits", shown.wait(awaited), shown.screen)
        address = next((line for line in shown.screen.splitlines() if "redirect_uri=" in line), "")
        listens = redirect_port(address) if words != ["--paste"] else None
        begun = time.monotonic()
        shown.keys("C-c")
        status = shown.status()
        checks.check(f"{name}: Ctrl-C ends the command immediately with 130", status == 130 and time.monotonic() - begun < LIMIT,
                     f"{status}\n{shown.screen}")
        checks.check(f"{name}: the message says interrupted", "interrupted" in shown.screen, shown.screen)
        nothing_is_left(checks, world, name, listens)
        shown.stop()
    world.environment["BROWSER"] = person


def redirect_port(address):
    """Returns the port of the redirect URI in an authorization URL, or None."""
    redirect = urllib.parse.parse_qs(urllib.parse.urlsplit(address).query).get("redirect_uri", [""])[0]
    return urllib.parse.urlsplit(redirect).port


def in_the_browser(checks, world):
    waiting = world.start("sign-in", *PATIENT, "--no-browser")
    redirect = web.decide(address_shown(waiting), "deny")
    begun = time.monotonic()
    page = web.send(redirect)
    ended = waiting.finish()
    checks.ends("cancelled in the browser: not permitted, with a hint", ended, 5, "hint:", "access_denied")
    checks.check("cancelled in the browser: the command ends immediately", time.monotonic() - begun < LIMIT)
    checks.check("cancelled in the browser: the page says that no account was changed", "No account was changed" in page.body,
                 page)
    nothing_is_left(checks, world, "cancelled in the browser", urllib.parse.urlsplit(redirect).port)


def has_taken(process, number):
    """Returns whether a signal is no longer pending: the process has received it or has ended."""
    try:
        with open(f"/proc/{process}/status", encoding="utf-8") as file:
            waiting = [int(line.split()[1], 16) for line in file if line.startswith(("SigPnd", "ShdPnd"))]
    except OSError:
        return True
    return not any(bits >> number - 1 & 1 for bits in waiting)


def during_a_refresh(checks, world):
    """The provider has rotated the refresh token and is sending its response, which lodge must not lose."""
    # lodge ignores a signal that it inherits as ignored, as a shell does for background programs.
    for number in (signal.SIGQUIT, signal.SIGALRM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU):
        signal.signal(number, signal.SIG_DFL)
    endpoint = TokenEndpoint(world)
    world.use_settings(endpoint.settings)
    failing_provider.sign_in(checks, world, endpoint, left=3600)
    for numbers in ([signal.SIGINT], [signal.SIGINT, signal.SIGINT], [signal.SIGTERM], [signal.SIGTERM, signal.SIGTERM],
                    [signal.SIGHUP], [signal.SIGQUIT], [signal.SIGALRM], [signal.SIGUSR1], [signal.SIGUSR2], [signal.SIGXCPU]):
        name = " and ".join(number.name for number in numbers)
        refreshing = endpoint.hold(world, "token", "--refresh")
        for number in numbers:
            refreshing.signal(number)
            eventually(lambda: has_taken(refreshing.process.pid, number))
            told = refreshing.wait_for(lambda running: WAITS in running.err)
        checks.check(f"during a refresh: {name}: the command waits for the response and prints the reason",
                     told and refreshing.process.poll() is None, refreshing.err)
        endpoint.responds.set()
        ended = refreshing.finish()
        checks.ends(f"during a refresh: {name} ends the command", ended, 128 + numbers[0])
        checks.check(f"during a refresh: {name}: no token is printed", not ended.out, ended)
        # The provider revokes all tokens if a refresh token is used twice.
        checks.ends(f"during a refresh: {name} does not lose the sign-in", world.run("token", "--refresh"), 0)
    late = endpoint.hold(world, "token", "--refresh", "--timeout", "0.5")
    late.wait_for(lambda running: WAITS in running.err)
    endpoint.responds.set()
    checks.ends("during a refresh: --timeout ends the wait with 7", late.finish(), 7, "the time of --timeout is over", WAITS)
    checks.ends("during a refresh: --timeout does not lose the sign-in", world.run("token", "--refresh"), 0)
    for name, statement, words, status in (
            ("a reader", "BEGIN", (), 0), ("an exclusive lock", "BEGIN EXCLUSIVE", (), 0),
            ("--timeout and an exclusive lock", "BEGIN EXCLUSIVE", ("--timeout", "1"), 7)):
        refreshing = endpoint.hold(world, "token", "--refresh", *words)
        database = sqlite3.connect(os.path.join(world.store, "accounts.sqlite"), timeout=20, isolation_level=None)
        database.execute(statement)
        database.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        endpoint.finish()
        # SQLite itself waits for 10 s.
        time.sleep(14)
        waits = refreshing.process.poll() is None
        database.execute("ROLLBACK")
        database.close()
        if not words:
            checks.check(f"during a refresh: {name} of 14 s: the command waits for the database", waits, refreshing.err)
        checks.ends(f"during a refresh: {name} of 14 s: the command ends with {status}", refreshing.finish(), status)
        checks.ends(f"during a refresh: {name} does not lose the sign-in", world.run("token", "--refresh"), 0)
    checks.check("during a refresh: no refresh token was used twice", endpoint.reuses == 0, endpoint.requests)
    checks.ends("during a refresh: sign-out removes the account", world.run("sign-out", "--local"), 0)


def at_the_provider(checks, world, stalled):
    """The browser has sent the redirect, and the provider does not respond: the last moment to interrupt a sign-in."""
    shown = Terminal(world, 400, 40, "sign-in", *PATIENT)
    asked = stalled.running.wait_for(lambda running: "/token" in running.out + running.err)
    checks.check("the provider does not respond: lodge has requested the tokens", asked, shown.screen)
    begun = time.monotonic()
    shown.keys("C-c")
    status = shown.status()
    checks.check("the provider does not respond: Ctrl-C ends the command immediately with 130",
                 status == 130 and time.monotonic() - begun < LIMIT, f"{status}\n{shown.screen}")
    nothing_is_left(checks, world, "the provider does not respond")
    shown.stop()
