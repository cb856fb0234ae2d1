"""The command with the local provider, as scripts and users in a pipe use it."""

import concurrent.futures
import os
import signal
import subprocess
import time

import web
from provider import Provider, sign_in
from world import PATIENT, address_shown, free_port


def run(checks, world):
    provider = Provider(world, "--users", "3000")
    world.use_settings(provider.settings)
    checks.check("serve prints only its issuer on standard output", provider.running.out == provider.issuer + "\n",
                 provider.running.out)
    checks.ends("without a sign-in: sign-in needed, with a hint", world.run("search", "a"), 4,
                "hint: lodge sign-in")

    denied = sign_in(world, decision="deny")
    checks.check("a denied sign-in exits with an error", denied.status in (4, 5) and "denied" in denied.err, denied)
    opened = world.run("sign-in")
    checks.ends("sign-in opens the program in $BROWSER", opened, 0, "Signed in to local as")
    missing = world.start("sign-in", *PATIENT, BROWSER="/nonexistent/browser")
    url = address_shown(missing)
    web.send(web.decide(url))
    checks.ends("if the browser cannot be started, sign-in shows the URL and continues", missing.finish(), 0)

    searching(checks, world)
    pipes(checks, world)
    interrupting(checks, world, provider)
    faults(checks, world)
    ending(checks, world, provider)


def searching(checks, world):
    found = world.run("search", "a", "--output", "json")
    people = found.json if isinstance(found.json, list) else []
    compared = ("givenName", "surname", "displayName", "mail", "userPrincipalName")
    checks.check("search finds users with a name or an address that starts with TEXT",
                 found.status == 0 and people
                 and all(any((p[name] or "").lower().startswith("a") for name in compared) for p in people), found)
    for words in (["lovelace"], ["ada lovelace"], ["lovelace", "ada"], ["ada@contoso.example"]):
        named = world.run("search", *words, "--fields", "mail", "-o", "csv")
        checks.check(f"search {' '.join(words)} finds the user", named.out == "mail\r\nada@contoso.example\r\n", named)
    checks.check("environment variables do not change the result of a search", world.run(
        "search", "a", "--output", "json", LODGE_NAME="x", LODGE_OFFICE="x", LODGE_LIMIT="1", LODGE_SURNAME="x").out == found.out)
    table = world.run("search", "a")
    lines = table.out.splitlines()
    checks.check("in a pipe the table has tabs, no color and complete cells",
                 table.status == 0 and len(lines) == len(people) + 1 and all(line.count("\t") == 3 for line in lines)
                 and "\x1b" not in table.out, table)
    person = people[0] if people else {}
    shown = world.run("show", person.get("userPrincipalName", "?"), "--output", "json")
    checks.check("show prints the same user",
                 shown.status == 0 and shown.json and shown.json["id"] == person.get("id"), shown)
    me = world.run("me", "--output", "json")
    checks.check("me prints one user", me.status == 0 and isinstance(me.json, dict) and me.json.get("id"), me)
    explained = world.run("search", "--surname", "O'Brien", "--explain")
    checks.check("the quote in a filter is doubled and the value is encoded",
                 explained.status == 0 and ("O%27%27Brien" in explained.out or "O''Brien" in explained.out), explained)
    for text in ("O'Brien", "''", "%27", "李", "😀", "a&b=c#d?e/f+g"):
        odd = world.run("search", "--surname", text)
        checks.check(f"search accepts the surname {text}", odd.status in (0, 3), odd)
    checks.ends("a search without matches", world.run("search", "zzzzzz"), 3)
    nobody = world.run("search", "zzzzzz", "--output", "json")
    checks.check("a search without matches prints an empty array as JSON", nobody.status == 3 and nobody.json == [], nobody)
    checks.ends("an empty search is a usage error", world.run("search", ""), 2, "hint:")
    checks.ends("an unknown option suggests the closest one", world.run("search", "a", "--fitler", "x"), 2, "--filter")
    checks.ends("show of an unknown user", world.run("show", "nobody@nowhere.example"), 3, "request id:")
    wrong = world.run("show", "nobody@nowhere.example", "--output", "json")
    checks.check("--output json prints the error as an object", '"error"' in wrong.err and wrong.out == "", wrong)


def pipes(checks, world):
    shell = 'set -o pipefail; "$0" search --filter "accountEnabled eq true" --all | head -n 1; echo "${PIPESTATUS[*]}"'
    done = subprocess.run(["bash", "-c", shell, world.program], env=world.environment, capture_output=True, timeout=60)
    out, err = done.stdout.decode(), done.stderr.decode()
    checks.check("search | head ends without an error message", out.splitlines()[-1:] == ["0 0"] and len(out.splitlines()) == 2
                 and not err, f"{out!r}\n{err!r}")
    everybody = world.run("search", "--filter", "accountEnabled eq true", "--all", "--output", "json")
    checks.check("--all reads all pages", everybody.status == 0 and len(everybody.json or []) > 1000,
                 everybody.status)
    if os.path.exists("/dev/full"):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([world.program, "search", "a"], env=world.environment, stdout=full,
                                  stderr=subprocess.PIPE, timeout=60)
        checks.check("output that cannot be written is an error", done.returncode == 1
                     and b"cannot write the output" in done.stderr, done)


