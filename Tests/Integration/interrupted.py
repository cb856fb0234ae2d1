"""A sign-in that is ended, by Ctrl-C in the terminal or by the person in the browser: at once, and nothing is half done."""

import os
import shutil
import signal
import socket
import sqlite3
import time
import urllib.parse

from provider import Provider
from terminal import Terminal
from world import address_shown
import web

# Longer than a slow machine takes, and shorter than anything that is waited for.
AT_ONCE = 5


def run(checks, world):
    provider = Provider(world)
    world.use_settings(provider.settings)
    if shutil.which("tmux"):
        by_the_keyboard(checks, world)
    else:
        print("skipped: Ctrl-C, because there is no tmux", flush=True)
    in_the_browser(checks, world)
    during_a_refresh(checks, world)
    stalled = Provider(world, "--fault", "token-stall", "--log")
    world.use_settings(stalled.settings)
    if shutil.which("tmux"):
        at_the_provider(checks, world, stalled)


def nothing_is_left(checks, world, sentence, port=None):
    listed = world.run("accounts", "--output", "json")
    checks.check(f"{sentence}: no account is left", listed.status in (3, 8) and listed.json in ([], None), listed)
    if os.path.exists(world.store):
        looked = world.run("doctor", "--offline")
        checks.check(f"{sentence}: the store is whole, and no lock is held", looked.status == 0 and "locks\tok" in looked.out,
                     looked)
    if port:
        with socket.socket() as probe:
            checks.check(f"{sentence}: nobody waits at the port any more", probe.connect_ex(("127.0.0.1", port)) != 0)


def by_the_keyboard(checks, world):
    idle = world.write("idle-browser", "#!/bin/sh\nexec sleep 30\n")
    os.chmod(idle, 0o755)
    world.environment["BROWSER"], person = idle, world.environment["BROWSER"]
    for name, words, awaited in (("the browser is open", [], "Ctrl-C ends"), ("the address is shown", ["--no-browser"], "Ctrl-C ends"),
                                 ("another device", ["--device"], "Ctrl-C ends"), ("a code is to be pasted", ["--paste"], "press Enter")):
        shown = Terminal(world, 400, 40, "sign-in", *words)
        checks.check(f"{name}: it waits", shown.wait(awaited), shown.screen)
        address = next((line for line in shown.screen.splitlines() if "redirect_uri=" in line), "")
        redirect = urllib.parse.parse_qs(urllib.parse.urlsplit(address).query).get("redirect_uri", [""])[0]
        begun = time.monotonic()
        shown.keys("C-c")
        status = shown.status()
        checks.check(f"{name}: Ctrl-C ends it at once with 130", status == 130 and time.monotonic() - begun < AT_ONCE,
                     f"{status}\n{shown.screen}")
        checks.check(f"{name}: and says so", "interrupted" in shown.screen, shown.screen)
        nothing_is_left(checks, world, name, urllib.parse.urlsplit(redirect).port if redirect and words != ["--paste"] else None)
        shown.stop()
    world.environment["BROWSER"] = person


def in_the_browser(checks, world):
    waiting = world.start("sign-in", "--timeout", "60", "--no-browser")
    redirect = web.decide(address_shown(waiting), "deny")
    begun = time.monotonic()
    page = web.send(redirect)
    ended = waiting.finish()
    checks.ends("cancelled in the browser: not permitted, and what to do", ended, 5, "hint:", "access_denied")
    checks.check("cancelled in the browser: at once", time.monotonic() - begun < AT_ONCE)
    checks.check("cancelled in the browser: the page says that nothing was changed", "Nothing was changed" in page.body,
                 page)
    nothing_is_left(checks, world, "cancelled in the browser", urllib.parse.urlsplit(redirect).port)


