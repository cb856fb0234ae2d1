"""`lodge request` with a service that reports each request and responds with errors."""

import hashlib
import http.server
import json
import os
import subprocess
import threading

from provider import Provider, sign_in


class Service(http.server.ThreadingHTTPServer):
    """Responds with the request as JSON. `answer` has the special paths."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked, self.refused = [], 0
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        """Ignores clients that close the connection."""

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_port}"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        """Prints no log, because the checks use standard error."""

    def __getattr__(self, name):
        if name.startswith("do_"):
            return self.answer
        raise AttributeError(name)

    def body(self):
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            parts = []
            while size := int(self.rfile.readline(), 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def answer(self):
        body = self.body()
        said = {"method": self.command, "path": self.path, "fields": {k.lower(): v for k, v in self.headers.items()},
                "body": body.decode("latin-1") if len(body) < 100_000 else None, "size": len(body),
                "digest": hashlib.sha256(body).hexdigest()}
        self.server.asked.append(said)
        words = self.path.split("?")[0].strip("/").split("/")
        if words[0] == "status":
            # /status/403?field=value: this status, with this WWW-Authenticate or Retry-After.
            return self.write(int(words[1]), b'{"why": "\xe2\x80\xae because"}', self.wanted())
        if words[0] == "once" and self.server.refused == 0:
            self.server.refused = 1
            return self.write(401, b"no", {"WWW-Authenticate": 'Bearer error="invalid_token"'})
        if words[0] == "to":
            return self.write(302, b"", {"Location": self.path.split("?to=", 1)[1]})
        if words[0] == "large":
            return self.write(200, b"0123456789" * 1_000_000, {"Content-Type": "application/octet-stream"})
        if words[0] == "cut":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"half")
            self.close_connection = True
            return None
        return self.write(200, json.dumps(said).encode(), {"Content-Type": "application/json", "X-Odd": "a\x1b[31m"})

    def wanted(self):
        name, _, value = (self.path.split("?", 1) + [""])[1].partition("=")
        return {name: value.replace("+", " ").replace("%22", '"')} if value else {}

    def write(self, status, body, fields):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def run(checks, world):
    service, other = Service(), Service()
    world.closers += [service.shutdown, other.shutdown]
    provider = Provider(world, "--users", "300")
    local = provider.settings["types"]["local"]
    local["resourceHosts"] = [f"127.0.0.1:{service.server_port}"]
    world.use_settings(provider.settings)
    address = service.address
    checks.ends("without a sign-in: sign-in needed", world.run("request", "GET", f"{address}/x"), 4,
                "hint: lodge sign-in")
    checks.ends("--no-account sends the request", world.run("request", "get", f"{address}/x", "--no-account"), 0)
    checks.check("--no-account sends no token", "authorization" not in service.asked[-1]["fields"]
                 and service.asked[-1]["method"] == "GET", service.asked[-1])
    checks.ends("sign-in", sign_in(world), 0)
    token = world.run("token").out.strip()

    def ask(*words, **named):
        told = world.run("request", *words, **named)
        return told, told.json if isinstance(told.json, dict) and "fields" in told.json else {"fields": {}, "body": None}

    me = world.run("request", "GET", "/me")
    checks.check("a path is relative to the type's API, and its version is added",
                 me.status == 0 and me.json and me.json["userPrincipalName"], me)
    told, said = ask("GET", f"{address}/x?a=1", "--form", "b=two words", "--form", "a=&", "--header", "Accept: image/*")
    checks.check("an authorized request has the token, the form in the query, and the caller's Accept",
                 said["fields"].get("authorization") == f"Bearer {token}" and said.get("path") ==
                 "/x?a=1&b=two%20words&a=%26" and said["fields"]["accept"] == "image/*", told)
    contents(checks, world, ask, address)
    statuses(checks, world, address, service)
    redirects(checks, world, ask, address, other)
    files(checks, world, address)
    refusals(checks, world, address, token)


def contents(checks, world, ask, address):
    told, said = ask("POST", f"{address}/x", "--form", "a=ä b", "--form", "a=+")
    checks.check("a form", said["body"] == "a=%C3%A4%20b&a=%2B"
                 and said["fields"]["content-type"] == "application/x-www-form-urlencoded", told)
    told, said = ask("PATCH", f"{address}/x", "--json", '{"b": 1, "a": [2]}')
    checks.check("--json sends the text unchanged", said["body"] == '{"b": 1, "a": [2]}'
                 and said["fields"]["content-type"] == said["fields"]["accept"] == "application/json", told)
    told, said = ask("DELETE", f"{address}/x", "--json", "@-", input='{"from": "standard input"}')
    checks.check("--json @- sends standard input", said["body"] == '{"from": "standard input"}', told)
    told, said = ask("PUT", f"{address}/x", "--data", "@-", "--header", "Content-Type: text/plain", input="a\nb")
    checks.check("--data @- sends standard input unchanged with its length", said["body"] == "a\nb"
                 and said["fields"]["content-length"] == "3" and said["fields"]["content-type"] == "text/plain", told)
    photo = world.write("pho\"to.txt", "bytes of a photo")
    told, said = ask("POST", f"{address}/x", "--part", "na\"me\r\n=Ada", "--part", "list=1", "--part", "list=2",
                     "--part", f"file=@{photo};type=image/jpeg", "--part", f"other=@{photo};filename=a;b.txt")
    body = said["body"] or ""
    kind = said["fields"].get("content-type", "")
    checks.check("--part sends a multipart form: escaped names, lists, files",
                 kind.startswith("multipart/form-data; boundary=")
                 and 'name="na%22me%0D%0A"\r\n\r\nAda\r\n' in body and body.count('name="list"') == 2
                 and 'name="file"; filename="pho%22to.txt"\r\nContent-Type: image/jpeg\r\n\r\nbytes of a photo\r\n' in body
                 and 'filename="a;b.txt"' in body and body.endswith(f"--{kind.split('=')[-1]}--\r\n"), told)
    left = [name for name in os.listdir(world.environment["TMPDIR"]) if "input" in name]
    checks.check("no temporary file of standard input remains", not left, left)
    for words, wish in ((("--data", "a", "--json", "{}"), "cannot be combined"), (("--json", "{"), "not JSON"),
                        (("--data", "@/nonexistent"), "/nonexistent"), (("--part", "x"), "NAME=VALUE"),
                        (("--header", "x"), "NAME: VALUE"), (("--header", "A: b\nC: d"), "line break"),
                        (("--output", "json"), "./json")):
        checks.ends(f"{' '.join(words)!r} is a usage error", world.run("request", "POST", f"{address}/x", *words), 2, wish)
    checks.ends("a GET with content is a usage error", world.run("request", "GET", f"{address}/x", "--data", "a"), 2, "--form")
    checks.ends("a URL without a scheme", world.run("request", "GET", "example"), 2, "https://")
    checks.ends("a URL with plain HTTP", world.run("request", "GET", "http://example.com/"), 2, "hint: use an https URL")


def statuses(checks, world, address, service):
    for code, status, more, words in (
            (201, 0, "", ()), (401, 4, "", ("lodge sign-in",)), (403, 5, "", ("--scope",)), (404, 3, "", ()),
            (403, 5, "?WWW-Authenticate=Bearer+error=%22insufficient_scope%22,+scope=%22Mail.Send%22",
             ("needs the permission Mail.Send", "User.Read", "code: insufficient_scope")),
            (429, 6, "?Retry-After=7", ("retry in 7 s",)), (503, 6, "", ()), (400, 1, "", ()), (500, 1, "", ())):
        told = world.run("request", "GET", f"{address}/status/{code}{more}")
        checks.ends(f"{code} exits with {status}{' with its reason' if more else ''}", told, status, *words)
        checks.check(f"{code}: the content is printed", "because" in told.out, told)
    checks.ends("a truncated response is a network error", world.run("request", "GET", f"{address}/cut"), 7, "hint:")
    checks.ends("an unreachable server is a network error", world.run("request", "GET", "http://127.0.0.1:1/", "--no-account"), 7, "hint:")
    before = len(service.asked)
    told = world.run("request", "POST", f"{address}/once", "--part", "a=b", "--part", "c=@-", input="from a pipe")
    tries = [said for said in service.asked[before:] if said["path"] == "/once"]
    checks.check("after a 401 lodge repeats the request with the same content and a new token", told.status == 0 and len(tries) == 2
                 and tries[0]["body"] == tries[1]["body"] and "from a pipe" in tries[1]["body"]
                 and tries[0]["fields"]["authorization"] != tries[1]["fields"]["authorization"], f"{told}\n{tries}")


def redirects(checks, world, ask, address, other):
    told, said = ask("GET", f"{address}/to?to=/there")
    checks.check("a redirect within the origin keeps the token", said.get("path") == "/there"
                 and "authorization" in said["fields"], told)
    told, said = ask("GET", f"{address}/to?to={other.address}/there")
    checks.check("a redirect to another port has no token", said.get("path") == "/there"
                 and "authorization" not in said["fields"], told)


def files(checks, world, address):
    target = world.path("large.bin")
    told = world.run("request", "GET", f"{address}/large", "--output", target)
    with open(target, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    right = hashlib.sha256(b"0123456789" * 1_000_000).hexdigest()
    checks.check("--output writes only the content to the file", told.status == 0 and told.out == ""
                 and digest == right, told)
    refused = world.run("request", "GET", f"{address}/status/404", "--output", target)
    with open(target, "rb") as file:
        kept = hashlib.sha256(file.read()).hexdigest() == right
    checks.check("an error response is printed, and the file remains", refused.status == 3 and kept and "because" in refused.out, refused)
    nowhere = world.path("nowhere/f")
    checks.ends("a missing folder", world.run("request", "GET", f"{address}/x", "--output", nowhere), 1, nowhere)
    sent = world.run("request", "PUT", f"{address}/x", "--data", f"@{target}")
    checks.check("--data sends the whole file", sent.json and sent.json["digest"] == right, sent)
    head = world.run("request", "HEAD", f"{address}/x", "--include")
    checks.check("--include prints the status and fields without control characters", head.status == 0
                 and head.out.startswith("HTTP 200\n") and "\x1b" not in head.out and "x-odd: a" in head.out.lower(), head)
    piped = subprocess.run([world.program, "request", "GET", f"{address}/large"], env=world.environment,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    checks.check("a pipe gets every byte unchanged", hashlib.sha256(piped.stdout).hexdigest() == right
                 and not piped.stderr, piped.stderr)


def refusals(checks, world, address, token):
    checks.ends("a host that the type does not list gets no token", world.run("request", "GET", "https://example.com/"), 8,
                "resourceHosts")
    checks.ends("--no-account permits other hosts", world.run("request", "GET", "https://example.invalid/", "--no-account"), 7)
    secret = "very-secret-value"
    told = world.run("request", "POST", f"{address}/x?key={secret}", "--header", f"X-Key: {secret}", "--data", secret,
                     "--debug", "--output", world.path("quiet"))
    checks.check("--debug prints no token, query, header field or content", told.status == 0
                 and secret not in told.err and token not in told.err and f"POST {address}/x" in told.err, told)
