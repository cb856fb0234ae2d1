"""Failed sign-ins, clients with secrets, and unrelated redirects."""

import socket
import urllib.parse

import web
from glewlwyd import Glewlwyd
from world import PATIENT, address_shown, free_port


def run(checks, world):
    server = Glewlwyd(world, access_ttl=60)
    secret = server.secret("confidential-basic")
    odd = server.secret("confidential-odd")
    world.write("secret.txt", secret + "\n")
    basic, post = "confidential-basic", "confidential-post"
    types = {
        # The URL of a pushed request has no state.
        "public": server.type(pushedAuthorizationRequests=False),
        "basic": server.type(basic, clientSecret=secret, clientAuthentication="client_secret_basic"),
        "post": server.type(post, clientSecret={"environment": "POST_SECRET"},
                            clientAuthentication="client_secret_post"),
        "file": server.type(basic, clientSecret={"file": world.path("secret.txt")},
                            clientAuthentication="client_secret_basic"),
        "raw": server.type("confidential-odd", clientSecret=odd, clientAuthentication="client_secret_basic_raw"),
        "encoded": server.type("confidential-odd", clientSecret=odd, clientAuthentication="client_secret_basic"),
        "wrong": server.type(basic, clientSecret="not the secret", clientAuthentication="client_secret_basic"),
        "stranger": server.type("nobody-knows-me"),
        "unregistered": {**server.type(), "redirectUri": f"http://127.0.0.1:{free_port()}/callback"},
    }
    world.use_settings({"defaultType": "public", "types": types})

    clients(checks, world, server)
    abandoned(checks, world, server)
    foreign_redirects(checks, world, server)


def sign_in(world, server, name, **environment):
    """Signs in with a user who approves."""
    waiting = world.start("sign-in", name, "--no-browser", *PATIENT, **environment)
    url = address_shown(waiting)
    if url:
        server.approve(url)
    return waiting.finish()


def clients(checks, world, server):
    secret = server.secret("confidential-post")
    checks.ends("a secret in HTTP Basic", sign_in(world, server, "basic"), 0, "Signed in")
    checks.ends("a secret in the body, from the environment", sign_in(world, server, "post", POST_SECRET=secret), 0)
    checks.ends("a secret from a file", sign_in(world, server, "file"), 0)
    checks.ends("a secret with special characters, sent raw as this server requires", sign_in(world, server, "raw"), 0)
    renewed = world.run("token", "--type", "raw", "--refresh")
    checks.check("token --refresh with the raw secret", renewed.status == 0, renewed)

    for name, why in (("encoded", "a form-encoded secret with special characters, which this server rejects"),
                      ("wrong", "a wrong secret")):
        refused = sign_in(world, server, name)
        checks.ends(f"{why}: a settings error", refused, 8, "hint:")
        told = refused.out + refused.err
        checks.check(f"{why}: the secret is not printed",
                     "not the secret" not in told and server.secret("confidential-odd") not in told, refused)
    checks.ends("a secret whose variable is not set", sign_in(world, server, "post"), 8, "POST_SECRET")
    kept = world.run("accounts", "--output", "json").json or []
    checks.check("the failed sign-ins added no account",
                 {account["type"] for account in kept} == {"basic", "post", "file", "raw"}, kept)


def abandoned(checks, world, server):
    early = world.run("sign-in", "public", "--no-browser", "--timeout", "1")
    checks.ends("a sign-in that is not completed: sign-in needed", early, 4, "hint:")
    with socket.socket() as probe:
        free = probe.connect_ex(("127.0.0.1", server.redirect_port)) != 0
    checks.check("after the sign-in the redirect port is closed", free)

    with socket.create_server(("127.0.0.1", server.redirect_port)):
        checks.ends("a redirect port in use is a settings error",
                    world.run("sign-in", "public", "--no-browser", *PATIENT), 8,
                    str(server.redirect_port), "hint:")

    # The server reports the error on a page or in a redirect. In both cases lodge must not sign in.
    for name in ("stranger", "unregistered"):
        waiting = world.start("sign-in", name, "--no-browser", "--timeout", "3")
        url = address_shown(waiting)
        checks.check(f"client or redirect {name}: the server issues no code", "code=" not in server.redirect(url or ""))
        ended = waiting.finish()
        checks.check(f"client or redirect {name}: the sign-in fails", ended.status not in (0, 1), ended)


def foreign_redirects(checks, world, server):
    """Unrelated redirects do not end the pending sign-in."""
    waiting = world.start("sign-in", "public", "--no-browser", *PATIENT)
    url = address_shown(waiting)
    back = f"http://127.0.0.1:{server.redirect_port}"
    state = urllib.parse.parse_qs(urllib.parse.urlsplit(url).query)["state"][0]
    foreign = {
        "no state": "/callback?code=abc", "another state": "/callback?code=abc&state=xyz", "nothing": "/callback",
        "another path": f"/other?code=abc&state={state}", "an error with another state": "/callback?error=x&state=y",
        "a duplicate state": f"/callback?code=abc&state={state}&state=xyz",
        "another issuer": f"/callback?code=abc&state=xyz&iss=https%3A%2F%2Fevil.example",
    }
    answers = {name: web.send(back + path) for name, path in foreign.items()}
    bad = {name: str(answer) for name, answer in answers.items() if not 400 <= answer.status < 500}
    checks.check("unrelated redirects are rejected", not bad, bad)
    checks.check("the sign-in keeps waiting", waiting.process.poll() is None, waiting.err)
    checks.check("a line reports each rejected redirect, at most five",
                 1 <= waiting.err.count("The sign-in continues to wait.") <= 5, waiting.err)
    redirect = server.redirect(url)
    checks.check("the response to the right redirect is a page", web.send(redirect).status == 200, redirect[:60])
    checks.ends("the sign-in succeeds", waiting.finish(), 0, "Signed in")
    again = world.start("sign-in", "public", "--no-browser", *PATIENT)
    address_shown(again)
    answer = web.send(redirect)
    checks.check("a replayed redirect is rejected", 400 <= answer.status < 500, answer)
    checks.check("after a replayed redirect the sign-in keeps waiting", again.wait_for(
        lambda running: "The sign-in continues to wait." in running.err) and again.process.poll() is None, again.err)
    again.stop()
    for sentence, query in (("an error without state", "error=access_denied"),
                            ("an error", "error=access_denied&state=STATE"),
                            ("an error of another issuer", "error=access_denied&iss=https%3A%2F%2Fevil.example&state=STATE")):
        denied = world.start("sign-in", "public", "--no-browser", *PATIENT)
        state = urllib.parse.parse_qs(urllib.parse.urlsplit(address_shown(denied)).query)["state"][0]
        web.send(f"{back}/callback?{query.replace('STATE', state)}")
        checks.ends(f"{sentence} ends the sign-in immediately", denied.finish(), 5, "access_denied")
    mixed = world.start("sign-in", "public", "--no-browser", "--timeout", "30")
    state = urllib.parse.parse_qs(urllib.parse.urlsplit(address_shown(mixed)).query)["state"][0]
    web.send(f"{back}/callback?code=abc&iss=https%3A%2F%2Fevil.example&state={state}")
    checks.ends("a code of another issuer ends the sign-in immediately", mixed.finish(), 1, "different issuer")
