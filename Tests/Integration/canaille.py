"""Canaille, an identity server in Python, in memory."""

from servers import SECRET, Server, register, remove, sign_out, story, the_token


def run(checks, world):
    server = Server(world, "Ada Lovelace", entries={"login": "ada", "password": "lovelace"},
                    buttons=[("answer", "accept")], refusal=[("answer", "deny")])
    server.start(world.python("python-servers"), server.peer("canaille", "serve.py"), str(server.port), SECRET, server.redirect)
    world.use_settings({"types": {
        "public": server.type(), "confidential": server.type("confidential", secret=SECRET),
        "wrong": server.type("confidential", secret="not the secret"),
        "people": server.type("directory", secret=SECRET, directory="scim", directoryBase=server.origin + "/scim/v2")}})

    # Before the user consents, because the server remembers the consent.
    denied, _ = server.sign_in("public", refuses=True)
    checks.ends("a denied request ends the sign-in immediately", denied, 5, "access_denied", "hint:")
    story(checks, server, "confidential", "done")
    # The server revokes tokens only for clients with a secret.
    story(checks, server, "public", "failed")
    # The last sign-in of this client. Its code is not redeemed, and the server could use it instead of the code of a later sign-in
    # (TestedServers.md).
    wrong, _ = server.sign_in("wrong")
    checks.ends("a wrong client secret is a settings error", wrong, 8, "invalid_client", "clientSecret")
    checks.check("the secret is not printed", "not the secret" not in wrong.out + wrong.err, wrong)

    if register(checks, server, "registered", method="none"):
        story(checks, server, "registered", "failed")
        remove(checks, server, "registered", "Deleted the client")
    with_secret = ("--register-with", '{"token_endpoint_auth_method": "client_secret_basic"}')
    if register(checks, server, "with-secret", *with_secret, method="client_secret_basic"):
        signed_in, _ = server.sign_in("with-secret")
        checks.ends("with-secret: sign-in", signed_in, 0, "Signed in to with-secret as Ada Lovelace")
        the_token(checks, server, "with-secret")
        sign_out(checks, server, "with-secret", "done")
        remove(checks, server, "with-secret", "Deleted the client")

    scim(checks, world, server)


def scim(checks, world, server):
    """Canaille's SCIM service. It responds with status 500 to every list with a `count`."""
    signed_in, _ = server.sign_in("people")
    checks.ends("people: sign-in", signed_in, 0, "Signed in to people as Ada Lovelace")
    for words in (("me",), ("show", "ada")):
        shown = world.run(*words, "--type", "people")
        checks.check(f"people: {words[0]}", shown.status == 0 and "Ada Lovelace" in shown.out
                     and "ada@example.com" in shown.out, shown)
    checks.ends("people: an error of the service is not an empty result", world.run("search", "ada", "--type", "people"),
                6, "500")
