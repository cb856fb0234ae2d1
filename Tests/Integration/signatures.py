"""ID token verification: RS256 and ES256, and rejection of invalid signatures."""

import http.server
import os
import threading

from glewlwyd import Glewlwyd, claims_of, make_key
from world import PATIENT


def run(checks, world):
    for algorithm in ("RS256", "ES256"):
        server = Glewlwyd(world, access_ttl=60, name=algorithm.lower(), algorithm=algorithm)
        world.environment.update(server.as_browser)
        other = {"RS256": "ES256", "ES256": "RS256"}[algorithm]
        # Keys of other servers: with the same algorithm and key ID, and with another algorithm.
        strange, wrong_kind = keys_of_a_stranger(world, algorithm), keys_of_a_stranger(world, other)
        world.use_settings({"types": {
            "plain": server.type(),
            "told": server.type(idTokenSigningAlgorithm=algorithm),
            "other": server.type(idTokenSigningAlgorithm=other),
            "stranger": server.type(jwksURI=strange), "wrong-kind": server.type(jwksURI=wrong_kind)}})
        one(checks, world, server, algorithm)


def one(checks, world, server, algorithm):
    granted = server.grant_past_the_program().json or {}
    header = claims_of(granted.get("id_token", "e30.e30"))[0]
    checks.check(f"{algorithm}: the server signs its ID tokens with this algorithm", header.get("alg") == algorithm, header)
    for name in ("plain", "told"):
        outcome = world.run("sign-in", name, *PATIENT)
        checks.ends(f"{algorithm}: sign-in, type {name}", outcome, 0, f"Signed in to {name} as Ada Lovelace")
        renewed = world.run("token", "--type", name, "--refresh")
        checks.check(f"{algorithm}: refresh, type {name}",
                     renewed.status == 0 and server.user_info(renewed.out.strip()).status == 200, renewed)
    for name, why in (("other", "another algorithm is registered"), ("stranger", "the key belongs to another server"),
                      ("wrong-kind", "the key has another algorithm")):
        outcome = world.run("sign-in", name, *PATIENT)
        checks.check(f"{algorithm}: the sign-in fails, because {why}",
                     outcome.status not in (0, "no end in time") and "ID token" in outcome.err, outcome)
    kept = {account["type"] for account in world.run("accounts", "--output", "json").json or []}
    checks.check(f"{algorithm}: the failed sign-ins added no account", kept == {"plain", "told"}, kept)
    for name in ("plain", "told"):
        world.run("sign-out", "--type", name)


def keys_of_a_stranger(world, algorithm):
    """Serves another key set on loopback, with a key of the same key ID. Returns its URL."""
    folder = world.make(f"stranger-{len(world.closers)}")
    make_key(folder, algorithm)
    with open(os.path.join(folder, "jwks.json"), "rb") as file:
        content = file.read()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    world.closers.append(lambda: (listener.shutdown(), listener.server_close()))
    return f"http://127.0.0.1:{listener.server_port}/jwks"
