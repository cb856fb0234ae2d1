"""The ways to a token beside the plain browser: device, client credentials, pushed and bound. And what is used twice."""

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
        # The address of a pushed request has no state.
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
    """The user code that a `sign-in --device` shows."""
    found = running.wait_for(lambda running: re.search(r"^\s*([A-Z0-9]{4}-[A-Z0-9]{4})\n", running.err, re.M))
    return found.group(1) if found else None


def query(address):
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(address or "").query))


def device(checks, world, server):
    waiting = world.start("sign-in", "public", "--device", *PATIENT)
    code = code_shown(waiting)
    checks.check("sign-in --device shows a code", code, waiting.err)
    checks.check("and the address to enter it at", server.issuer + "/device\n" in waiting.err, waiting.err)
    # Longer than the server's interval of a second: it has been told authorization_pending.
    waiting.wait_for(lambda _: None, limit=1.5)
    checks.check("it goes on waiting for the person", waiting.process.poll() is None, waiting.err)
    approved = server.approve_device(code or "")
    checks.check("the person enters the code elsewhere", approved.returncode == 0, approved)
    checks.ends("sign-in --device ends well", waiting.finish(), 0, "Signed in to public as Ada")
    token = world.run("token", "--type", "public")
    checks.check("its token is active", server.is_active(token.out.strip()) is True, token)
    renewed = world.run("token", "--type", "public", "--refresh")
    checks.check("it is renewed without a person", renewed.status == 0 and renewed.out not in ("", token.out)
                 and server.user_info(renewed.out.strip()).status == 200, renewed)
    used = server.approve_device(code or "")
    checks.check("a used code is not taken again", used.returncode != 0, used)
    checks.ends("sign-out of it", world.run("sign-out", "--type", "public"), 0, "revoked")

    for sentence, variables in (("over SSH", {"DISPLAY": ":0", "SSH_CONNECTION": "192.0.2.1 1 192.0.2.2 22"}),
                                ("without a display", {})):
        elsewhere = world.start("sign-in", "public", *PATIENT, **{"BROWSER": "", **variables})
        checks.check(f"{sentence} a code is shown without being asked for", code_shown(elsewhere), elsewhere.err)
        elsewhere.stop()


def client_credentials(checks, world, server):
    outcome = world.run("sign-in", "service", "--client-credentials")
    checks.ends("sign-in --client-credentials", outcome, 0, "Signed in to service")
    token = world.run("token", "--type", "service")
    checks.check("its token is active and the client's own", server.is_active(token.out.strip()) is True
                 and claims_of(token.out.strip())[1].get("sub") == "confidential-basic", token)
    renewed = world.run("token", "--type", "service", "--refresh")
    checks.check("it is renewed with the secret alone", renewed.status == 0 and renewed.out not in ("", token.out)
                 and server.is_active(renewed.out.strip()) is True, renewed)
    wrong = world.run("sign-in", "service-wrong", "--client-credentials")
    # This server gives no OAuth error here: an empty 403. So what is wrong cannot be told apart.
    checks.check("client credentials with a wrong secret: refused",
                 wrong.status in (1, 8) and "403" in wrong.err, wrong)
    checks.check("the secret is not shown", "not the secret" not in wrong.out + wrong.err, wrong)
    public = world.run("sign-in", "service-public", "--client-credentials")
    checks.ends("client credentials without a secret: settings are wrong", public, 8, "hint:")
    out = world.run("sign-out", "--type", "service", "--output", "json")
    checks.check("sign-out revokes the token", out.status == 0 and server.is_active(renewed.out.strip()) is False, out)


