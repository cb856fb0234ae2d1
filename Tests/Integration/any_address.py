"""sign-in with the URL of an API, here a Model Context Protocol server of the official Python package."""

import json
import os
import shlex
import subprocess

import web
from world import LIMIT, eventually, free_port, stop

INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
    "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "lodge-integration", "version": "1"}}}


class NotesServer:
    """A server with a required scope and a path."""

    def __init__(self, world, required="notes:read", path="/mcp"):
        python = world.python("mcp")
        self.port = free_port()
        self.origin = f"http://127.0.0.1:{self.port}"
        self.url = self.origin + path
        script = os.path.join(world.here, "peers", "mcp", "server.py")
        errors = open(world.path(f"mcp-{self.port}.log"), "wb")
        self.process = subprocess.Popen(
            [python, script, str(self.port), required, path], env=world.environment, cwd=world.folder,
            stdin=subprocess.DEVNULL, stdout=errors, stderr=errors)
        errors.close()
        world.closers.append(self.stop)
        if eventually(lambda: self.process.poll() is not None or self.responds()) is True:
            return
        with open(world.path(f"mcp-{self.port}.log"), encoding="utf-8") as file:
            raise RuntimeError(f"the server of the Model Context Protocol does not start: {file.read()[-1000:]}")

    def responds(self):
        try:
            return web.send(self.origin + "/log").status == 200
        except OSError:
            return False

    @property
    def log(self):
        return web.send(self.origin + "/log").json

    def entries(self, kind):
        return [entry for entry in self.log if kind in entry]

    def decide(self, decision):
        web.send(f"{self.origin}/decide?decision={decision}")

    def forget(self):
        web.send(self.origin + "/forget")

    def stop(self):
        stop(self.process)


def call(world, server, message, *words):
    return world.run("request", "POST", server.url, "--json", json.dumps(message),
                     "--header", "Accept: application/json, text/event-stream", *words)


def run(checks, world):
    server = NotesServer(world)
    name = f"127.0.0.1:{server.port}"
    settings = world.path("home", ".config", "lodge", "settings.json")

    unconfirmed = world.run("sign-in", server.url)
    checks.ends("sign-in with a URL, without a terminal and without --yes: sign-in needed", unconfirmed, 4, server.origin, "--yes")
    checks.check("it registers no client and saves no token and no type", server.log == [] and not os.path.exists(settings),
                 server.log)

    signed_in = world.run("sign-in", server.url, "--yes")
    checks.ends("sign-in with the URL", signed_in, 0, f"Issuer:       {server.origin}\n", "Scopes:       notes:read\n",
                f"Token hosts:  {name}\n", "Registered the client", f"Signed in to {name}")
    with open(settings, encoding="utf-8") as file:
        type = json.load(file)["types"][name]
    checks.check("the account type is only for this resource", type["resources"] == [server.url]
                 and type["resourceHosts"] == [name] and type["issuer"] == server.origin, type)
    asked, issued = server.entries("authorize"), server.entries("issued")
    checks.check("lodge requests a token for this resource with the required scope",
                 [entry["resource"] for entry in asked + issued] == [server.url] * 2
                 and issued[0]["scopes"] == ["notes:read"], server.log)

    hello = call(world, server, INITIALIZE)
    checks.check("request POST initializes the protocol", hello.status == 0 and (hello.json or {}).get(
        "result", {}).get("serverInfo", {}).get("name") == "notes", hello)
    counted = call(world, server, {"jsonrpc": "2.0", "id": 2, "method": "tools/call",
                                   "params": {"name": "count_notes", "arguments": {}}},
                   "--header", "MCP-Protocol-Version: 2025-06-18")
    checks.check("request POST calls a tool", counted.status == 0 and '"7"' in counted.out, counted)

    first = world.run("token", "--type", name)
    renewed = world.run("token", "--type", name, "--refresh")
    checks.check("token --refresh requests a token for the same resource", renewed.status == 0 and renewed.out not in ("", first.out)
                 and server.entries("issued")[-1]["resource"] == server.url, renewed)
    checks.ends("the new token is accepted", call(world, server, INITIALIZE), 0)

    foreign = NotesServer(world, path="/")
    refused = world.run("request", "POST", foreign.url, "--type", name, "--json", "{}")
    checks.ends("lodge does not send the token to another server: settings", refused, 8, "resourceHosts")
    checks.check("the second server rejects a token of the first one",
                 web.send(foreign.url, form={}, bearer=renewed.out.strip()).status == 401)

    again = world.run("sign-in", server.url)
    checks.ends("a second sign-in needs no confirmation", again, 0, f"Signed in to {name}")
    checks.check("the second sign-in uses the same client", len(server.entries("registered")) == 1, server.log)

    server.decide("deny")
    denied = world.run("sign-in", server.url)
    checks.ends("the user denies the sign-in: not permitted", denied, 5, "denied by the user")
    checks.ends("the earlier account is still signed in", call(world, server, INITIALIZE), 0)
    server.decide("approve")

    server.forget()
    gone = call(world, server, INITIALIZE)
    checks.ends("the server revokes the sign-in: sign-in needed", gone, 4, f"lodge sign-in {name}")
    checks.ends("a new sign-in restores the account", world.run("sign-in", server.url), 0)
    out = world.run("sign-out", "--type", name, "--all")
    checks.ends("sign-out revokes the tokens", out, 0, "The provider has revoked the tokens")
    checks.check("the server received the revocation", server.entries("revoked"), server.log)

    more_scopes(checks, world)
    at_the_root(checks, world, foreign)
    in_a_terminal(checks, world)


