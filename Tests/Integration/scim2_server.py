"""scim2-server, a SCIM service in Python with a static bearer token: no provider, and no endpoints in the settings."""

import json
import os
import urllib.request

import web
from servers import SECRET
from world import Running, free_port

TOKEN = "static|" + SECRET.replace(" ", "-")
ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
USERS = [
    {"userName": "ada", "displayName": "Ada Lovelace", "name": {"givenName": "Ada", "familyName": "Lovelace"}, "title": "Engineer",
     "emails": [{"value": "ada@example.com", "primary": True}], ENTERPRISE: {"department": "Engines"}},
    {"userName": "grace", "name": {"givenName": "Grace", "familyName": "O'Brien \"G\""}, "emails": [{"value": "grace@example.com"}]},
    # A service account with only the attributes that SCIM requires.
    {"userName": "robot-7"},
]


def start(world):
    """Starts the service with the users. Returns the base URL of Users."""
    port = free_port()
    python = world.python("scim2-server")
    running = Running(
        [python, os.path.join(os.path.dirname(python), "scim2-server"), "--port", str(port), "--bearer-token", TOKEN],
        world.environment, world.make("outputs"), world.folder)
    world.closers.append(running.stop)
    base = f"http://127.0.0.1:{port}"

    def ready(_):
        try:
            return web.send(base + "/ServiceProviderConfig", bearer=TOKEN).json
        except OSError:
            return None
    if not running.wait_for(ready, 60):
        raise OSError(f"the server did not start: {running.out[:3000]}{running.err[:3000]}")
    for user in USERS:
        schemas = ["urn:ietf:params:scim:schemas:core:2.0:User"] + ([ENTERPRISE] if ENTERPRISE in user else [])
        urllib.request.urlopen(urllib.request.Request(
            base + "/Users", json.dumps({"schemas": schemas, **user}).encode(),
            {"Content-Type": "application/scim+json", "Authorization": f"Bearer {TOKEN}"}), timeout=20).close()
    return base


def prints(checks, sentence, outcome, *words):
    """Checks that a command succeeded and that its standard output has these words."""
    missing = [word for word in words if word not in outcome.out]
    return checks.check(sentence, outcome.status == 0 and not missing, f"expected {missing}\n{outcome}")


def run(checks, world):
    base = start(world)
    world.environment["LODGE_SETTINGS"] = world.path("settings.json")
    added = world.run("providers", "add", "hr", "--directory", "scim", "--directory-base", base)
    checks.ends("providers add requires only the URL", added, 0, "lodge sign-in hr")
    with open(world.path("settings.json"), encoding="utf-8") as file:
        checks.check("the settings have no endpoint and no client",
                     json.load(file) == {"types": {"hr": {"directory": "scim", "directoryBase": base}}})
    checks.ends("without a token: the hint supplies one", world.run("search", "ada"), 4, "lodge sign-in hr")
    prints(checks, "providers check sends no token", world.run("providers", "check", "hr"), "you supply the token", "responds")

    refused = world.run("sign-in", "hr", "--with-token", input="another-token\n")
    checks.ends("sign-in does not send the token to the service", refused, 0, "Saved the token of hr.")
    checks.ends("a token that the service rejects: the hint replaces it", world.run("search", "ada"), 4,
                "lodge sign-in hr --with-token")
    checks.ends("sign-in with a bare token", world.run("sign-in", "hr", "--with-token", input=TOKEN + "\n"), 0, "Saved the token of hr.")
    checks.check("the account exists once, and status does not print its token", "another-token" not in (shown := world.run("status").out)
                 and TOKEN not in shown and shown.count("signed in") == 1, shown)

    directory(checks, world)
    checks.ends("doctor", world.run("doctor"), 0, "No problems found.")
    out = world.run("sign-out", "--output", "json")
    checks.check("sign-out reports that the token remains valid", out.status == 0 and out.json
                 and out.json[0]["revocation"] == "not-offered" and "use the service that issued it" in out.err, out)
    checks.check("the service still accepts the token", web.send(base + "/Users", bearer=TOKEN).status == 200)


def directory(checks, world):
    rows = [line.split("\t") for line in world.run("search", "--all").out.splitlines()[1:]]
    checks.check("each row has a name", sorted(row[0] for row in rows) == ["Ada Lovelace", "Grace O'Brien \"G\"", "robot-7"], rows)
    prints(checks, "search", world.run("search", "ada"), "Ada Lovelace\tada@example.com\tEngineer")
    prints(checks, "search with quotation marks", world.run("search", "--surname", "O'Brien \"G"), "grace@example.com")
    checks.ends("a search without matches", world.run("search", "nobody"), 3, "No user has a name or address")
    pages = world.run("search", "--all", "--page-size", "1", "--output", "jsonl")
    checks.check("pages", pages.status == 0 and len(pages.out.splitlines()) == 3, pages)
    checks.ends("count", world.run("search", "--all", "--count"), 0, "3 in all.")
    for name in ("ada", "robot-7", "ada@example.com"):
        prints(checks, f"show {name}", world.run("show", name), "robot-7" if name == "robot-7" else "Ada Lovelace")
    checks.ends("show of an unknown user", world.run("show", "nobody@example.com"), 3, "nobody@example.com")
    found = world.run("lookup", "--output", "json", "--fields", "userPrincipalName", input="grace\nnobody\nada@example.com\n")
    checks.check("lookup", [row.get("userPrincipalName") for row in found.json or []][:1] == ["grace"], found)
    checks.ends("me: the service does not identify the signed-in user", world.run("me"), 1, "run: lodge show USER")
    checks.ends("sync: SCIM has no list of changes", world.run("sync"), 2, "lodge search --all --output jsonl")
    prints(checks, "token", world.run("token"), TOKEN)
    checks.ends("token --refresh: the token is unchanged", world.run("token", "--refresh"), 4, "is unchanged",
                "lodge sign-in hr --with-token")
