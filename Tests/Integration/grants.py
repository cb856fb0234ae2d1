"""Other flows: device flow, client credentials, pushed requests and DPoP. And codes and tokens that are used twice."""

import os
import re
import urllib.parse

import web
from glewlwyd import Glewlwyd, claims_of
from world import PATIENT, address_shown


def run(checks, world):
    server = Glewlwyd(world, access_ttl=60, DEVICE_TTL="600")
    world.environment.update(server.as_browser)
    secret = {"clientSecret": server.secret("confidential-basic"), "clientAuthentication": "client_secret_basic"}
    wrong = {**secret, "clientSecret": "not the secret"}
    basic = "confidential-basic"
    alone = ["User.Read"]
    world.use_settings({"defaultType": "public", "types": {
        # The URL of a pushed request has no state.
        "public": server.type(pushedAuthorizationRequests=False),
        "service": {**server.type(basic, **secret), "scopes": alone},
        "service-wrong": {**server.type(basic, **wrong), "scopes": alone},
        "service-public": {**server.type(), "scopes": alone},
        "pushed": server.type(basic, pushedAuthorizationRequests=True, **secret),
        "pushed-public": server.type(pushedAuthorizationRequests=True),
        "pushed-wrong": server.type(basic, pushedAuthorizationRequests=True, **wrong),
        "password": {**server.type(basic, **secret), "allowsPasswordGrant": True},
        "password-wrong": {**server.type(basic, **wrong), "allowsPasswordGrant": True},
        "bound": server.type(dpop=True, pushedAuthorizationRequests=False)}})

    device(checks, world, server)
    client_credentials(checks, world, server)
    password(checks, world, server)
    introspection(checks, world, server)
    pushed(checks, world, server)
    bound(checks, world, server)
    codes(checks, world, server)
    reuse(checks, world, server)
    expired_device(checks, world)


def code_shown(running):
    """Returns the user code that `sign-in --device` shows."""
    found = running.wait_for(lambda running: re.search(r"^\s*([A-Z0-9]{4}-[A-Z0-9]{4})\n", running.err, re.M))
    return found.group(1) if found else None


def query(address):
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(address or "").query))


def device(checks, world, server):
    waiting = world.start("sign-in", "public", "--device", *PATIENT)
    code = code_shown(waiting)
    checks.check("sign-in --device shows a code", code, waiting.err)
    checks.check("sign-in --device shows the verification URL", server.issuer + "/device\n" in waiting.err, waiting.err)
    # Longer than the server's interval of one second, so the server has sent authorization_pending.
    waiting.wait_for(lambda _: None, limit=1.5)
    checks.check("the sign-in keeps waiting for the user", waiting.process.poll() is None, waiting.err)
    approved = server.approve_device(code or "")
    checks.check("the user enters the code on another device", approved.returncode == 0, approved)
    checks.ends("sign-in --device succeeds", waiting.finish(), 0, "Signed in to public as Ada")
    token = world.run("token", "--type", "public")
    checks.check("the token is active", server.is_active(token.out.strip()) is True, token)
    renewed = world.run("token", "--type", "public", "--refresh")
    checks.check("the token is refreshed without the user", renewed.status == 0 and renewed.out not in ("", token.out)
                 and server.user_info(renewed.out.strip()).status == 200, renewed)
    used = server.approve_device(code or "")
    checks.check("a used code is rejected", used.returncode != 0, used)
    checks.ends("sign-out revokes the tokens", world.run("sign-out", "--type", "public"), 0, "revoked")

    for sentence, variables in (("over SSH", {"DISPLAY": ":0", "SSH_CONNECTION": "192.0.2.1 1 192.0.2.2 22"}),
                                ("without a display", {})):
        elsewhere = world.start("sign-in", "public", *PATIENT, **{"BROWSER": "", **variables})
        checks.check(f"{sentence}: sign-in selects the device flow", code_shown(elsewhere), elsewhere.err)
        elsewhere.stop()


