"""The main scenario with an independent server and a browser: sign in, save, refresh, use, sign out."""

import glob
import json
import os
import stat

from glewlwyd import Glewlwyd, wait_until_expired
from world import eventually


def run(checks, world):
    server = Glewlwyd(world, access_ttl=30)
    world.use_settings({"types": {"real": server.type()}})
    # Instead of xdg-open: a headless Chromium that signs in and consents.
    del world.environment["BROWSER"]
    # Without a display lodge would use the device flow.
    world.environment["DISPLAY"] = ":0"
    world.environment["PATH"] = os.path.join(world.peers, "browser", "bin") + ":" + world.environment["PATH"]
    world.environment["GLEWLWYD_DIR"] = server.folder
    world.environment["BROWSER_LOG"] = world.path("browser.log")

    signed_in = world.run("sign-in", "real")
    checks.ends("sign-in with Chromium", signed_in, 0, "Signed in to real as")
    checks.check("sign-in prints nothing on standard output", signed_in.out == "", signed_in)
    seen = what_the_browser_saw(world)
    checks.check("the browser ends on this machine, on a page with the result",
                 seen.get("result") == "redirected" and (seen.get("url") or "").startswith(f"http://127.0.0.1:{server.redirect_port}/")
                 and "signed in" in (seen.get("text") or "").lower(), seen)

    account = keeping(checks, world, server)
    tokens(checks, world, server, account)
    again = world.run("sign-in", "real", "--output", "json")
    same = world.run("accounts", "--output", "json")
    checks.check("another sign-in of the same user updates the account",
                 again.status == 0 and same.json and [a["id"] for a in same.json] == [account["id"]],
                 f"{again}\n{same}")
    signing_out(checks, world, server)
    handed_over(checks, world, server)


def what_the_browser_saw(world):
    """Returns the report of the browser, which is still busy when lodge has ended."""
    def find():
        try:
            with open(world.path("browser.log"), encoding="utf-8") as log:
                text = log.read()
        except OSError:
            return None
        return json.loads(text.splitlines()[-1]) if text.endswith("}\n") else None
    return eventually(find) or {}


def keeping(checks, world, server):
    """The saved account, as other processes see it."""
    listed = world.run("accounts", "--output", "json")
    accounts = listed.json if isinstance(listed.json, list) else []
    checks.check("accounts lists one account", listed.status == 0 and len(accounts) == 1, listed)
    account = accounts[0] if accounts else {}
    checks.check("the account has the issuer, a subject and the granted scopes",
                 account.get("issuer") == server.issuer and account.get("subject")
                 and set(account.get("scopes", [])) >= {"openid", "User.Read"}, listed)
    checks.check("the account is active and can be refreshed",
                 account.get("active") is True and account.get("refreshable") is True, listed)
    status = world.run("status", "--output", "json")
    checks.check("status shows signed in", status.status == 0 and status.json
                 and status.json["accounts"][0]["state"] == "signed in", status)
    token = world.run("token").out.strip()
    table = world.run("status")
    checks.check("status does not show the token", token and table.status == 0 and token not in table.out, table)

    modes = {path: stat.S_IMODE(os.stat(path).st_mode) for path in glob.glob(world.store + "/*")}
    checks.check("the store has mode 0700, its files 0600",
                 stat.S_IMODE(os.stat(world.store).st_mode) == 0o700 and modes and set(modes.values()) == {0o600},
                 modes)
    kept = b"".join(open(path, "rb").read() for path in modes)
    clear = [word for word in (token, account.get("subject"), "Ada Lovelace") if word and word.encode() in kept]
    checks.check("the files of the store contain neither token nor name in clear text", not clear, clear)
    return account


def tokens(checks, world, server, account):
    first = world.run("token")
    token = first.out.strip()
    checks.check("token prints one line with the token", first.status == 0 and first.out == token + "\n" and token, first)
    info = server.user_info(token)
    checks.check("userinfo accepts the token and identifies the account's subject",
                 info.status == 200 and info.json["sub"] == account.get("subject"), info)

    renewed = world.run("token", "--refresh").out.strip()
    checks.check("token --refresh prints another token", renewed and renewed != token)
    checks.check("userinfo accepts the new token", server.user_info(renewed).status == 200)
    twice = world.run("token", "--refresh")
    checks.check("a second refresh succeeds with the rotated refresh token",
                 twice.status == 0 and twice.out.strip() not in ("", token, renewed), twice)

    expiry = world.run("token", "--expires").out.strip()
    kept = world.run("token").out.strip()
    wait_until_expired(expiry)
    refused = server.user_info(kept)
    late = world.run("token")
    checks.check("the server rejects an expired token, and the next process refreshes it",
                 refused.status in (401, 403) and late.status == 0 and late.out.strip() not in ("", kept)
                 and server.user_info(late.out.strip()).status == 200, f"userinfo: {refused}\n{late}")


def signing_out(checks, world, server):
    token = world.run("token").out.strip()
    checks.check("before sign-out the token is active at the server", server.is_active(token) is True)
    out = world.run("sign-out", "--output", "json")
    checks.check("sign-out reports the revocation",
                 out.status == 0 and out.json and out.json[0]["revocation"] == "done", out)
    checks.check("after sign-out the token is inactive at the server", server.is_active(token) is False,
                 server.is_active(token))
    left = world.run("accounts", "--output", "json")
    checks.check("no account remains", left.status == 3 and left.json == [], left)
    checks.ends("token requires a sign-in", world.run("token"), 4, "hint: lodge sign-in")


def handed_over(checks, world, server):
    """A token response of another program: the test has the refresh token and can check its revocation."""
    granted = server.grant_past_the_program()
    answer = granted.json or {}
    if not checks.check("the server issues tokens to another program", "refresh_token" in answer, granted):
        return
    taken = world.run("sign-in", "real", "--with-token", input=granted.body)
    checks.ends("sign-in --with-token accepts a token response", taken, 0)
    listed = world.run("accounts", "--output", "json").json
    checks.check("the account of the token response is saved", listed and len(listed) == 1, listed)
    checks.check("token prints the access token of the token response", world.run("token").out.strip() == answer["access_token"])
    out = world.run("sign-out", "--output", "json")
    checks.check("sign-out revokes the tokens", out.status == 0 and out.json and out.json[0]["revocation"] == "done", out)
    refused = server.refresh(answer["refresh_token"])
    checks.check("the server rejects the refresh token", refused.status in (400, 401, 403), refused)
    bad = world.run("sign-in", "real", "--with-token", input=json.dumps({"token_type": "Bearer"}))
    checks.ends("a token response without a token is rejected", bad, 2, "hint:")
