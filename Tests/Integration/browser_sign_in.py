"""The main story with an independent server and a real browser: sign in, keep, renew, look, sign out."""

import glob
import json
import os
import stat

from glewlwyd import Glewlwyd, wait_until_expired
from world import eventually


def run(checks, world):
    server = Glewlwyd(world, access_ttl=30)
    world.use_settings({"types": {"real": server.type()}})
    # The stand-in for xdg-open is a headless Chromium that logs in and consents.
    del world.environment["BROWSER"]
    # Without a display the program would show a code for another device.
    world.environment["DISPLAY"] = ":0"
    world.environment["PATH"] = os.path.join(world.peers, "browser", "bin") + ":" + world.environment["PATH"]
    world.environment["GLEWLWYD_DIR"] = server.folder
    world.environment["BROWSER_LOG"] = world.path("browser.log")

    signed_in = world.run("sign-in", "real")
    checks.ends("sign-in through Chromium", signed_in, 0, "Signed in to real as")
    checks.check("its standard output is empty", signed_in.out == "", signed_in)
    seen = what_the_browser_saw(world)
    checks.check("the browser ends on this machine, on a page that says how it went",
                 seen.get("result") == "redirected" and (seen.get("url") or "").startswith(f"http://127.0.0.1:{server.redirect_port}/")
                 and "signed in" in (seen.get("text") or "").lower(), seen)

    account = keeping(checks, world, server)
    tokens(checks, world, server, account)
    again = world.run("sign-in", "real", "--output", "json")
    same = world.run("accounts", "--output", "json")
    checks.check("signing the same person in again updates the account in place",
                 again.status == 0 and same.json and [a["id"] for a in same.json] == [account["id"]],
                 f"{again}\n{same}")
    signing_out(checks, world, server)
    handed_over(checks, world, server)


def what_the_browser_saw(world):
    """The browser's own report: it is still busy when the program has ended."""
    def find():
        try:
            with open(world.path("browser.log"), encoding="utf-8") as log:
                text = log.read()
        except OSError:
            return None
        return json.loads(text.splitlines()[-1]) if text.endswith("}\n") else None
    return eventually(find) or {}


def keeping(checks, world, server):
    """What was kept, seen by further processes."""
    listed = world.run("accounts", "--output", "json")
    accounts = listed.json if isinstance(listed.json, list) else []
    checks.check("accounts shows one account", listed.status == 0 and len(accounts) == 1, listed)
    account = accounts[0] if accounts else {}
    checks.check("the account has the issuer, a subject and the scopes that were granted",
                 account.get("issuer") == server.issuer and account.get("subject")
                 and set(account.get("scopes", [])) >= {"openid", "User.Read"}, listed)
    checks.check("the account is the active one and can be refreshed",
                 account.get("active") is True and account.get("refreshable") is True, listed)
    status = world.run("status", "--output", "json")
    checks.check("status says signed in", status.status == 0 and status.json
                 and status.json["accounts"][0]["state"] == "signed in", status)
    token = world.run("token").out.strip()
    table = world.run("status")
    checks.check("status does not show the token", token and table.status == 0 and token not in table.out, table)

    modes = {path: stat.S_IMODE(os.stat(path).st_mode) for path in glob.glob(world.store + "/*")}
    checks.check("the store is 0700, its files are 0600",
                 stat.S_IMODE(os.stat(world.store).st_mode) == 0o700 and modes and set(modes.values()) == {0o600},
                 modes)
    kept = b"".join(open(path, "rb").read() for path in modes)
    clear = [word for word in (token, account.get("subject"), "Ada Lovelace") if word and word.encode() in kept]
    checks.check("the store's files have neither token nor name in the clear", not clear, clear)
    return account


def tokens(checks, world, server, account):
    first = world.run("token")
    token = first.out.strip()
    checks.check("token prints one line, a token", first.status == 0 and first.out == token + "\n" and token, first)
    info = server.user_info(token)
    checks.check("userinfo takes the token and names the account's subject",
                 info.status == 200 and info.json["sub"] == account.get("subject"), info)

    renewed = world.run("token", "--refresh").out.strip()
    checks.check("token --refresh brings another one", renewed and renewed != token)
    checks.check("userinfo takes the new one", server.user_info(renewed).status == 200)
    twice = world.run("token", "--refresh")
    checks.check("a second refresh works: the rotated refresh token was kept",
                 twice.status == 0 and twice.out.strip() not in ("", token, renewed), twice)

    expiry = world.run("token", "--expires").out.strip()
    kept = world.run("token").out.strip()
    wait_until_expired(expiry)
    refused = server.user_info(kept)
    late = world.run("token")
    checks.check("after the expiry the server refuses the token, and the next process gets a fresh one",
                 refused.status in (401, 403) and late.status == 0 and late.out.strip() not in ("", kept)
                 and server.user_info(late.out.strip()).status == 200, f"userinfo: {refused}\n{late}")


def signing_out(checks, world, server):
    token = world.run("token").out.strip()
    checks.check("before sign-out the server calls the token active", server.is_active(token) is True)
    out = world.run("sign-out", "--output", "json")
    checks.check("sign-out says that the tokens were revoked",
                 out.status == 0 and out.json and out.json[0]["revocation"] == "done", out)
    checks.check("the server no longer calls the token active", server.is_active(token) is False,
                 server.is_active(token))
    left = world.run("accounts", "--output", "json")
    checks.check("no account is left", left.status == 3 and left.json == [], left)
    checks.ends("token then asks for a sign-in", world.run("token"), 4, "hint: lodge sign-in")


def handed_over(checks, world, server):
    """With a token response of another program the refresh token is known here, and what became of it can be seen."""
    granted = server.grant_past_the_program()
    answer = granted.json or {}
    if not checks.check("the server gives tokens to another program", "refresh_token" in answer, granted):
        return
    taken = world.run("sign-in", "real", "--with-token", input=granted.body)
    checks.ends("sign-in --with-token takes a token response", taken, 0)
    listed = world.run("accounts", "--output", "json").json
    checks.check("the handed-over account is kept", listed and len(listed) == 1, listed)
    checks.check("it gives the token that was handed over", world.run("token").out.strip() == answer["access_token"])
    out = world.run("sign-out", "--output", "json")
    checks.check("sign-out revokes it", out.status == 0 and out.json and out.json[0]["revocation"] == "done", out)
    refused = server.refresh(answer["refresh_token"])
    checks.check("the server no longer takes its refresh token", refused.status in (400, 401, 403), refused)
    bad = world.run("sign-in", "real", "--with-token", input=json.dumps({"token_type": "Bearer"}))
    checks.ends("a token response without a token is refused", bad, 2, "hint:")