def during_a_refresh(checks, world):
    """The provider has rotated the refresh token, and its response is on its way: the program must not lose it."""
    # The program leaves alone a signal that it inherits as ignored, which a shell does to programs in the background.
    for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGALRM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU):
        signal.signal(number, signal.SIG_DFL)
    slow = Provider(world, "--fault", "token-slow=2", "--log")
    world.use_settings(slow.settings)
    checks.ends("during a refresh: signed in", world.run("sign-in"), 0)
    for numbers in ([signal.SIGINT], [signal.SIGINT, signal.SIGINT], [signal.SIGTERM], [signal.SIGTERM, signal.SIGTERM],
                    [signal.SIGHUP], [signal.SIGQUIT], [signal.SIGALRM], [signal.SIGUSR1], [signal.SIGUSR2], [signal.SIGXCPU]):
        name = " and ".join(number.name for number in numbers)
        before = (slow.running.out + slow.running.err).count("/token")
        refreshing = world.start("token", "--refresh")
        sent = slow.running.wait_for(lambda running: (running.out + running.err).count("/token") > before)
        checks.check(f"during a refresh: the request is sent before {name}", sent, slow.running.err)
        for number in numbers:
            refreshing.signal(number)
            time.sleep(0.3)
        ended = refreshing.finish(30)
        checks.ends(f"during a refresh: {name} ends the command", ended, 128 + numbers[0])
        checks.check(f"during a refresh: {name}: no token is printed", not ended.out, ended)
        checks.check(f"during a refresh: {name}: the reason of the wait is printed", "Waiting for the provider" in ended.err, ended)
        # The provider revokes all tokens if a refresh token is used twice.
        checks.ends(f"during a refresh: {name} loses no login", world.run("token", "--refresh"), 0)
    late = world.run("token", "--refresh", "--timeout", "0.5")
    checks.ends("during a refresh: --timeout ends the wait with 7", late, 7, "the time of --timeout is over")
    checks.ends("during a refresh: --timeout loses no login", world.run("token", "--refresh"), 0)
    for name, statement in (("a reader", "BEGIN"), ("an exclusive lock", "BEGIN EXCLUSIVE")):
        before = (slow.running.out + slow.running.err).count("/token")
        refreshing = world.start("token", "--refresh")
        sent = slow.running.wait_for(lambda running: (running.out + running.err).count("/token") > before)
        database = sqlite3.connect(os.path.join(world.store, "accounts.sqlite"), isolation_level=None)
        database.execute(statement)
        database.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        # SQLite itself waits for 10 s.
        time.sleep(14)
        database.execute("ROLLBACK")
        database.close()
        checks.check(f"during a refresh: the request is sent before {name} uses the database", sent, slow.running.err)
        checks.ends(f"during a refresh: {name} of 14 s only delays the save", refreshing.finish(60), 0)
        checks.ends(f"during a refresh: {name} loses no login", world.run("token", "--refresh"), 0)
    before = (slow.running.out + slow.running.err).count("/token")
    refreshing = world.start("token", "--refresh", "--timeout", "1")
    slow.running.wait_for(lambda running: (running.out + running.err).count("/token") > before)
    database = sqlite3.connect(os.path.join(world.store, "accounts.sqlite"), isolation_level=None)
    database.execute("BEGIN EXCLUSIVE")
    time.sleep(14)
    database.execute("ROLLBACK")
    database.close()
    checks.ends("during a refresh: --timeout and a lock of 14 s end with 7", refreshing.finish(60), 7)
    checks.ends("during a refresh: --timeout and a lock lose no login", world.run("token", "--refresh"), 0)
    checks.ends("during a refresh: signed out", world.run("sign-out"), 0)


def at_the_provider(checks, world, stalled):
    """The browser came back, and the provider does not answer: the last moment at which a sign-in can be ended."""
    shown = Terminal(world, 400, 40, "sign-in")
    asked = stalled.running.wait_for(lambda running: "/token" in running.out + running.err)
    checks.check("the provider is silent: it was asked for the tokens", asked, shown.screen)
    begun = time.monotonic()
    shown.keys("C-c")
    status = shown.status()
    checks.check("the provider is silent: Ctrl-C ends it at once with 130",
                 status == 130 and time.monotonic() - begun < AT_ONCE, f"{status}\n{shown.screen}")
    nothing_is_left(checks, world, "the provider is silent")
    shown.stop()
