"""A directory on loopback. The topic sets its responses."""

import http.server
import json
import threading

from provider import Provider


class DirectoryServer:
    def __init__(self, world):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.server.daemon_threads = True
        # A connection that ends because the program was killed is not an error.
        self.server.handle_error = lambda *_: None
        self.base = f"http://127.0.0.1:{self.server.server_address[1]}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        world.closers.append(self.close)

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def respond(self, path):
        """Returns the status and the JSON for a request, or for a request in a batch."""
        raise NotImplementedError

    def use(self, world):
        """Starts a provider whose accounts use this directory."""
        settings = Provider(world, "--users", "10").settings
        for account_type in settings["types"].values():
            account_type["graphAPI"] = self.base
            account_type["api-version"] = "v1.0"
        world.use_settings(settings)

    def _handler(self):
        directory = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                self.reply(*directory.respond(self.path))

            def do_POST(self):
                batch = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                responses = []
                for part in batch["requests"]:
                    status, content = directory.respond(part["url"])
                    responses.append({"id": part["id"], "status": status, "body": content,
                                      "headers": {"Content-Type": "application/json"}})
                self.reply(200, {"responses": responses})

            def reply(self, status, content):
                body = json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                try:
                    self.wfile.write(body)
                except OSError:
                    # The client was killed.
                    self.close_connection = True

            def log_message(self, *_):
                pass
        return Handler
