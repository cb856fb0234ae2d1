"""Clients of oidc-agent that get tokens from `lodge credential oidc-agent`: oidc-token, liboidc-agent and its Python package, without changes. A listener
starts lodge for each connection, as a service manager does."""

import ctypes
import ctypes.util
import json
import os
import shutil
import socket
import subprocess
import threading

from agent import Agent
from provider import Provider
import web
from world import LIMIT, PATIENT, Unavailable, address_shown, eventually


class Listener:
    """A socket that starts lodge with each connection as its standard input and output."""

    def __init__(self, world, *options):
        self.world, self.options = world, options
        self.path = os.path.join(world.make("sockets"), f"{len(world.closers)}")
        self.errors = self.path + "-errors"
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(self.path)
        self.socket.listen()
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()
        world.closers.append(self.close)

    def serve(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            with connection, open(self.errors, "ab") as errors:
                subprocess.run([self.world.program, "credential", "oidc-agent", *self.options], stdin=connection, stdout=connection,
                               stderr=errors, env=self.world.environment, cwd=self.world.folder, timeout=LIMIT, check=False)

    def close(self):
        # Ends accept.
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join(LIMIT)

    @property
    def error_text(self):
        with open(self.errors, encoding="utf-8", errors="replace") as file:
            return file.read()

    def oidc_token(self, *words):
        return self.client("oidc-token", *words)

    def client(self, *words):
        return subprocess.run(
            words, env={**self.world.environment, "OIDC_SOCK": self.path, **library_path()}, capture_output=True, text=True,
            timeout=LIMIT, stdin=subprocess.DEVNULL)


def library_path():
    return {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}


def run(checks, world):
    if not shutil.which("oidc-token"):
        raise Unavailable("oidc-token is not installed")
    # oidc-token treats only an https URL as an issuer.
    provider = Provider(world, "--tls", "--approve")
    local = provider.settings["types"]["local"]
    world.use_settings(provider.settings)
    world.environment["LODGE_CA_FILE"] = local["caFile"]
    listener = Listener(world)
    unsigned = listener.oidc_token("local")
    checks.check("oidc-token shows the sign-in if there is no account", unsigned.returncode != 0 and unsigned.stdout == ""
                 and "account not loaded" in unsigned.stderr and "lodge sign-in local" in unsigned.stderr, unsigned)
    checks.ends("sign-in", approved(world, local["caFile"], "--name", "work"), 0, "Signed in")
    token = world.run("token").out.strip()
    for sentence, name in (("account", "work"), ("account type", "local"), ("issuer", local["issuer"]), ("issuer with a slash", local["issuer"] + "/")):
        done = listener.oidc_token(name)
        checks.check(f"oidc-token gets the token by {sentence}", done.returncode == 0 and done.stdout.strip() == token, done)
    scoped = listener.oidc_token("--scope", "User.Read", "--name", "checks", "--time", "60", "work")
    checks.check("oidc-token gets the token for a granted scope", scoped.returncode == 0 and scoped.stdout.strip() == token, scoped)
    everything = listener.oidc_token("--all", "work")
    checks.check("oidc-token gets issuer and expiry", everything.stdout.split("\n")[:2] == [token, local["issuer"]] and len(everything.stdout.split("\n")) > 2, everything)
    wrong = listener.oidc_token("other")
    checks.check("oidc-token gets no token for another account", wrong.returncode != 0 and wrong.stdout == ""
                 and "account not loaded" in wrong.stderr, wrong)
    loaded = listener.client("oidc-add", "--loaded")
    checks.check("oidc-add lists the accounts", loaded.returncode == 0 and "work" in loaded.stdout.split(), loaded)
    identity = listener.oidc_token("--id-token", "work")
    checks.check("oidc-token gets no ID token", identity.returncode != 0 and identity.stdout == "", identity)
    new = listener.oidc_token("--force-new", "work")
    checks.check("oidc-token --force-new refreshes the token", new.returncode == 0 and new.stdout.strip() not in ("", token)
                 and new.stdout.strip() == world.run("token").out.strip(), new)
    long = listener.oidc_token("--time", "3599", "work")
    checks.check("oidc-token --time gets a token that is valid for a while", long.returncode == 0 and long.stdout.strip(), long)
    resource = listener.oidc_token("--aud", "https://api.example/a", "work")
    checks.check("oidc-token --aud gets another token", resource.returncode == 0 and resource.stdout.strip() not in ("", new.stdout.strip()), resource)
    audience = listener.oidc_token("--aud", "two names", "work")
    checks.check("oidc-token --aud with several names is an error", audience.returncode != 0 and "audience is not one absolute URI" in audience.stderr,
                 audience)
    restricted = Listener(world, "--allow", "nobody")
    refused = restricted.oidc_token("work")
    checks.check("a listener with --allow serves no other account", refused.returncode != 0 and "account not loaded" in refused.stderr, refused)
    expired(checks, world, local)
    library(checks, world, listener, local)
    python_package(checks, world, listener, local)
    packets(checks, world)
    with_agent(checks, world, listener)
    checks.check("lodge prints no messages", listener.error_text == "" and restricted.error_text == "", listener.error_text)


def approved(world, ca_file, *words, **environment):
    """Signs in at a provider that approves each sign-in."""
    waiting = world.start("sign-in", "--no-browser", *PATIENT, *words, **environment)
    url = address_shown(waiting)
    if url:
        web.send(web.send(url, ca_file=ca_file).fields["Location"])
    return waiting.finish()


def expired(checks, world, local):
    """Tokens of a provider that are valid for two seconds."""
    short = Provider(world, "--tls", "--approve", "--token-lifetime", "2")
    type_ = short.settings["types"]["local"]
    there = {"LODGE_SETTINGS": world.write("short.json", short.settings), "LODGE_STORE": world.path("store-short"), "LODGE_CA_FILE": type_["caFile"]}
    before, world.environment = world.environment, {**world.environment, **there}
    try:
        listener = Listener(world)
        checks.ends("sign-in with short tokens", approved(world, type_["caFile"]), 0, "Signed in")
        first = listener.oidc_token("local").stdout.strip()
        second = eventually(lambda: (listener.oidc_token("local").stdout.strip() or first) != first)
        checks.check("oidc-token gets a new token after the expiry", first and second, listener.error_text)
        listener.close()
        world.closers.remove(listener.close)
    finally:
        world.environment = before


def library(checks, world, listener, local):
    """The C library, in another process, because it reads OIDC_SOCK of its process."""
    name = ctypes.util.find_library("oidc-agent") or "liboidc-agent.so.4"
    script = f"""
import ctypes, json
library = ctypes.CDLL({name!r})
class Response(ctypes.Structure):
    _fields_ = [("token", ctypes.c_char_p), ("issuer", ctypes.c_char_p), ("expires_at", ctypes.c_long)]
library.getTokenResponse3.restype = library.getTokenResponseForIssuer3.restype = Response
found = [library.getTokenResponse3(b"work", ctypes.c_long(60), b"User.Read", b"checks", None),
         library.getTokenResponseForIssuer3({local['issuer']!r}.encode(), ctypes.c_long(60), None, b"checks", None),
         library.getTokenResponse3(b"other", ctypes.c_long(60), None, None, None)]
print(json.dumps([[r.token and r.token.decode(), r.issuer and r.issuer.decode(), r.expires_at] for r in found]))
"""
    done = subprocess.run(["python3", "-c", script], env={**world.environment, "OIDC_SOCK": listener.path, **library_path()}, capture_output=True,
                          text=True, timeout=LIMIT, stdin=subprocess.DEVNULL)
    found = json.loads(done.stdout) if done.returncode == 0 else [[None] * 3] * 3
    token = world.run("token").out.strip()
    checks.check("liboidc-agent gets the token by account", found[0][:2] == [token, local["issuer"]] and found[0][2] > 1_700_000_000, done)
    checks.check("liboidc-agent gets the token by issuer", found[1] == found[0], done)
    checks.check("liboidc-agent gets no token for another account", found[2][0] is None, done)


def python_package(checks, world, listener, local):
    try:
        python = world.python("oidc-agent")
    except Unavailable as error:
        return print(f"skipped: liboidcagent for Python: {error}", flush=True)
    script = f"""
import json, liboidcagent
found = [liboidcagent.get_token_response("work", 60, "checks", "User.Read"), liboidcagent.get_token_response_by_issuer_url({local['issuer']!r})]
try:
    liboidcagent.get_access_token("other")
except liboidcagent.OidcAgentError as error:
    found.append(str(error))
print(json.dumps(found))
"""
    done = subprocess.run([python, "-c", script], env={**world.environment, "OIDC_SOCK": listener.path}, capture_output=True, text=True,
                          timeout=LIMIT, stdin=subprocess.DEVNULL)
    token = world.run("token").out.strip()
    found = json.loads(done.stdout) if done.returncode == 0 else [None] * 3
    checks.check("liboidcagent for Python gets the token by account", found[0] and found[0][:2] == [token, local["issuer"]] and found[0][2] > 0, done)
    checks.check("liboidcagent for Python gets the token by issuer", found[1] and found[1] == found[0], done)
    checks.check("liboidcagent for Python gets no token for another account", "account not loaded" in str(found[2]), done)


def with_agent(checks, world, listener):
    """The agent serves the connection in a worker."""
    world.environment["XDG_RUNTIME_DIR"] = world.make("runtime")
    agent = Agent(world)
    done = listener.oidc_token("work")
    checks.check("oidc-token gets the token from a worker of the agent", done.returncode == 0
                 and done.stdout.strip() == world.run("token", "--no-agent").out.strip() and agent.workers, done)
    checks.ends("the agent stops", world.run("agent", "stop"), 0)


def packets(checks, world):
    """A socket that keeps the limits of writes: a response must be one of them."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours:
        with theirs:
            running = subprocess.Popen([world.program, "credential", "oidc-agent"], stdin=theirs, stdout=theirs, stderr=subprocess.PIPE,
                                       env=world.environment, cwd=world.folder)
        ours.settimeout(LIMIT)
        try:
            token = world.run("token").out.strip()
            for piece in (b'{"request":"access_', b'token","account":"work"}', b'{"request":"lock"}', b"garbage!"):
                ours.send(piece)
            responses = [json.loads(ours.recv(1 << 20)) for _ in range(3)]
            checks.check("each response is one write, for requests in parts too", responses[0].get("access_token") == token
                         and [one["status"] for one in responses] == ["success", "failure", "failure"], responses)
            checks.check("the connection ends after a malformed request", ours.recv(1 << 20) == b"" and running.wait(LIMIT) == 0, responses)
        finally:
            running.kill()
            running.communicate()
