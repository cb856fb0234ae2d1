"""django-oauth-toolkit in a small Django project. It lists revocation and registration only in the metadata of RFC 8414, and promises
`iss` in redirects, but does not send it with an error."""

import re

from servers import SECRET, Server, register, remove, sign_out, story, the_token
from world import PATIENT


def run(checks, world):
    server = Server(world, "Ada Lovelace", "/o", entries={"username": "ada", "password": "lovelace"},
                    buttons=[("allow", "Authorize")], refusal=[("", "Cancel")])
    server.start(
        world.python("python-servers"), server.peer("django-oauth-toolkit", "serve.py"), PROJECT_FOLDER=world.make("django"),
        PROJECT_PORT=str(server.port), PROJECT_SECRET=SECRET, PROJECT_REDIRECT=server.redirect)
    world.use_settings({"types": {
        "public": server.type(), "confidential": server.type("confidential", secret=SECRET),
        # No metadata lists this endpoint.
        "device": server.type("device", deviceAuthorizationEndpoint=server.issuer + "/device-authorization/"),
        "wrong": server.type("confidential", secret="not the secret"),
        "unknown-scope": server.type(scopes=["openid", "no-such-scope"])}})

    story(checks, server, "public", "done")
    story(checks, server, "confidential", "done")
    denied, _ = server.sign_in("public", refuses=True)
    # A sign-in that waits until its time limit would be stopped before.
    checks.ends("a denied request ends the sign-in immediately", denied, 5, "access_denied", "hint:")
    scope, _ = server.sign_in("unknown-scope")
    checks.ends("an unknown scope ends the sign-in immediately", scope, 8, "invalid_scope", "scopes")
    wrong, _ = server.sign_in("wrong")
    checks.ends("a wrong client secret is a settings error", wrong, 8, "invalid_client", "clientSecret")
    device(checks, server)
    # Its response always names HTTP Basic.
    if register(checks, server, "registered", method="client_secret_basic"):
        story(checks, server, "registered", "done")
        remove(checks, server, "registered", "Deleted the client")


def device(checks, server):
    """The device flow. This server returns no ID token for it."""
    waiting = server.world.start("sign-in", "device", "--device", *PATIENT)
    code = waiting.wait_for(lambda running: re.search(r"^\s*([A-Z0-9-]{6,})\n", running.err, re.M))
    if not checks.check("sign-in --device shows a code", code, waiting.err):
        return
    browser = server.browser()
    browser.entries["user_code"] = code.group(1)
    browser.buttons = [("action", "accept")]
    browser.visit(server.issuer + "/device/", server.redirect)
    signed_in = waiting.finish()
    if not checks.ends("the user approves the request on another device", signed_in, 0, "Signed in to device as"):
        print("\n".join(map(str, browser.seen)), flush=True)
        return
    the_token(checks, server, "device")
    sign_out(checks, server, "device", "done")
