"""A network that responds instead of the provider: a redirect to its sign-in page, the page itself, status 511, proxy error pages."""

import http.server
import json
import threading
import urllib.parse
import urllib.request

from world import PATIENT, address_shown

PAGE = b"<!DOCTYPE html><html><title>Welcome to the hotel</title></html>"
MODES = {
    "a redirect": (302, {"Location": "http://portal.example/login?secret=1"}, b""),
    "a page": (200, {"Content-Type": "text/html"}, PAGE),
    "a page called JSON": (200, {"Content-Type": "application/json"}, b"\n " + PAGE),
    "status 511": (511, {"Content-Type": "text/html"}, PAGE),
    "a page with 403": (403, {"Content-Type": "text/html"}, PAGE),
}


class Network(http.server.BaseHTTPRequestHandler):
    """A provider and directory. If `mode` is set, every response has this status, fields and content."""
    mode = None

    def log_message(self, *_):
        pass

    def reply(self, status, fields, content):
        self.send_response(status)
        for name, value in {**fields, "Content-Length": str(len(content)), "Connection": "close"}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def do_GET(self):
        self.answer({})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        self.answer(dict(urllib.parse.parse_qsl(body)))

    def answer(self, form):
        if type(self).mode:
            return self.reply(*type(self).mode)
        origin = "http://" + self.headers["Host"]
        if self.path == "/token":
            content = {"access_token": "at", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "rt"}
        elif "well-known" in self.path:
            content = {"issuer": origin, "authorization_endpoint": origin + "/authorize",
                       "token_endpoint": origin + "/token", "jwks_uri": origin + "/keys",
                       "response_types_supported": ["code"], "subject_types_supported": ["public"],
                       "id_token_signing_alg_values_supported": ["RS256"], "code_challenge_methods_supported": ["S256"]}
        elif self.path == "/keys":
            content = {"keys": []}
        else:
            content = {"value": []}
        return self.reply(200, {"Content-Type": "application/json"}, json.dumps(content).encode())


def run(checks, world):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Network)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    world.closers.append(server.shutdown)
    origin = f"http://127.0.0.1:{server.server_address[1]}"
    shared = {"clientId": "cli", "redirectUri": "http://127.0.0.1/callback", "scopes": ["read", "offline_access"],
              "graphAPI": origin + "/", "api-version": "v1.0"}
    world.use_settings({"defaultType": "endpoints", "types": {
        "endpoints": {**shared, "authorizationEndpoint": origin + "/authorize", "tokenEndpoint": origin + "/token"},
        "discovered": {**shared, "issuer": origin}}})

    def signed_in(name):
        """Signs in with a new store, so that no earlier error has an effect."""
        Network.mode = None
        environment = {"LODGE_STORE": world.path("store-" + name.replace(" ", "-"))}
        checks.ends("sign-in", sign_in(world, **environment), 0)
        return environment

    for name, mode in MODES.items():
        environment = signed_in(name)
        Network.mode = mode
        for words in (("token", "--refresh"), ("search", "ada"), ("sync",), ("sign-in", "discovered", "--no-browser"),
                      ("providers", "check", "discovered")):
            done = world.run(*words, **environment)
            checks.ends(f"{name}: {' '.join(words)} reports a network error", done, 7, "hint:")
            checks.check(f"{name}: {' '.join(words)} does not print the query of the redirect", "secret=1" not in done.err, done)
        Network.mode = None
        started = world.start("sign-in", "endpoints", "--no-browser", *PATIENT, **environment)
        redirect(started, mode)
        checks.ends(f"{name}: sign-in reports a network error of the token endpoint", started.finish(), 7)
        Network.mode = None
        checks.ends(f"{name}: the account is still signed in", world.run("search", "ada", **environment), 3)
    Network.mode = MODES["status 511"]
    checks.ends("request with status 511 reports a network error", world.run(
        "request", "GET", origin + "/x", LODGE_STORE=world.path("store-a-page")), 7, "hint:")

    environment = signed_in("a page with 400")
    Network.mode = (400, {"Content-Type": "text/html"}, PAGE)
    checks.ends("a page with 400 does not require a sign-in", world.run("token", "--refresh", **environment), 7)
    environment = signed_in("an empty 400")
    Network.mode = (400, {}, b"")
    checks.ends("an empty 400, as from Glewlwyd, requires a sign-in", world.run("token", "--refresh", **environment), 4)
    Network.mode = None


def redirect(running, mode=None):
    """Sends the redirect of the browser. After that the network responds."""
    parameters = urllib.parse.parse_qs(urllib.parse.urlsplit(address_shown(running)).query)
    query = urllib.parse.urlencode({"code": "c", "state": parameters["state"][0]})
    Network.mode = mode
    try:
        urllib.request.urlopen(parameters["redirect_uri"][0] + "?" + query, timeout=20).read()
    except OSError:
        # The page of a failed sign-in may have another status.
        pass


def sign_in(world, **environment):
    running = world.start("sign-in", "endpoints", "--no-browser", *PATIENT, **environment)
    redirect(running)
    return running.finish()