def more_scopes(checks, world):
    """The server responds with insufficient_scope and names the scope only in its metadata. It grants only registered scopes."""
    server = NotesServer(world, required="notes:write")
    name = f"127.0.0.1:{server.port}"
    checks.ends("sign-in with an insufficient scope",
                world.run("sign-in", server.url, "--yes", "--scope", "notes:read"), 0)
    refused = call(world, server, INITIALIZE)
    checks.ends("a request with an insufficient scope: not permitted, and the hint has the sign-in", refused, 5, "403", f"lodge sign-in {name}",
                "--scope")
    words = [world.program, "request", "POST", server.url, "--json", json.dumps(INITIALIZE), "--header",
             "Accept: application/json, text/event-stream"]
    accepted = in_terminal(world, words, "y")
    checks.check("in a terminal the user confirms a sign-in for more scopes, and lodge repeats the request",
                 accepted.returncode == 0 and b"requires the scope notes:write." in accepted.stdout
                 and b'"serverInfo"' in accepted.stdout, accepted.stdout.decode("utf-8", "replace"))
    checks.check("the second sign-in requests both scopes", [entry["scopes"] for entry in server.entries("authorize")]
                 == [["notes:read"], ["notes:read", "notes:write"]], server.log)
    checks.ends("the server accepts the next request", call(world, server, INITIALIZE), 0)


def in_terminal(world, words, line):
    return subprocess.run(
        ["script", "--quiet", "--return", "--command", shlex.join(words), world.path("typescript")],
        env={**world.environment, "COLUMNS": "80"}, cwd=world.folder, input=line.encode() + b"\n", capture_output=True,
        timeout=LIMIT)


def at_the_root(checks, world, server):
    """The URL has no path, so the metadata is at the root."""
    signed_in = world.run("sign-in", server.origin, "--yes")
    checks.ends("sign-in to a server without a path", signed_in, 0, "Signed in to")
    checks.ends("lodge finds the account by the URL", call(world, server, INITIALIZE), 0)


def in_a_terminal(checks, world):
    """The user confirms in a terminal."""
    server = NotesServer(world)
    answered = in_terminal(world, [world.program, "sign-in", server.url], "y")
    said = answered.stdout.decode("utf-8", "replace").replace("\r", "")
    checks.check("the prompt names the issuer, and y signs in", answered.returncode == 0 and "[y/N]" in said
                 and f"Issuer:       {server.origin}\n" in said and "Signed in to" in said, said)