def password(checks, world, server):
    """RFC 6749 section 4.3: legacy, and only where the settings allow it."""
    person = server.facts["users"][0]
    word = person["password"]
    refused = world.run("sign-in", "public", "--username", person["username"], input=word + "\n")
    checks.ends("a password where the settings do not allow it: settings are wrong", refused, 8, "allowsPasswordGrant")
    signed_in = world.run("sign-in", "password", "--username", person["username"], input=word + "\n")
    checks.ends("sign-in --username", signed_in, 0, "Signed in to password")
    token = world.run("token", "--type", "password")
    info = server.user_info(token.out.strip())
    checks.check("its token is the person's", info.status == 200 and (info.json or {}).get("sub"), info)
    renewed = world.run("token", "--type", "password", "--refresh")
    checks.check("it is renewed without the password", renewed.status == 0 and renewed.out not in ("", token.out)
                 and server.is_active(renewed.out.strip()) is True, renewed)
    kept = b"".join(open(world.path("store", name), "rb").read() for name in os.listdir(world.store))
    checks.check("the password is nowhere", word.encode() not in kept and word not in
                 "".join(o.out + o.err for o in (refused, signed_in, token, renewed)))
    for sentence, name, given in (("a wrong password", "password", "not the password"),
                                  ("a wrong client secret", "password-wrong", word)):
        wrong = world.run("sign-in", name, "--username", person["username"], input=given)
        # This server gives no OAuth error here: an empty 403 for the password, an empty 400 for the secret.
        checks.check(f"{sentence}: refused", wrong.status in (1, 4, 8) and "HTTP status 40" in wrong.err, wrong)
        checks.check(f"{sentence}: it is not shown", given not in wrong.out + wrong.err, wrong)
    checks.ends("nothing on standard input: usage", world.run("sign-in", "password", "--username", "ada"), 2, "hint:")
    world.run("sign-out", "--type", "password")


def introspection(checks, world, server):
    """RFC 7662."""
    checks.ends("sign-in for it", world.run("sign-in", "service", "--client-credentials"), 0)
    good = world.run("token", "--type", "service", "--introspect")
    checks.check("token --introspect: the provider says what the token is worth",
                 good.status == 0 and (good.json or {}).get("active") is True
                 and good.json.get("client_id") == "confidential-basic" and "User.Read" in good.json.get("scope", ""), good)
    token = world.run("token", "--type", "service").out.strip()
    revoked = web.send(server.endpoints["revocation_endpoint"], form={"token": token},
                       basic=("confidential-basic", server.secret("confidential-basic")))
    checks.check("somebody revokes it", revoked.status == 200, revoked)
    dead = world.run("token", "--type", "service", "--introspect")
    checks.check("then it is inactive, and nothing more is said of it", dead.json == {"active": False}, dead)
    checks.check("neither answer has the token", token not in good.out + good.err + dead.out + dead.err)
    world.run("sign-out", "--type", "service")


def pushed(checks, world, server):
    for name in ("pushed", "pushed-public"):
        waiting = world.start("sign-in", name, *PATIENT)
        address = address_shown(waiting)
        checks.check(f"{name}: the browser's address has the client and the pushed request, no more",
                     set(query(address)) == {"client_id", "request_uri"}
                     and query(address)["request_uri"].startswith("urn:ietf:params:oauth:request_uri:"), address)
        checks.ends(f"{name}: sign-in with it", waiting.finish(), 0, "Signed in to")
        checks.check(f"{name}: the token is active",
                     server.is_active(world.run("token", "--type", name).out.strip()) is True)
    wrong = world.run("sign-in", "pushed-wrong", *PATIENT)
    checks.check("pushed with a wrong secret: refused, again by an empty 403",
                 wrong.status in (1, 8) and "403" in wrong.err, wrong)
    checks.check("and no browser was opened", "http://127.0.0.1" not in wrong.err.split("lodge:")[0], wrong)


