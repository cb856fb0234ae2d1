"""`doctor` with real problems: it reports each with its remedy, as a table and as JSON."""

import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import threading

import failing_provider
from provider import Provider, sign_in
from token_endpoint import TokenEndpoint
from world import eventually, free_port

TYPE = {"clientId": "cli", "redirectUri": "http://127.0.0.1/callback", "scopes": ["openid"]}


def run(checks, world):
    provider = Provider(world)
    world.use_settings(provider.settings)
    checks.ends("sign-in", sign_in(world), 0)

    def finds(sentence, check, status, found, remedy, *words, **environment):
        told = world.run("doctor", *words, "--output", "json", **environment)
        problems = [one for one in told.json or [] if one["check"] == check and one["state"] != "ok"]
        mended = [one for one in problems if found in one["found"] and remedy in one.get("remedy", "")]
        checks.check(f"{sentence}: doctor reports it with the remedy", told.status == status and mended,
                     f"{found} / {remedy}\n{told}")
        table = world.run("doctor", *words, **environment)
        checks.check(f"{sentence}: the table has the same remedy", table.status == status and remedy in table.out, table)

    well = world.run("doctor")
    checks.check("doctor finds no problem", well.status == 0 and "No problems found." in well.err, well)
    finds("truncated settings", "settings", 8, "ends inside an object", "correct the file", "--settings",
          world.write("cut.json", '{"types": {"one": {'))
    finds("a missing settings file", "settings", 8, "none.json", "", "--settings", world.path("none.json"))
    finds("an unreachable issuer", "network", 7, "No server accepted", "check the network", "--settings",
          world.write("gone.json", {"types": {"gone": {**TYPE, "issuer": f"http://127.0.0.1:{free_port()}"}}}))

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        finds("a port in use", "redirect", 8, f"port {port}", f":{port}", "--settings", world.write(
            "taken.json", {"types": {"local": {**provider.settings["types"]["local"],
                                               "redirectUri": f"http://127.0.0.1:{port}/callback"}}}))
    nobody = free_port()
    elsewhere = world.write("elsewhere.json", {"types": {"far": {**TYPE, "issuer": "https://id.invalid"}}})
    finds("an unreachable proxy", "proxy", 7, f"127.0.0.1:{nobody}", "unset https_proxy", "--settings", elsewhere,
          https_proxy=f"http://ada:s3cret@127.0.0.1:{nobody}")
    told = world.run("doctor", "--settings", elsewhere, https_proxy=f"http://ada:s3cret@127.0.0.1:{nobody}")
    checks.check("the password of the proxy is not printed", "s3cret" not in told.out + told.err, told)
    os.chmod(world.store, 0o755)
    finds("a store that other users can read", "store", 9, "", "chmod 700", "--offline")
    os.chmod(world.store, 0o700)
    finds("an unavailable keyring", "key", 9, "secret-service", "key-file", "--offline",
          LODGE_KEY_CUSTODY="secret-service")
    salvage(checks, world)
    hard_link(checks, world, finds)
    locks(checks, world)
    if not shutil.which("openssl"):
        return print("skipped: certificates, because openssl is not installed", flush=True)
    certificates(checks, world, finds)


def certificates(checks, world, finds):
    """A company proxy that intercepts TLS. doctor names its certificate authority."""
    def openssl(*words):
        subprocess.run(["openssl", *words], check=True, capture_output=True, timeout=30, cwd=world.folder)
    new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    openssl("req", "-x509", *new, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/O=Contoso/CN=Contoso Zscaler Root")
    openssl("req", "-new", *new[:-2], "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=127.0.0.1")
    world.write("server.ext", "subjectAltName=IP:127.0.0.1")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
            "-extfile", "server.ext", "-out", "server.pem")
    listener = socket.create_server(("127.0.0.1", 0))
    world.closers.append(listener.close)
    issuer = f"https://127.0.0.1:{listener.getsockname()[1]}"
    requests = []
    serving = threading.Thread(target=serve, args=(world, listener, issuer, requests), daemon=True)
    serving.start()
    settings = world.write("private.json", {"types": {"private": {**TYPE, "issuer": issuer}}})
    finds("a certificate of an unknown authority", "network", 7, "Contoso Zscaler Root", "--ca-file", "--settings", settings)
    checks.check("an untrusted server gets no request", requests == [], requests)
    told = world.run("doctor", "--settings", settings, "--output", "json", "--ca-file", world.path("ca.pem"))
    network = next((one for one in told.json or [] if one["check"] == "network"), {})
    checks.check("an authority that the user trusts is a warning with its name",
                 network.get("state") == "warning" and "Contoso Zscaler Root" in network.get("found", "")
                 and network.get("remedy"), told)
    checks.check("the trusted server gets requests", requests != [])


def serve(world, listener, issuer, requests):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(world.path("server.pem"), world.path("server.key"))
    metadata = {"issuer": issuer, "authorization_endpoint": issuer + "/a", "token_endpoint": issuer + "/t",
                "jwks_uri": issuer + "/k", "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"], "id_token_signing_alg_values_supported": ["RS256"]}
    while True:
        try:
            plain, _ = listener.accept()
        except OSError:
            return
        try:
            plain.settimeout(10)
            with context.wrap_socket(plain, server_side=True) as connection:
                head = b""
                while b"\r\n\r\n" not in head:
                    piece = connection.recv(4096)
                    if not piece:
                        break
                    head += piece
                if not head:
                    continue
                requests.append(head.split(b"\r\n")[0])
                body = json.dumps({"keys": []} if b" /k " in head else metadata).encode()
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"
                                   + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        except OSError:
            continue


