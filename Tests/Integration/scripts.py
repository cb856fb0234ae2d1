"""Runs the examples of `lodge help scripts` with bash and the local provider, and checks the page `lodge help storage`."""

import os
import re
import subprocess

from provider import Provider
from world import LIMIT


def block(page, title):
    """Returns the lines below a title of a help page, without their indentation."""
    lines = page.split(f"{title}:\n\n", 1)[1].split("\n\n", 1)[0]
    return re.sub(r"^  ", "", lines, flags=re.MULTILINE) + "\n"


def run(checks, world):
    provider = Provider(world)
    world.use_settings(provider.settings)
    os.symlink(world.program, os.path.join(world.make("bin"), "lodge"))
    world.environment["PATH"] = world.path("bin") + ":" + world.environment["PATH"]
    page = world.run("help", "scripts").out

    def bash(script, **environment):
        return subprocess.run(["bash", "-ec", script], env=world.environment | environment, cwd=world.make("project"), capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, timeout=LIMIT)

    world.run("sign-in")
    first, _, curl = block(page, "Send a request").splitlines()
    listed = bash(first)
    checks.check("lodge request lists all users, page by page", listed.returncode == 0 and listed.stdout.count('"userPrincipalName"') == 300,
                 (listed.returncode, listed.stdout[:300], listed.stderr))
    me = bash(curl.replace("https://graph.microsoft.com", provider.issuer) + " -sf")
    checks.check("curl sends the header of lodge token", "Ada Lovelace" in me.stdout, me)
    report = "import os; print(len(os.environ['OAUTH2_ACCESS_TOKEN']) > 20)"
    world.make("project")
    with open(world.path("project", "report.py"), "w", encoding="ascii") as file:
        file.write(report)
    program = bash(block(page, "Run a program with the token in OAUTH2_ACCESS_TOKEN"))
    checks.check("lodge exec passes the token to a program", program.stdout == "True\n", program)
    tokens = bash(block(page, "Get a token that is valid for a while, with its expiry, or for SASL"))
    checks.check("lodge token prints it in each form", tokens.returncode == 0 and '"expires_at"' in tokens.stdout
                 and len(tokens.stdout.splitlines()) >= 3, tokens)
    cron = re.sub(r"^\S+ \S+ \S+ \S+ \S+ /usr/local/bin/", "",
                  block(page, "Keep sign-ins that you rarely use (crontab; command -v lodge prints the path)"))
    refreshed = bash(cron)
    checks.check("the line of cron refreshes, and prints nothing", refreshed.returncode == 0 and not refreshed.stdout, refreshed)

    steps = block(page, "In CI, as the application itself").replace("https://id.example", provider.issuer)
    steps = steps.replace("--client-id ID", "--scope User.Read.All --client-id lodge-confidential")
    deploy = '#!/bin/sh\n[ -n "$OAUTH2_ACCESS_TOKEN" ] && echo deployed\n'
    with open(world.path("project", "deploy"), "w", encoding="ascii") as file:
        file.write(deploy)
    os.chmod(world.path("project", "deploy"), 0o700)
    ci = bash(steps, SECRET="not-a-secret")
    checks.check("the steps of CI sign in as the application, run a program and sign out", ci.returncode == 0 and "deployed" in ci.stdout, ci)

    moved = block(page, "In CI, with your account").splitlines()
    exported = bash(moved[0])
    checks.check("an account is exported", exported.returncode == 0, exported)
    imported = bash(f"{moved[1]} && lodge token", LODGE_STORE=world.path("other-store"))
    checks.check("and imported elsewhere", imported.returncode == 0 and imported.stdout.strip(), imported)

    storage = world.run("help", "storage").out
    words = re.findall(r"^(\S+)  ", block(storage, "Locations of the key"), re.MULTILINE)
    offered = world.run("help", "config", "set").out
    checks.check("config set has the same locations of the key", len(words) == 5 and all(word in offered for word in words), storage)
    status = world.run("status", "--output", "json")
    checks.check("the files of accounts and key have the names that the page tells", status.status == 0 and all(
        name in storage and os.path.exists(os.path.join(world.store, name)) for name in ("accounts.sqlite", "accounts.key")), status)
