"""A token endpoint on loopback. It rotates refresh tokens, revokes all of them if one is used twice, and can fail as a check requires."""

import http.server
import json
import threading
import time
import urllib.parse

from world import eventually


class TokenEndpoint:
    def __init__(self, world):
        self.lock = threading.Lock()
        self.number = 0
        self.valid = "RT-0"
        self.requests = []
        self.reuses = 0
        # The lifetime of new tokens in seconds.
        self.lifetime = 3600
        # The number of requests without a response.
        self.active = 0
        # The fields of a response 429, or None to issue tokens.
        self.throttles = None
        # The duration of a response in seconds.
        self.duration = 0
        # Set while requests are lost on the way to the provider.
        self.drops = threading.Event()
        # The time at which the last byte of a slow response was sent.
        self.ended = None
        # Set while the endpoint responds.
        self.responds = threading.Event()
        self.responds.set()
        world.releases.append(self.responds.set)
        endpoint = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Sends each byte in a separate packet.
            disable_nagle_algorithm = True

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                endpoint.respond(self, dict(urllib.parse.parse_qsl(body.decode())))

            def do_GET(self):
                endpoint.responds.wait()
                endpoint.send(self, 200, {}, b"x" * 400)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_):
                """Ignores clients that do not wait for the response, which is part of the checks."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        world.closers.append(self.close)

    def close(self):
        self.responds.set()
        self.server.shutdown()
        self.server.server_close()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def settings(self):
        return {"types": {"t": {
            "tokenEndpoint": self.url + "/token", "authorizationEndpoint": self.url + "/authorize", "clientId": "cli",
            "redirectUri": "http://127.0.0.1/callback", "scopes": ["read"], "graphAPI": self.url + "/", "resourceHosts": [f"127.0.0.1:{self.port}"]}}}

    def respond(self, handler, form):
        with self.lock:
            self.requests.append(form)
            self.active += 1
        try:
            self.issue(handler, form)
        finally:
            with self.lock:
                self.active -= 1

    def finish(self):
        """Responds to all requests, including those whose clients have left."""
        self.responds.set()
        eventually(lambda: not self.active)

    def hold(self, world, *words):
        """Starts the program, and returns it after its request has arrived. The request waits for `responds`. The program stops
    waiting after 30 s."""
        before = len(self.requests)
        self.responds.clear()
        running = world.start(*words)
        running.wait_for(lambda _: len(self.requests) > before)
        return running

    def issue(self, handler, form):
        if self.throttles is not None:
            return self.send(handler, 429, self.throttles, b"")
        is_lost = self.drops.is_set()
        self.responds.wait()
        if is_lost:
            handler.close_connection = True
            return
        with self.lock:
            if form.get("refresh_token") != self.valid:
                self.reuses += 1
                self.valid = None
                return self.send(handler, 400, {}, b'{"error":"invalid_grant"}')
            self.number += 1
            self.valid = f"RT-{self.number}"
            body = json.dumps({
                "access_token": f"AT-{self.number}", "token_type": "Bearer", "expires_in": self.lifetime, "refresh_token": self.valid})
        self.send(handler, 200, {"Content-Type": "application/json"}, body.encode())

    def send(self, handler, status, fields, body):
        handler.send_response_only(status)
        for name, value in fields.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        size = max(-(-len(body) // (40 if self.duration else 1)), 1)
        for start in range(0, len(body), size):
            piece = body[start:start + size]
            time.sleep(self.duration * len(piece) / len(body))
            handler.wfile.write(piece)
            handler.wfile.flush()
        if self.duration:
            self.ended = time.monotonic()