def client_credentials(checks, world, server):
    outcome = world.run("sign-in", "service", "--client-credentials")
    checks.ends("sign-in --client-credentials", outcome, 0, "Signed in to service")
    token = world.run("token", "--type", "service")
    checks.check("the token is active, and its subject is the client", server.is_active(token.out.strip()) is True
                 and claims_of(token.out.strip())[1].get("sub") == "confidential-basic", token)
    renewed = world.run("token", "--type", "service", "--refresh")
    checks.check("the token is refreshed with the client secret", renewed.status == 0 and renewed.out not in ("", token.out)
                 and server.is_active(renewed.out.strip()) is True, renewed)
    wrong = world.run("sign-in", "service-wrong", "--client-credentials")
    # This server responds with an empty 403 instead of an OAuth error, so lodge cannot determine the cause.
    checks.check("client credentials with a wrong secret are rejected",
                 wrong.status in (1, 8) and "403" in wrong.err, wrong)
    checks.check("the secret is not printed", "not the secret" not in wrong.out + wrong.err, wrong)
    public = world.run("sign-in", "service-public", "--client-credentials")
    checks.ends("client credentials without a secret are a settings error", public, 8, "hint:")
    out = world.run("sign-out", "--type", "service", "--output", "json")
    checks.check("sign-out revokes the token", out.status == 0 and server.is_active(renewed.out.strip()) is False, out)


def password(checks, world, server):
    """RFC 6749 section 4.3: a legacy grant that the settings must allow."""
    person = server.facts["users"][0]
    word = person["password"]
    refused = world.run("sign-in", "public", "--username", person["username"], input=word + "\n")
    checks.ends("a password grant that the settings do not allow is a settings error", refused, 8, "allowsPasswordGrant")
    signed_in = world.run("sign-in", "password", "--username", person["username"], input=word + "\n")
    checks.ends("sign-in --username", signed_in, 0, "Signed in to password")
    token = world.run("token", "--type", "password")
    info = server.user_info(token.out.strip())
    checks.check("the token belongs to the user", info.status == 200 and (info.json or {}).get("sub"), info)
    renewed = world.run("token", "--type", "password", "--refresh")
    checks.check("the token is refreshed without the password", renewed.status == 0 and renewed.out not in ("", token.out)
                 and server.is_active(renewed.out.strip()) is True, renewed)
    kept = b"".join(open(world.path("store", name), "rb").read() for name in os.listdir(world.store))
    checks.check("the password is not saved or printed", word.encode() not in kept and word not in
                 "".join(o.out + o.err for o in (refused, signed_in, token, renewed)))
    for sentence, name, given in (("a wrong password", "password", "not the password"),
                                  ("a wrong client secret", "password-wrong", word)):
        wrong = world.run("sign-in", name, "--username", person["username"], input=given)
        # This server responds with an empty 403 for the password and an empty 400 for the secret, instead of OAuth errors.
        checks.check(f"{sentence}: the sign-in fails", wrong.status in (1, 4, 8) and "HTTP status 40" in wrong.err, wrong)
        checks.check(f"{sentence}: the value is not printed", given not in wrong.out + wrong.err, wrong)
    checks.ends("empty standard input is a usage error", world.run("sign-in", "password", "--username", "ada"), 2, "hint:")
    world.run("sign-out", "--type", "password")


def introspection(checks, world, server):
    """RFC 7662."""
    checks.ends("sign-in for the introspection", world.run("sign-in", "service", "--client-credentials"), 0)
    good = world.run("token", "--type", "service", "--introspect")
    checks.check("token --introspect prints the provider's response",
                 good.status == 0 and (good.json or {}).get("active") is True
                 and good.json.get("client_id") == "confidential-basic" and "User.Read" in good.json.get("scope", ""), good)
    token = world.run("token", "--type", "service").out.strip()
    revoked = web.send(server.endpoints["revocation_endpoint"], form={"token": token},
                       basic=("confidential-basic", server.secret("confidential-basic")))
    checks.check("another client revokes the token", revoked.status == 200, revoked)
    dead = world.run("token", "--type", "service", "--introspect")
    checks.check("token --introspect then prints only active: false", dead.json == {"active": False}, dead)
    checks.check("the output of token --introspect does not contain the token", token not in good.out + good.err + dead.out + dead.err)
    world.run("sign-out", "--type", "service")


def pushed(checks, world, server):
    for name in ("pushed", "pushed-public"):
        waiting = world.start("sign-in", name, *PATIENT)
        address = address_shown(waiting)
        checks.check(f"{name}: the authorization URL has only the client ID and the request URI",
                     set(query(address)) == {"client_id", "request_uri"}
                     and query(address)["request_uri"].startswith("urn:ietf:params:oauth:request_uri:"), address)
        checks.ends(f"{name}: the sign-in succeeds", waiting.finish(), 0, "Signed in to")
        checks.check(f"{name}: the token is active",
                     server.is_active(world.run("token", "--type", name).out.strip()) is True)
    wrong = world.run("sign-in", "pushed-wrong", *PATIENT)
    checks.check("a pushed request with a wrong secret is rejected with an empty 403",
                 wrong.status in (1, 8) and "403" in wrong.err, wrong)
    checks.check("no browser opens", "http://127.0.0.1" not in wrong.err.split("lodge:")[0], wrong)


