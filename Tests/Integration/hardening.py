"""Other users of the machine: writable settings, readable secrets, redirects of other users, memory, the executable file."""

import http.server
import json
import os
import shutil
import ssl
import struct
import subprocess
import sys
import threading

import web
from agent import LAUNCHER
from provider import Provider, sign_in
from world import LIMIT, PATIENT, address_shown

# An unprivileged user that exists on every system.
OTHER = 65534


def run(checks, world):
    for program in (world.program, LAUNCHER):
        if os.path.exists(program):
            elf(checks, program)
    provider = Provider(world)
    world.use_settings(provider.settings)
    checks.ends("sign-in", sign_in(world), 0)
    changed_settings(checks, world, provider)
    readable_secrets(checks, world, provider)
    origins(checks, world, provider)
    part_files(checks, world, provider)
    limits(checks, world)
    pins(checks, world)
    memory(checks, world)
    if os.geteuid() == 0:
        foreign_redirects(checks, world)
        homes(checks, world)


def segments(path):
    """Returns the program headers of a 64-bit ELF file: type, flags, offset, address and size in memory."""
    with open(path, "rb") as file:
        content = file.read()
    offset, = struct.unpack_from("<Q", content, 32)
    size, count = struct.unpack_from("<HH", content, 54)
    found = []
    for start in range(offset, offset + size * count, size):
        kind, flags, at, address, _, _, memory = struct.unpack_from("<IIQQQQQ", content, start)
        found.append((kind, flags, at, address, memory))
    return content, found


def sections(content):
    """Returns the sections by name: flags, address and size. A stripped file has them too."""
    table, = struct.unpack_from("<Q", content, 40)
    size, count, names = struct.unpack_from("<HHH", content, 58)
    rows = [struct.unpack_from("<IIQQQQ", content, table + size * number) for number in range(count)]
    strings = rows[names][4]
    return {content[strings + row[0]:content.index(b"\0", strings + row[0])].decode(): (row[2], row[3], row[5])
            for row in rows}


