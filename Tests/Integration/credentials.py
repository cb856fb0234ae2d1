"""Other programs that get a token from `lodge credential`: docker, kubernetes and google-auth for Python, and pip, set up as `lodge help credentials` prints."""

import base64
import http.server
import json
import os
import subprocess
import threading

from provider import Provider, sign_in
from world import LIMIT

PACKAGE = "lodge-sample"


class PackageIndex(http.server.ThreadingHTTPServer):
    """A package index that requires a password, with one package."""
    daemon_threads = True

    def __init__(self, world):
        super().__init__(("127.0.0.1", 0), PackageRequest)
        self.passwords, self.authority = [], f"127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()
        world.closers.append(self.close)

    def close(self):
        self.shutdown()
        self.server_close()


class PackageRequest(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        scheme, _, value = (self.headers["Authorization"] or "").partition(" ")
        password = base64.b64decode(value).decode().partition(":")[2] if scheme == "Basic" else ""
        if password:
            self.server.passwords.append(password)
        # The page lists no file, so pip ends here.
        body = b"<!doctype html><title>Links</title>" if password else b""
        self.send_response(200 if password else 401)
        if not password:
            self.send_header("WWW-Authenticate", 'Basic realm="packages"')
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *words):
        pass


def scripts(world):
    """Writes the scripts that the page prints, and returns a PATH with them and with lodge."""
    folder = world.make("bin")
    page = world.run("help", "credentials").out.splitlines()
    for name, line in (("docker-credential-lodge", "credential docker"), ("keyring", "credential keyring")):
        command = next(text.strip() for text in page if text.strip().startswith(f"exec lodge {line}"))
        path = os.path.join(folder, name)
        with open(path, "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\n{command}\n")
        os.chmod(path, 0o755)
    os.symlink(world.program, os.path.join(folder, "lodge"))
    return folder + ":" + world.environment["PATH"]


def run(checks, world):
    python = world.python("clients")
    provider, index = Provider(world), PackageIndex(world)
    settings = provider.settings
    settings["types"]["local"]["resourceHosts"] = ["registry.example", "cluster.example:6443", "iam.googleapis.com", index.authority]
    world.use_settings(settings)
    path = scripts(world)
    unsigned = printed(world, python, path)
    checks.check("docker shows the sign-in if there is no account", "lodge sign-in local" in unsigned.stderr, unsigned.stderr)
    sign_in(world)
    token, identity = world.run("token").out.strip(), world.run("token", "--id-token").out.strip()
    done = printed(world, python, path)
    found = json.loads(done.stdout) if done.returncode == 0 else {}
    checks.check("docker gets the token of a registry",
                 found.get("registry") == {"ServerURL": "https://registry.example", "Username": "oauth2", "Secret": token}, done)
    checks.check("docker gets no token for another registry", found.get("other registry") == "not found", done)
    checks.check("docker lists no registries", found.get("registries") == {}, done)
    cluster = found.get("cluster")
    checks.check("kubernetes gets the ID token of a cluster", isinstance(cluster, dict) and cluster["token"] == identity, done)
    checks.check("kubernetes gets no token for another cluster",
                 "no account type has the host of" in str(found.get("other cluster")) and token not in str(found.get("other cluster")), done)
    checks.check("google-auth gets the ID token", found.get("Google") == identity, done)
    checks.check("google-auth shows the error for another audience", "resourceHosts" in str(found.get("other Google")), done)
    pip(checks, world, python, path, index, token)


def printed(world, python, path):
    return subprocess.run(
        [python, os.path.join(world.here, "peers", "clients", "credential_clients.py"), "https://registry.example",
         "https://cluster.example:6443"], env={**world.environment, "PATH": path, "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES": "1"},
        capture_output=True, text=True, timeout=LIMIT)


def pip(checks, world, python, path, index, token):
    for user in ("oauth2@", ""):
        index.passwords.clear()
        subprocess.run(
            [python, "-m", "pip", "--isolated", "download", "--no-cache-dir", "--keyring-provider", "subprocess", "--dest", world.make("wheels" + user),
             "--index-url", f"http://{user}{index.authority}/simple/", PACKAGE],
            env={**world.environment, "PATH": path, "PIP_NO_INPUT": "1"}, capture_output=True, text=True, timeout=LIMIT)
        checks.check(f"pip sends the token as the password to http://{user}HOST/simple/", set(index.passwords) == {token}, index.passwords)