def bound(checks, world, server):
    """RFC 9449."""
    waiting = world.start("sign-in", "bound", *PATIENT)
    key = query(address_shown(waiting)).get("dpop_jkt")
    checks.check("bound: the authorization request has dpop_jkt", key, waiting.err)
    checks.ends("bound: sign-in", waiting.finish(), 0, "Signed in to bound")
    first = world.run("token", "--type", "bound").out.strip()
    second = world.run("token", "--type", "bound", "--refresh").out.strip()
    keys = [claims_of(token)[1].get("cnf", {}).get("jkt") for token in (first, second) if token]
    checks.check("bound: the tokens before and after a refresh are bound to the key", first != second and keys == [key, key], keys)
    stolen = server.user_info(second)
    checks.check("bound: the server rejects the token as a Bearer token", stolen.status in (400, 401, 403), stolen)


def codes(checks, world, server):
    """Sends the code of another sign-in to a pending one, whose verifier does not match (RFC 7636)."""
    given = world.start("sign-in", "public", "--no-browser", *PATIENT)
    other = server.redirect(address_shown(given))
    given.stop()
    for sentence, redirect in (("a code with another verifier", other), ("a used code", use(world, server))):
        waiting = world.start("sign-in", "public", "--no-browser", *PATIENT)
        state = query(address_shown(waiting))["state"]
        swapped = urllib.parse.urlencode({**query(redirect), "state": state})
        answer = web.send(f"http://127.0.0.1:{server.redirect_port}/callback?{swapped}")
        checks.check(f"{sentence}: the browser shows a page", answer.status in (200, 400), answer)
        ended = waiting.finish()
        # The error code of this server is invalid_code instead of invalid_grant (RFC 6749).
        checks.check(f"{sentence}: the sign-in fails with the server's error code",
                     ended.status in (1, 4) and "invalid_code" in ended.err, ended)
        checks.check(f"{sentence}: the code is not printed", query(redirect)["code"] not in ended.err, ended)
    left = [a for a in world.run("accounts", "--output", "json").json or [] if a["type"] == "public"]
    checks.check("the failed sign-ins add no account", len(left) == 1, left)
    world.run("sign-out", "--type", "public")


def use(world, server):
    """Returns a redirect URL that has completed a sign-in."""
    waiting = world.start("sign-in", "public", "--no-browser", *PATIENT)
    redirect = server.redirect(address_shown(waiting))
    web.send(redirect)
    waiting.finish()
    return redirect


def reuse(checks, world, server):
    """A refresh token that another client has used: the server revokes all tokens (RFC 9700 section 4.14.2)."""
    granted = server.grant_past_the_program()
    old = (granted.json or {}).get("refresh_token")
    taken = world.run("sign-in", "public", "--with-token", input=granted.body)
    checks.ends("sign-in --with-token accepts a token response", taken, 0)
    elsewhere = server.refresh(old)
    checks.check("another client uses the refresh token first", elsewhere.status == 200, elsewhere)
    again = world.run("token", "--type", "public", "--refresh")
    checks.ends("the second use of a refresh token: sign-in needed", again, 4, "hint: lodge sign-in")
    checks.check("the token is not printed", old not in again.err, again)
    newest = server.refresh((elsewhere.json or {}).get("refresh_token", ""))
    checks.check("the server has revoked all refresh tokens", newest.status in (400, 401, 403), newest)
    status = world.run("status", "--type", "public")
    checks.check("an error without a code does not mark the account",
                 status.status == 0 and "signed in" in status.out, status)
    checks.ends("a new sign-in succeeds", world.run("sign-in", "public", *PATIENT), 0, "Signed in")
    checks.ends("status shows the account as signed in", world.run("status", "--type", "public"), 0)


def expired_device(checks, world):
    server = Glewlwyd(world, access_ttl=60, name="glewlwyd-short", DEVICE_TTL="2", DEVICE_INTERVAL="1")
    world.use_settings({"types": {"short": server.type()}}, "short.json")
    ended = world.run("sign-in", "short", "--device", *PATIENT)
    checks.ends("an expired device code: sign-in needed", ended, 4, "hint:")
    checks.check("the message names the expired code and not the time limit", "expired" in ended.err, ended)