def elf(checks, program):
    content, found = segments(program)
    if content[:5] != b"\x7fELF\x02":
        return
    by_kind = {kind: (flags, at, address, memory) for kind, flags, at, address, memory in found}
    checks.check("the executable is position-independent", struct.unpack_from("<H", content, 16)[0] == 3)
    checks.check("no segment is both writable and executable", all(flags & 3 != 3 for kind, flags, *_ in found if kind == 1))
    checks.check("the stack is not executable", by_kind[0x6474E551][0] & 1 == 0)
    _, at, _, memory = by_kind[2]
    dynamic = dict(struct.unpack_from("<QQ", content, at + 16 * number) for number in range(memory // 16))
    checks.check("all functions are bound at start (BIND_NOW)",
                 dynamic.get(30, 0) & 8 or dynamic.get(0x6FFFFFFB, 0) & 1, dynamic)
    _, _, begin, length = by_kind[0x6474E552]
    known = sections(content)
    for name in (".got", ".dynamic", ".data.rel.ro", ".rodata", ".got.plt"):
        if name in known:
            flags, address, size = known[name]
            is_safe = not flags & 1 or begin <= address and address + size <= begin + length
            # With BIND_NOW only the first entries of .got.plt may remain writable.
            checks.check(f"{name} is read-only after the start",
                         is_safe or name == ".got.plt" and size <= 24, (known[name], begin, length))


def changed_settings(checks, world, provider):
    path = world.write("mine.json", provider.settings)

    def ends(sentence, status, *words, file=path):
        checks.ends(sentence, world.run("status", "--settings", file), status, *words)

    os.chmod(path, 0o664)
    ends("settings that the user's own group can write are accepted", 0)
    os.chmod(path, 0o666)
    ends("settings that all users can write are rejected with the command", 8, f"chmod o-w {path}")
    os.chmod(path, 0o600)
    open_folder = world.make("open")
    inside = os.path.join(open_folder, "settings.json")
    shutil.copy(path, inside)
    os.chmod(open_folder, 0o777)
    ends("settings in a folder that all users can write are rejected", 8, f"chmod o-w {open_folder}", file=inside)
    os.symlink(path, os.path.join(open_folder, "link"))
    ends("a link in such a folder is rejected", 8, f"chmod o-w {open_folder}", file=os.path.join(open_folder, "link"))
    os.symlink(inside, world.path("link"))
    ends("a link to such a folder is rejected", 8, f"chmod o-w {open_folder}", file=world.path("link"))
    os.chmod(open_folder, 0o1777)
    ends("the sticky bit protects the file", 0, file=inside)
    pipe = subprocess.run(
        [world.program, "status", "--settings", "/dev/stdin"], env=world.environment, capture_output=True, timeout=60,
        input=open(path, "rb").read())
    checks.check("settings are read from a pipe", pipe.returncode == 0, pipe)
    if os.geteuid() == 0:
        os.chown(path, 0, OTHER)
        os.chmod(path, 0o664)
        ends("settings that another group can write are rejected with the command", 8, f"chmod g-w {path}")
        os.chmod(path, 0o644)
        ends("settings that another group can read are accepted", 0)
        os.chown(path, OTHER, OTHER)
        ends("settings of another user are rejected", 8, "belongs to the user")
        os.chown(path, 0, 0)
        if shutil.which("setfacl"):
            os.chmod(path, 0o644)
            if subprocess.run(["setfacl", "-m", f"u:{OTHER}:rw", path], capture_output=True).returncode == 0:
                ends("settings that another user can write by an access control list are rejected", 8, f"setfacl -b {path}")
    os.remove(path)


def readable_secrets(checks, world, provider):
    types = {name: dict(members) for name, members in provider.settings["types"].items()}
    world.write("secret.txt", "a-secret-of-the-client\n")
    os.chmod(world.path("secret.txt"), 0o644)
    for members in types.values():
        members["clientSecret"] = {"file": world.path("secret.txt")}
    path = world.write("with-secret.json", {**provider.settings, "types": types})
    closed = world.run("status", "--settings", path)
    checks.check("a secret in a folder that other users cannot enter causes no warning", "not secret" not in closed.err, closed)
    os.chmod(world.folder, 0o711)
    try:
        opened = world.run("status", "--settings", path)
        checks.check("a secret that other users can read causes a warning with the command",
                     opened.status == 0 and f"chmod o-r {world.path('secret.txt')}" in opened.err
                     and "a-secret-of-the-client" not in opened.err, opened)
        doctor = world.run("doctor", "--offline", "--settings", path, "--output", "json")
        checks.check("doctor warns about the secret", any(row["state"] == "warning" and "not secret" in row["found"]
                                          for row in doctor.json or []), doctor)
        os.chmod(world.path("secret.txt"), 0o600)
        mended = world.run("status", "--settings", path)
        checks.check("after the command there is no warning", "not secret" not in mended.err, mended)
    finally:
        os.chmod(world.folder, 0o700)


def origins(checks, world, provider):
    """The settings have a different origin for the token endpoint."""
    for port in (provider.port + 1, 1):
        types = {name: {**members, "tokenEndpoint": f"http://127.0.0.1:{port}/token"}
                 for name, members in provider.settings["types"].items()}
        path = world.write("moved.json", {**provider.settings, "types": types})
        refused = world.run("token", "--refresh", "--settings", path)
        checks.ends("a refresh token is not sent to another port, and the hint has both remedies", refused, 8,
                    "restore the settings", "lodge sign-in", f"127.0.0.1:{provider.port}")
    checks.ends("with the original settings the token is refreshed", world.run("token", "--refresh"), 0)


def part_files(checks, world, provider):
    victim = world.write("victim.txt", "precious")
    folder = world.make("downloads")
    os.link(victim, os.path.join(folder, ".file.part"))
    done = world.run("request", "GET", f"{provider.issuer}/.well-known/openid-configuration", "--no-account",
                     "--output", os.path.join(folder, "file"))
    checks.check("a part file with a second hard link is not overwritten",
                 done.status == 1 and "hard links" in done.err and open(victim).read() == "precious", done)
    os.remove(os.path.join(folder, ".file.part"))


def limits(checks, world):
    script = "ulimit -c; ulimit -Hc; tr '\\0' '\\n' </proc/$$/environ | grep -c OAUTH2_ACCESS_TOKEN="
    outside = subprocess.run(["sh", "-c", "ulimit -c; ulimit -Hc"], capture_output=True, text=True).stdout
    inside = world.run("exec", "--", "sh", "-c", script)
    checks.check("exec: the program has the limits that lodge inherited, and can be traced",
                 inside.out == outside + "1\n", (inside, outside))


class Metadata(http.server.BaseHTTPRequestHandler):
    """The metadata and keys of a provider."""

    def log_message(self, *_):
        pass

    def do_GET(self):
        origin = "https://" + self.headers["Host"]
        content = json.dumps({
            "issuer": origin, "authorization_endpoint": origin + "/authorize", "token_endpoint": origin + "/token",
            "jwks_uri": origin + "/keys", "response_types_supported": ["code"], "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"], "code_challenge_methods_supported": ["S256"],
            "keys": []}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def pins(checks, world):
    """The server's certificate is trusted, but its key is not the pinned key."""
    if not shutil.which("openssl"):
        return print("skipped: pinned keys, because openssl is not installed", flush=True)
    ca, key = world.path("pins.pem"), world.path("pins.key")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=pins", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", ca],
        check=True, capture_output=True, timeout=30)
    pin = subprocess.run(
        f"openssl x509 -in {ca} -noout -pubkey | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64",
        shell=True, check=True, capture_output=True, timeout=30, text=True).stdout.strip()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Metadata)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(ca, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    world.closers.append(server.shutdown)

    def settings(pin):
        return world.write("pins.json", {"types": {"pinned": {
            "issuer": f"https://127.0.0.1:{server.server_address[1]}", "clientId": "c", "scopes": ["openid"],
            "redirectUri": "http://127.0.0.1/callback", "caFile": ca, "pinnedKeys": ["sha256//" + pin]}}})

    for words in (("providers", "check", "pinned"), ("doctor",), ("sign-in", "--no-browser", *PATIENT)):
        done = world.run(*words, "--settings", settings("A" * 43 + "="), LODGE_STORE=world.path("pins-store"))
        told = done.out + done.err
        checks.check(f"{' '.join(words)}: the error names the pinned key",
                     done.status == 7 and "pinned" in told and "another host" not in told and "pinnedKeys" in told, done)
    right = world.run("doctor", "--settings", settings(pin), "--output", "json", LODGE_STORE=world.path("pins-store"))
    checks.check("doctor: with the right pinned key the network check is ok",
                 any(row["check"] == "network" and row["state"] == "ok" for row in right.json or []), right)


def as_user(user):
    """Returns the words that run a command as this user. Empty for the user of this process."""
    return [] if os.geteuid() == user else ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]