def bound(checks, world, server):
    """RFC 9449."""
    waiting = world.start("sign-in", "bound", *PATIENT)
    key = query(address_shown(waiting)).get("dpop_jkt")
    checks.check("bound: the request names the key", key, waiting.err)
    checks.ends("bound: sign-in", waiting.finish(), 0, "Signed in to bound")
    first = world.run("token", "--type", "bound").out.strip()
    second = world.run("token", "--type", "bound", "--refresh").out.strip()
    keys = [claims_of(token)[1].get("cnf", {}).get("jkt") for token in (first, second) if token]
    checks.check("the token and the renewed one are bound to that key", first != second and keys == [key, key], keys)
    stolen = server.user_info(second)
    checks.check("the server refuses it as a plain bearer token", stolen.status in (400, 401, 403), stolen)


def codes(checks, world, server):
    """A code of another sign-in is put into one that waits: its verifier does not fit (RFC 7636)."""
    given = world.start("sign-in", "public", "--no-browser", *PATIENT)
    other = server.redirect(address_shown(given))
    given.stop()
    for sentence, redirect in (("a code for another verifier", other), ("a code that was used", use(world, server))):
        waiting = world.start("sign-in", "public", "--no-browser", *PATIENT)
        state = query(address_shown(waiting))["state"]
        swapped = urllib.parse.urlencode({**query(redirect), "state": state})
        answer = web.send(f"http://127.0.0.1:{server.redirect_port}/callback?{swapped}")
        checks.check(f"{sentence}: the browser shows a page", answer.status in (200, 400), answer)
        ended = waiting.finish()
        # The server has a code of its own for it, invalid_code, where RFC 6749 has invalid_grant.
        checks.check(f"{sentence}: refused, and the server's word is told",
                     ended.status in (1, 4) and "invalid_code" in ended.err, ended)
        checks.check(f"{sentence}: it is not shown", query(redirect)["code"] not in ended.err, ended)
    left = [a for a in world.run("accounts", "--output", "json").json or [] if a["type"] == "public"]
    checks.check("no account came of them", len(left) == 1, left)
    world.run("sign-out", "--type", "public")


def use(world, server):
    """A redirect that has signed somebody in."""
    waiting = world.start("sign-in", "public", "--no-browser", *PATIENT)
    redirect = server.redirect(address_shown(waiting))
    web.send(redirect)
    waiting.finish()
    return redirect


def reuse(checks, world, server):
    """A refresh token that somebody else has used before: the server ends the sign-in (RFC 9700 section 4.14.2)."""
    granted = server.grant_past_the_program()
    old = (granted.json or {}).get("refresh_token")
    taken = world.run("sign-in", "public", "--with-token", input=granted.body)
    checks.ends("a token response is handed over", taken, 0)
    elsewhere = server.refresh(old)
    checks.check("somebody else uses its refresh token first", elsewhere.status == 200, elsewhere)
    again = world.run("token", "--type", "public", "--refresh")
    checks.ends("its second use: sign-in needed", again, 4, "hint: lodge sign-in")
    checks.check("the token is not shown", old not in again.err, again)
    newest = server.refresh((elsewhere.json or {}).get("refresh_token", ""))
    checks.check("the server has ended the whole chain", newest.status in (400, 401, 403), newest)
    status = world.run("status", "--type", "public")
    checks.check("an answer without a reason is not believed for good: the account stays as it is",
                 status.status == 0 and "signed in" in status.out, status)
    checks.ends("a new sign-in puts it right", world.run("sign-in", "public", *PATIENT), 0, "Signed in")
    checks.ends("and status agrees", world.run("status", "--type", "public"), 0)


def expired_device(checks, world):
    server = Glewlwyd(world, access_ttl=60, name="glewlwyd-short", DEVICE_TTL="2", DEVICE_INTERVAL="1")
    world.use_settings({"types": {"short": server.type()}}, "short.json")
    ended = world.run("sign-in", "short", "--device", *PATIENT)
    checks.ends("a device code that nobody enters expires: sign-in needed", ended, 4, "hint:")
    checks.check("because it expired, not because the time was up", "expired" in ended.err, ended)