def hard_link(checks, world, finds):
    """A second name of the database, in a folder with other locks and another journal."""
    other = os.path.join(world.make("linked"), "accounts.sqlite")
    os.link(os.path.join(world.store, "accounts.sqlite"), other)
    finds("a hard link to the database", "store", 0, "hard link", "remove the other one", "--offline")
    os.remove(other)
    checks.check("without the link doctor finds no problem", "No problems found." in world.run("doctor", "--offline").err)


def has_stopped(process):
    """Returns whether every thread of a process has stopped. A signal does not wait for that."""
    try:
        states = []
        for thread in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{thread}/stat", encoding="utf-8") as file:
                states.append(file.read().rsplit(")", 1)[1].split()[0])
        return all(state == "T" for state in states)
    except OSError:
        return True


def locks(checks, world):
    """doctor names a process that holds a lock, stopped or running, but not a killed process."""
    endpoint = TokenEndpoint(world)
    world.use_settings(endpoint.settings)
    world.environment["LODGE_STORE"] = world.path("locks")
    failing_provider.sign_in(checks, world, endpoint, left=3600)

    def refresh():
        before = len(endpoint.requests)
        running = endpoint.hold(world, "token", "--refresh")
        checks.check("locks: a process refreshes", len(endpoint.requests) == before + 1, running.err)
        return running

    def found():
        told = world.run("doctor", "--offline", "--output", "json")
        return next((one for one in told.json or [] if one["check"] == "locks"), {}), told

    holder = refresh()
    lock, told = found()
    name = f"process {holder.process.pid} (lodge)"
    checks.check("locks: doctor names the process, the account, the duration and the remedy",
                 told.status == 0 and lock.get("state") == "warning" and lock["found"].startswith(name)
                 and "has held the lock of account" in lock["found"] and lock["found"].endswith(" s")
                 and f"kill {holder.process.pid}" in lock["remedy"], told)
    holder.signal(signal.SIGSTOP)
    eventually(lambda: has_stopped(holder.process.pid))
    # The process gets its response when it continues.
    endpoint.finish()
    lock, told = found()
    name = f"process {holder.process.pid} (lodge, stopped)"
    checks.check("locks: doctor reports the stopped process",
                 lock.get("found", "").startswith(name) and f"kill -CONT {holder.process.pid}" in lock["remedy"], told)
    for limit in ("0.5", "2"):
        checks.ends(f"locks: the error of --timeout {limit} names the process", world.run("token", "--refresh", "--timeout", limit), 7,
                    "the time of --timeout is over", name, f"kill -CONT {holder.process.pid}")
    # With a new lock file, no process sends a request while the first request is in progress.
    sent = len(endpoint.requests)
    os.remove(os.path.join(world.environment["LODGE_STORE"], "accounts.lock"))
    if os.path.exists("/proc/locks"):
        checks.ends("locks: if the lock file is removed during a refresh, no second request is sent", world.run("token", "--refresh"), 9,
                    "in another lock file")
        checks.check("locks: the provider gets one request", len(endpoint.requests) == sent)
    holder.signal(signal.SIGCONT)
    checks.ends("locks: the process continues and saves", holder.finish(), 0)
    lock, told = found()
    checks.check("locks: afterwards no lock is held", lock.get("state") == "ok", told)
    checks.ends("locks: the next process refreshes", world.run("token", "--refresh"), 0)
    holder = refresh()
    holder.signal(signal.SIGKILL)
    holder.process.wait()
    # The killed process gets no response.
    lock, told = found()
    checks.check("locks: a killed process holds no lock", lock.get("state") == "ok", told)
    checks.ends("locks: the account remains after the kill", world.run("accounts"), 0)
    endpoint.finish()
    world.environment["LODGE_STORE"] = world.store


def salvage(checks, world):
    """A damaged page in the middle of the file: doctor finds it, salvage copies the accounts, and the copy replaces the store."""
    original = world.path("whole")
    shutil.copytree(world.store, original)
    place = os.path.join(world.store, "accounts.sqlite")
    for page in range(os.path.getsize(place) // 4096 - 1, 0, -1):
        shutil.rmtree(world.store)
        shutil.copytree(original, world.store)
        with open(place, "r+b") as file:
            file.seek(page * 4096)
            file.write(b"\xee" * 16)
        copied = world.run("accounts", "salvage", "--replace", "--output", "json")
        if copied.status == 0 and copied.json and copied.json.get("opening") == 1:
            break
    checks.check("a damaged store: salvage --replace copies the account and replaces the database",
                 copied.json and copied.json["file"] == place and os.path.exists(copied.json["damaged"]), copied)
    checks.ends("a damaged store: after salvage the account works", world.run("token", "--refresh"), 0)
    checks.check("a damaged store: after salvage doctor finds no problem", world.run("doctor").status == 0)