def memory(checks, world):
    """Another process of the same user cannot read the memory or the environment."""
    user = OTHER if os.geteuid() == 0 else os.geteuid()
    if not os.path.isdir("/proc/self") or user == OTHER and not shutil.which("setpriv"):
        return
    waiting = world.start("sign-in", "--no-browser", *PATIENT)
    address_shown(waiting)
    if user == OTHER:
        # The system protects processes of root anyway, so the check needs a process of an ordinary user.
        waiting.stop()
        home = world.make("other")
        os.chown(home, OTHER, OTHER)
        os.chmod(world.folder, 0o711)
        program = os.path.join(home, "lodge")
        shutil.copy(world.program, program)
        environment = {**world.environment, "HOME": home, "LODGE_STORE": os.path.join(home, "store")}
        settings = os.path.join(home, "settings.json")
        shutil.copy(world.environment["LODGE_SETTINGS"], settings)
        os.chown(settings, OTHER, OTHER)
        environment["LODGE_SETTINGS"] = settings
        process = subprocess.Popen(as_user(OTHER) + [program, "sign-in", "--no-browser", *PATIENT],
                                   env=environment, cwd=home, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        world.closers.append(process.kill)
        line = process.stderr.readline()
        while line and "http://" not in line:
            line = process.stderr.readline()
        shown = line.strip()
    else:
        process, shown = waiting.process, None
    probe = ("import ctypes, os, sys\n"
             "pid = int(sys.argv[1])\n"
             "def can(path):\n"
             "    try:\n"
             "        open(path, 'rb').read(1)\n"
             "        return True\n"
             "    except OSError:\n"
             "        return False\n"
             "libc = ctypes.CDLL(None, use_errno=True)\n"
             "seized = libc.ptrace(0x4206, pid, None, None) == 0\n"
             "print(can(f'/proc/{pid}/environ'), can(f'/proc/{pid}/mem'), seized)\n")
    words = as_user(user) + [sys.executable, "-c", probe, str(process.pid)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT)
    checks.check("the same user can neither read its environment and memory nor trace it",
                 done.stdout.split() == ["False"] * 3, done)
    if shown:
        web.send(web.decide(shown, "approve"))
        checks.check("the process still creates its files and signs in", process.wait(LIMIT) == 0, process.stderr.read())
        os.chmod(world.folder, 0o700)
    else:
        waiting.stop()


def foreign_redirects(checks, world):
    """Another user sends a redirect with the state of the sign-in."""
    if not shutil.which("setpriv") or not shutil.which("curl"):
        return print("skipped: redirects of other users, because setpriv or curl is not installed", flush=True)
    waiting = world.start("sign-in", "--no-browser", *PATIENT)
    redirect = web.decide(address_shown(waiting), "approve")
    foreign = subprocess.run(as_user(OTHER) + ["curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", redirect],
                             capture_output=True, text=True, timeout=30)
    checks.check("a redirect of another user gets no response",
                 foreign.stdout == "000" and waiting.process.poll() is None, foreign)
    web.send(redirect)
    checks.ends("the user's own browser completes the sign-in", waiting.finish(), 0, "Signed in")


def homes(checks, world):
    home = world.make("home-of-another")
    os.chown(home, OTHER, OTHER)
    words = {"HOME": home, "LODGE_STORE": ""}
    refused = world.run("status", **words)
    checks.ends("root with the home folder of another user is rejected", refused, 9, "HOME", "--store")
    checks.check("root leaves no file there", os.listdir(home) == [], os.listdir(home))
    checks.ends("XDG_DATA_HOME selects another folder", world.run("accounts", **words, XDG_DATA_HOME=world.make("data")), 3)
    checks.ends("--store selects another folder", world.run("accounts", "--store", world.path("store"), **words), 0)
