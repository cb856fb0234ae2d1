"""Canaille, an identity server in Python, in memory."""

from servers import SECRET, Server, register, remove, sign_out, story, the_token


def run(checks, world):
    server = Server(world, "Ada Lovelace", entries={"login": "ada", "password": "lovelace"},
                    buttons=[("answer", "accept")], refusal=[("answer", "deny")])
    server.start(world.python("python-servers"), server.peer("canaille", "serve.py"), str(server.port), SECRET, server.redirect)
    world.use_settings({"types": {
        "public": server.type(), "confidential": server.type("confidential", secret=SECRET),
        "wrong": server.type("confidential", secret="not the secret")}})

    # Before the user has consented: the server remembers that.
    denied, _ = server.sign_in("public", refuses=True)
    checks.ends("a refusal of the user ends the sign-in immediately", denied, 5, "access_denied", "hint:")
    story(checks, server, "confidential", "done")
    # The server revokes only for clients with a secret.
    story(checks, server, "public", "failed")
    wrong, _ = server.sign_in("wrong")
    checks.ends("a wrong secret: settings are wrong", wrong, 8, "invalid_client", "clientSecret")
    checks.check("the secret is not shown", "not the secret" not in wrong.out + wrong.err, wrong)

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