def interrupting(checks, world, provider):
    for number, name, status in ((signal.SIGINT, "Ctrl-C", 130), (signal.SIGTERM, "SIGTERM", 143)):
        waiting = world.start("sign-in", "--no-browser")
        address_shown(waiting)
        waiting.signal(number)
        checks.ends(f"{name} during a sign-in", waiting.finish(), status)
    kept = world.run("accounts")
    checks.ends("the earlier account remains", kept, 0)


GRAPH_FAULTS = [("directory-429", 6), ("directory-503", 6), ("directory-html", 6), ("directory-403", 5),
                    ("directory-404", 3), ("directory-nextlink-foreign", 1)]
# None: no particular status, but neither success nor sign-in needed.
TOKEN_FAULTS = [("token-503", 6), ("token-429", 6), ("token-html", None), ("token-half-json", None),
                ("token-huge", None), ("token-nothing", 7), ("token-stall", 7), ("token-invalid-grant", 4)]


def faults(checks, world):
    """An error of the provider or directory keeps the sign-in. Most of these checks only wait, so they run concurrently."""
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        directory = [(pool.submit(directory_fault, world, name), name, status) for name, status in GRAPH_FAULTS]
        token = [(pool.submit(token_fault, world, name), name, status) for name, status in TOKEN_FAULTS]
        for result, name, status in directory:
            checks.ends(f"{name}: status {status}", result.result(), status)
        for result, name, status in token:
            failed, accounts = result.result()
            gone = bool(accounts) and accounts[0]["signInNeeded"] is not None
            right = failed.status == status if status else failed.status in (1, 6, 7)
            wish = "sign-in needed" if status == 4 else "no token, still signed in"
            checks.check(f"{name} at the refresh: {wish}",
                         right and accounts and gone == (status == 4), f"{failed}\n{accounts}")


def signed_in(world, provider, name):
    """Returns the environment of a separate account at this provider."""
    there = {"LODGE_SETTINGS": world.write(f"{name}.json", provider.settings),
             "LODGE_STORE": world.path(f"store-{name}")}
    outcome = world.run("sign-in", **there)
    if outcome.status != 0:
        raise RuntimeError(str(outcome))
    return there


def directory_fault(world, name):
    provider = Provider(world, "--fault", name)
    return world.run("search", "a", "--all", "--timeout", "60", **signed_in(world, provider, name))


def token_fault(world, name):
    """Signs in without an error. The refresh then meets a failing provider on the same port."""
    good = Provider(world, "--token-lifetime", "1", "--port", str(free_port()))
    there = signed_in(world, good, name)
    good.running.stop()
    Provider(world, "--port", str(good.port), "--fault", name)
    time.sleep(1)
    # Only a provider that never responds requires the end of the time limit.
    failed = world.run("token", "--timeout", "3" if name == "token-stall" else "60", **there)
    return failed, world.run("accounts", "--output", "json", **there).json


def ending(checks, world, provider):
    taken = world.run("serve", "--port", str(provider.port))
    checks.ends("serve on a port in use", taken, 1, "hint:", "--port")
    out = world.run("sign-out", "--output", "json")
    checks.check("sign-out reports each step",
                 out.status == 0 and out.json and set(out.json[0]) >= {"removed", "revocation", "browserSession"}
                 and out.json[0]["revocation"] == "done", out)
    world.run("sign-in")
    provider.running.signal(signal.SIGTERM)
    ended = provider.running.finish()
    checks.ends("SIGTERM ends serve with a message", ended, 0, "Stopped.")
    gone = world.run("search", "a")
    checks.ends("without the provider: a network error", gone, 7, "hint:")
    away = world.run("sign-out", "--output", "json")
    checks.check("sign-out without the network removes the account and reports the failed revocation",
                 away.status == 0 and away.json and away.json[0]["revocation"] == "failed", away)
    checks.ends("no account remains", world.run("accounts"), 3)
    refused = world.run("sign-in", "--no-browser", LODGE_SETTINGS=world.write(
        "closed.json", {"types": {"closed": {**provider.settings["types"]["local"],
                                             "issuer": f"http://127.0.0.1:{free_port()}"}}}))
    checks.ends("sign-in at an unreachable issuer", refused, 7, "hint:")
