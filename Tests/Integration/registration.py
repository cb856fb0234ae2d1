"""The capabilities of a provider, client registration and deletion, and the end of the browser session."""

import json
import os
import stat

import web
from glewlwyd import Glewlwyd, claims_of
from grants import query
from world import PATIENT, eventually


def run(checks, world):
    server = Glewlwyd(world, access_ttl=60)
    world.environment.update(server.as_browser)
    world.use_settings({"types": {"public": server.type()}})
    offers(checks, world, server)
    registered(checks, world, server, "registered", {"client_confidential": False}, "none")
    registered(checks, world, server, "with-secret", {"token_endpoint_auth_method": "client_secret_basic"},
               "client_secret_basic")
    refused = world.run("providers", "add", "bad", "--issuer", server.issuer, "--register", "--redirect-uri",
                        "http://127.0.0.1/callback", "--register-with", '{"redirect_uris": ["http://example.com/cb"]}')
    checks.check("a rejected registration prints the server's reason",
                 refused.status not in (0, "no end in time") and "invalid_redirect_uri" in refused.err, refused)
    checks.check("a rejected registration adds no type", "bad" not in settings(world)["types"], settings(world))
    end_session(checks, world, server)


def settings(world):
    with open(world.path("settings.json"), encoding="utf-8") as file:
        return json.load(file)


def offers(checks, world, server):
    for words in (("public",), ("--issuer", server.issuer)):
        outcome = world.run("providers", "check", *words, "--output", "json")
        found = {line["what"]: line for line in outcome.json or []}
        checks.check(f"providers check {words[0]} succeeds", outcome.status == 0, outcome)
        wanted = ["discovery", "issuer", "token_endpoint", "pushed_authorization_request_endpoint",
                  "registration_endpoint", "end_session_endpoint", "grant device_code", "PKCE S256", "DPoP", "keys"]
        states = {name: found.get(name, {}).get("state") for name in wanted}
        checks.check(f"providers check {words[0]} finds the capabilities of the server", set(states.values()) == {"ok"}, states)
    slash = world.run("providers", "check", "--issuer", server.issuer + "/", "--output", "json")
    checks.check("providers check rejects an issuer with an additional slash", slash.status == 1, slash)
    other = world.run("providers", "check", "--issuer", server.issuer + "-other")
    checks.check("providers check rejects an unknown issuer", other.status not in (0, "no end in time"), other)


def registered(checks, world, server, name, members, method):
    """RFC 7591 and RFC 7592. The server compares the whole redirect URI, so the registration includes the port."""
    added = world.run("providers", "add", name, "--issuer", server.issuer, "--register", "--redirect-uri",
                      f"http://127.0.0.1:{server.redirect_port}/callback", "--register-with", json.dumps(members))
    if not checks.ends(f"{name}: providers add --register", added, 0, "Registered the client"):
        return
    made = settings(world)["types"][name]
    checks.check(f"{name}: the settings have the client ID and the authentication method",
                 made["clientId"] in added.err and made.get("clientAuthentication") == method, made)
    if method != "none":
        mode = stat.S_IMODE(os.stat(world.path("settings.json")).st_mode)
        checks.check(f"{name}: only its owner can read the settings with the secret", mode == 0o600, oct(mode))
        checks.check(f"{name}: the secret is not printed", made["clientSecret"] not in added.err + added.out, added)
    checks.ends(f"{name}: sign-in with the registered client",
                world.run("sign-in", name, *PATIENT), 0, f"Signed in to {name} as Ada")
    token = world.run("token", "--type", name, "--refresh")
    checks.check(f"{name}: the refreshed token is for the registered client", token.status == 0
                 and claims_of(token.out.strip())[1].get("client_id") == made["clientId"]
                 and server.user_info(token.out.strip()).status == 200, token)
    checks.ends(f"{name}: sign-out", world.run("sign-out", "--type", name), 0)
    removed = world.run("providers", "remove", name)
    checks.ends(f"{name}: providers remove", removed, 0, "Deleted the client")
    checks.check(f"{name}: the type is removed from the settings", name not in settings(world)["types"], settings(world))
    gone = web.send(server.endpoints["token_endpoint"], form={
        "grant_type": "authorization_code", "client_id": made["clientId"], "code": "x", "redirect_uri": "x"})
    known = {**server.type(), "clientId": made["clientId"]}
    world.use_settings({"types": {**settings(world)["types"], "gone": known}})
    late = world.run("sign-in", "gone", "--timeout", "3")
    checks.check(f"{name}: sign-in with the deleted client fails",
                 late.status not in (0, "no end in time") and gone.status >= 400, f"{gone}\n{late}")
    rest = {key: value for key, value in settings(world)["types"].items() if key != "gone"}
    world.use_settings({"types": rest})


def opened(world):
    """Returns the URL that the browser opened. lodge does not wait for the browser."""
    if not eventually(lambda: os.path.exists(world.path("opened"))):
        return ""
    with open(world.path("opened"), encoding="utf-8") as file:
        return file.read().strip()


def end_session(checks, world, server):
    """OpenID Connect RP-Initiated Logout 1.0."""
    signed_in = world.run("sign-in", "public", *PATIENT)
    checks.ends("sign-in", signed_in, 0, "Signed in")
    token = world.run("token").out.strip()
    subject = claims_of(token)[1]["sub"]
    # A browser that only records the URL.
    browser = world.write("browser", f"#!/bin/sh\nprintf '%s\\n' \"$1\" >{world.path('opened')}.new\n"
                                     f"mv {world.path('opened')}.new {world.path('opened')}\n")
    os.chmod(browser, 0o700)
    out = world.run("sign-out", "--browser", BROWSER=browser)
    checks.ends("sign-out --browser", out, 0, "revoked", "browser")
    address = opened(world)
    asked = query(address)
    checks.check("sign-out --browser opens the end_session endpoint",
                 address.startswith(server.endpoints["end_session_endpoint"] + "?"), address)
    hint = claims_of(asked["id_token_hint"])[1] if "id_token_hint" in asked else {}
    checks.check("the URL contains the ID token of the sign-in",
                 hint.get("aud") == "public-cli" and hint.get("sub") == subject, hint)
    answer = web.send(address)
    page = answer.fields.get("Location", "")
    checks.check("the server accepts the URL and redirects the browser to its page",
                 answer.status == 302 and "login.html" in page and query(page).get("prompt") == "end_session",
                 f"{answer}\n{page}")
    checks.check("the ID token is not printed", asked.get("id_token_hint", "?") not in out.err + out.out, out)
    checks.check("the token is revoked", server.is_active(token) is False)
    checks.ends("no account remains", world.run("token"), 4)
