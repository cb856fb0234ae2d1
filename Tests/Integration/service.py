"""A service on loopback for topics that look at the requests."""

import http.server
import json
import threading
import urllib.parse


class Service(http.server.ThreadingHTTPServer):
    """A service on loopback that responds as `respond(handler)` does. It records the requests."""

    daemon_threads = True

    def __init__(self, world, respond, port=0):
        self.requests, service = [], self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do(self):
                length = int(self.headers.get("Content-Length") or 0)
                self.form = dict(urllib.parse.parse_qsl(self.rfile.read(length).decode("utf-8", "replace")))
                service.requests.append(self)
                respond(self)

            do_GET = do_POST = do

            def send(self, status, body, **fields):
                body = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response_only(status)
                for name, value in {"Content-Type": "application/json", **fields}.items():
                    self.send_header(name.replace("_", "-"), value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", port), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()
        world.closers.append(self.shutdown)
        world.closers.append(self.server_close)

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_port}"
