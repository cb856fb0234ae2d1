"""Shared by the topics of independent servers: the server process, its user in a browser, and the scenario of an account."""

import json
import os
import time

import web
from world import PATIENT, Running, address_shown, free_port

SECRET = "secret-of-the-test"


class Server:
    """A server on loopback with one user. `entries` and `buttons` have the same meaning as in `web.Browser`. `refusal` has the buttons
    with which the user denies the request."""

    def __init__(self, world, user, issuer_path="", entries=(), buttons=(), refusal=()):
        self.world, self.user = world, user
        self.port, self.redirect_port = free_port(), free_port()
        self.origin = f"http://127.0.0.1:{self.port}"
        self.issuer = self.origin + issuer_path
        self.redirect = f"http://127.0.0.1:{self.redirect_port}/callback"
        self.entries, self.buttons, self.refusal = dict(entries), list(buttons), list(refusal)

    def start(self, *words, limit=180, **environment):
        """Starts the program and waits until the server returns its metadata."""
        running = Running(words, {**self.world.environment, **environment}, self.world.make("outputs"), self.world.folder)
        self.world.closers.append(running.stop)

        def ready(_):
            try:
                return web.send(self.issuer.rstrip("/") + "/.well-known/openid-configuration").json
            except OSError:
                return None
        self.metadata = running.wait_for(ready, limit)
        if not self.metadata:
            raise OSError(f"the server did not start: {running.out[:3000]}{running.err[:3000]}")

    def peer(self, *names):
        return os.path.join(self.world.here, "peers", *names)

    def type(self, client="public", scopes=("openid", "profile"), secret=None, **members):
        """Returns an account type for the settings. With a secret, the client uses HTTP Basic."""
        if secret:
            members = {"clientSecret": secret, "clientAuthentication": "client_secret_basic", **members}
        return {"issuer": self.issuer, "clientId": client, "redirectUri": self.redirect, "scopes": list(scopes), **members}

    def browser(self, refuses=False):
        return web.Browser(self.entries, self.refusal if refuses else self.buttons)

    def sign_in(self, name, *words, refuses=False):
        """Signs in. The user opens the URL in a new browser. Returns the outcome and the browser."""
        waiting = self.world.start("sign-in", name, "--no-browser", *PATIENT, *words)
        url = address_shown(waiting)
        browser = self.browser(refuses)
        redirect = browser.visit(url, self.redirect) if url else None
        if redirect:
            web.send(redirect)
        return waiting.finish(), browser

    def user_info(self, token):
        return web.send(self.metadata["userinfo_endpoint"], bearer=token)


def next_second():
    """Waits until the clock shows the next second: a server with JWT access tokens issues the same token twice in one second."""
    now = int(time.time())
    while int(time.time()) == now:
        time.sleep(0.02)


def story(checks, server, name, revocation):
    """Runs an account from sign-in to sign-out. `revocation` is the expected report of sign-out, which the server must confirm."""
    signed_in, browser = server.sign_in(name)
    if not checks.ends(f"{name}: sign-in", signed_in, 0, f"Signed in to {name} as {server.user}"):
        print("\n".join(map(str, browser.seen)), flush=True)
        return
    token = the_token(checks, server, name)
    next_second()
    refreshed = server.world.run("token", "--type", name, "--refresh")
    new = refreshed.out.strip()
    checks.check(f"{name}: token --refresh prints another token, and userinfo accepts it",
                 refreshed.status == 0 and new not in ("", token) and server.user_info(new).status == 200, refreshed)
    next_second()
    twice = server.world.run("token", "--type", name, "--refresh")
    checks.check(f"{name}: a second refresh succeeds with the new refresh token",
                 twice.status == 0 and twice.out.strip() not in ("", new, token), twice)
    sign_out(checks, server, name, revocation)


def the_token(checks, server, name):
    """Checks that the server accepts the account's token and that it belongs to the account's subject."""
    account = (server.world.run("accounts", "--type", name, "--output", "json").json or [{}])[0]
    token = server.world.run("token", "--type", name).out.strip()
    info = server.user_info(token)
    checks.check(f"{name}: userinfo accepts the token and identifies the account's subject",
                 info.status == 200 and info.json and str(info.json.get("sub")) == account.get("subject"), f"{info}\n{account}")
    return token


def sign_out(checks, server, name, revocation):
    """Signs out and checks the report at the server."""
    token = server.world.run("token", "--type", name).out.strip()
    out = server.world.run("sign-out", "--type", name, "--output", "json")
    checks.check(f"{name}: sign-out reports the revocation as {revocation}",
                 out.status == 0 and out.json and out.json[0]["revocation"] == revocation, out)
    info = server.user_info(token)
    expected = (401, 403) if revocation == "done" else (200,)
    checks.check(f"{name}: the server confirms the report", token and info.status in expected, info)
    checks.ends(f"{name}: no account remains", server.world.run("token", "--type", name), 4, "hint:")


def register(checks, server, name, *words, method):
    """Registers a client (RFC 7591) with an authentication method and without the scope that the server does not list."""
    added = server.world.run(
        "providers", "add", name, "--issuer", server.issuer, "--register", "--redirect-uri", server.redirect, *words)
    if not checks.ends(f"{name}: providers add --register", added, 0, "Registered the client", "offline_access: lodge omits"):
        return False
    with open(server.world.path("settings.json"), encoding="utf-8") as file:
        made = json.load(file)["types"][name]
    return checks.check(
        f"{name}: the type has the client, its authentication method and the scopes of the server",
        made.get("clientAuthentication") == method and ("clientSecret" in made) == (method != "none")
        and made["scopes"] == ["openid", "profile"], made)


def remove(checks, server, name, *words):
    removed = server.world.run("providers", "remove", name)
    checks.ends(f"{name}: providers remove", removed, 0, *words)
