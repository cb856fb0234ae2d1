"""oidc-provider-mock, a test provider in Python, with registration but without revocation."""

from servers import SECRET, Server, register, remove, story


def run(checks, world):
    server = Server(world, "Ada Lovelace", entries={"sub": "ada"}, refusal=[("action", "deny")])
    server.start(world.python("python-servers"), "-m", "oidc_provider_mock", "--port", str(server.port), "--user-claims",
                 '{"sub": "ada", "name": "Ada Lovelace"}')
    world.use_settings({"types": {"known": server.type("known", secret=SECRET), "public": server.type()}})

    story(checks, server, "known", "not-offered")
    denied, _ = server.sign_in("known", refuses=True)
    checks.ends("a denied request ends the sign-in immediately", denied, 5, "access_denied", "hint:")
    # The metadata has no list of methods, which means HTTP Basic (RFC 8414 section 2).
    public, _ = server.sign_in("public")
    checks.ends("a client without a secret is rejected with the server's reason", public, 8, "invalid_client",
                "client_secret_basic", "clientAuthentication")

    # Its response has no client_secret_expires_at, which RFC 7591 requires.
    if register(checks, server, "registered", method="client_secret_basic"):
        story(checks, server, "registered", "not-offered")
        remove(checks, server, "registered", "deletion", "removed registered")
