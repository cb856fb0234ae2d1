"""Large and interrupted transfers with nginx: TLS with a private CA, HTTP/2, ranges, compression, pinned keys, and a proxy."""

import hashlib
import os
import re
import shutil
import signal
import socket
import subprocess

from world import eventually, free_port, send_signal, stop

SIZE = 1 << 30
# The maximum memory of one transfer of any size, in KiB.
MEMORY = 40 * 1024
# Debian adds servers only to the PATH of root.
NGINX = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")


class Nginx:
    """nginx on free loopback ports, with and without TLS, and with TLS on the machine's own address if there is one."""

    def __init__(self, world):
        self.world = world
        for name in ("files", "temporary"):
            world.make(name)
        os.symlink("files", world.path("slow"))
        self.plain, self.tls = free_port(), free_port()
        self.address = own_address()
        self.make_certificates()
        self.configuration = world.write("nginx.conf", self.words())
        self.process = None
        self.start()
        world.closers.append(self.stop)

    def words(self):
        folder = self.world.folder
        listen = "".join(f"listen {host}:{self.tls} ssl http2; " for host in ["127.0.0.1", self.address] if host)
        temporary = "".join(f"{name}_temp_path {folder}/temporary/{name}; "
                            for name in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"])
        return f"""
            daemon off; pid {folder}/nginx.pid; worker_processes 1; {"user root;" if os.geteuid() == 0 else ""}
            events {{ worker_connections 256; }}
            http {{
                access_log {folder}/access.log; client_max_body_size 0; sendfile on; {temporary}
                gzip on; gzip_types text/plain; types {{ text/plain txt; }} default_type application/octet-stream;
                server {{
                    listen 127.0.0.1:{self.plain}; {listen}
                    ssl_certificate {folder}/server.pem; ssl_certificate_key {folder}/server.key;
                    root {folder};
                    location /files/ {{ dav_methods PUT; }}
                    location /slow/ {{ limit_rate_after 16m; if (!-f {folder}/fast) {{ set $limit_rate 256k; }} }}
                    location /moved/ {{ return 307 /files/target; }}
                    location = /small {{ return 200 "small"; }}
                }}
            }}"""

    def make_certificates(self):
        def openssl(*words):
            subprocess.run(["openssl", *words], cwd=self.world.folder, check=True, capture_output=True, timeout=30)
        new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        names = ",".join(["IP:127.0.0.1", "DNS:localhost"] + ([f"IP:{self.address}"] if self.address else []))
        openssl("req", "-x509", *new, "-days", "2", "-subj", "/CN=Test CA", "-keyout", "ca.key", "-out", "ca.pem")
        self.world.write("server.ext", f"subjectAltName={names}\n")
        openssl("req", "-new", *new, "-subj", "/CN=server", "-keyout", "server.key", "-out", "server.csr")
        openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
                "-extfile", "server.ext", "-out", "server.pem")
        key = subprocess.run("openssl x509 -in server.pem -noout -pubkey | openssl pkey -pubin -outform der"
                             " | openssl dgst -sha256 -binary | base64", shell=True, cwd=self.world.folder, check=True,
                             capture_output=True, timeout=30)
        self.pin = key.stdout.decode().strip()

    def start(self):
        with open(self.world.path("nginx.log"), "ab") as log:
            self.process = subprocess.Popen(
                [NGINX, "-p", self.world.folder, "-c", self.configuration, "-e", self.world.path("error.log")],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.world.environment)
        wait_for(lambda: accepts(self.plain), "nginx does not start")

    def stop(self):
        stop(self.process)

    def crash(self):
        """Kills nginx in the middle of its work."""
        children = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True, check=False)
        self.process.kill()
        # The child process may have ended with its parent.
        for child in children.stdout.split():
            send_signal(int(child), signal.SIGKILL)
        self.process.wait()
        wait_for(lambda: not accepts(self.plain), "nginx does not end")


def own_address():
    """Returns the machine's non-loopback address, or None. Sends no packet."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            address = probe.getsockname()[0]
        except OSError:
            return None
    return None if address.startswith("127.") else address


def accepts(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def wait_for(condition, complaint):
    if not eventually(condition):
        raise RuntimeError(complaint)


def make_file(path, size, seed):
    """Creates a file in which every MiB is different."""
    block = hashlib.shake_128(seed.encode()).digest(1 << 20)
    with open(path, "wb") as file:
        for number in range(size >> 20):
            file.write(number.to_bytes(8, "big") + block[8:])


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() if hasattr(hashlib, "file_digest") else whole(file)


def whole(file):
    result = hashlib.sha256()
    while block := file.read(1 << 20):
        result.update(block)
    return result.hexdigest()


class Transfers:
    """Runs the program that makes one transfer, and reads its report."""

    def __init__(self, world):
        self.world = world
        self.program = os.path.join(os.path.dirname(world.program), "store-process")

    def start(self, *words, **environment):
        return subprocess.Popen([self.program, "transfer", *words], env={**self.world.environment, **environment},
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run(self, *words, **environment):
        return self.result(self.start(*words, **environment))

    def result(self, process):
        out = process.communicate(timeout=600)[0]
        return Result(out)


class Result:
    def __init__(self, out):
        self.out = out

    def __getattr__(self, name):
        found = re.search(rf"\b{name}=(\S+)", self.out)
        return int(found[1]) if found and found[1].isdigit() else found and found[1]

    def __str__(self):
        return self.out


def run(checks, world):
    world.require("nginx")
    world.require("openssl")
    nginx = Nginx(world)
    transfers = Transfers(world)
    ca = f"ca={world.path('ca.pem')}"
    tls, plain = f"https://127.0.0.1:{nginx.tls}", f"http://127.0.0.1:{nginx.plain}"
    source, target, place = world.path("files", "source"), world.path("files", "target"), world.path("received")
    make_file(source, SIZE, "one")
    right = digest(source)

    def received():
        return os.path.exists(place) and digest(place) == right

    for name, base in (("TLS", tls), ("plain http", plain)):
        down = transfers.run("GET", f"{base}/files/source", ca, f"to={place}")
        checks.check(f"1 GiB is downloaded over {name} to a file with less than 40 MB of memory",
                     down.status == 200 and down.size == SIZE and received() and 0 < down.memory < MEMORY, down)
        up = transfers.run("PUT", f"{base}/files/target", ca, f"file={source}")
        checks.check(f"1 GiB is uploaded over {name} from a file with less than 40 MB of memory",
                     up.status in (201, 204) and up.sent == SIZE and digest(target) == right and 0 < up.memory < MEMORY, up)
        os.remove(target)
    read = transfers.run("GET", f"{tls}/files/source", ca)
    checks.check("1 GiB is read in chunks with less than 40 MB of memory",
                 read.size == SIZE and 0 < read.memory < MEMORY, read)
    again = transfers.run("PUT", f"{tls}/moved/x", ca, f"file={source}", "whole=")
    with open(world.path("access.log"), encoding="utf-8") as file:
        asked = [line for line in file if '"PUT /moved/x HTTP/2.0" 307' in line or '"PUT /files/target HTTP/2.0" 20' in line]
    checks.check("a redirected upload of 1 GiB over HTTP/2 uses less than 40 MB of memory",
                 again.status in (201, 204) and digest(target) == right and len(asked) == 2 and 0 < again.memory < MEMORY,
                 f"{again}\n{asked}")
    for name, base in (("TLS", tls), ("plain http", plain)):
        held = transfers.run("GET", f"{base}/files/source", ca, "hold=8")
        checks.check(f"eight unread streams over {name} do not delay other requests and use less than 40 MB of memory",
                     held.held == 8 and held.size == SIZE and 0 < held.memory < MEMORY, held)

    with open(world.path("files", "text.txt"), "w", encoding="utf-8") as file:
        file.write("the same words again and again\n" * 100_000)
    text = transfers.run("GET", f"{tls}/files/text.txt", ca)
    checks.check("compressed text is decompressed, and its progress counts the received bytes",
                 text.size == 3_100_000 and 0 < text.received < 200_000, text)
    missing = transfers.run("GET", f"{tls}/files/none", ca, f"to={world.path('none')}")
    checks.check("an error response creates no file",
                 missing.status == 404 and not os.path.exists(world.path("none")), missing)

    trust(checks, transfers, nginx, tls, ca)
    breaks(checks, world, transfers, nginx, ca)
    proxy(checks, world, transfers, nginx, ca)


def trust(checks, transfers, nginx, tls, ca):
    right, wrong = f"pin=sha256//{nginx.pin}", "pin=sha256//" + "A" * 43 + "="
    checks.check("without its CA the server is not trusted", transfers.run("GET", f"{tls}/small").error == "tls")
    checks.check("with the pinned key the server is trusted", transfers.run("GET", f"{tls}/small", ca, right).status == 200)
    other = transfers.run("GET", f"{tls}/small", ca, wrong)
    checks.check("with another pinned key the server is not trusted, and the error names the pin", other.error == "tls" and "pinned" in other.out, other)


def breaks(checks, world, transfers, nginx, ca):
    place, part = world.path("received"), world.path(".received.part")
    # After 16 MiB the server sends 256 KiB a second, until a file named fast exists.
    words = ["GET", f"https://127.0.0.1:{nginx.tls}/slow/source", ca, f"to={place}"]
    os.remove(place)

    def grown(size):
        return os.path.exists(part) and os.path.getsize(part) > size

    small = world.path("files", "source")
    os.truncate(small, 64 << 20)
    right = digest(small)

    killed = transfers.start(*words)
    wait_for(lambda: grown(8 << 20), "the download does not grow")
    killed.kill()
    killed.communicate()
    checks.check("a killed download does not create the target file", not os.path.exists(place) and grown(0))
    size = os.path.getsize(part)

    lost = transfers.start(*words)
    wait_for(lambda: grown(size + (8 << 20)), "the download is not continued")
    nginx.crash()
    lost = transfers.result(lost)
    checks.check("a server crash is a lost connection", lost.error == "connectionLost", lost)
    nginx.start()
    fast = world.write("fast", "")
    done = transfers.run(*words)
    checks.check("the third attempt downloads the rest, and the file is complete",
                 done.status == 206 and done.resumed > size and done.size == 64 << 20 and digest(place) == right
                 and not os.path.exists(part), done)

    os.remove(fast)
    half = transfers.start(*words)
    wait_for(lambda: grown(8 << 20), "the download does not grow")
    half.kill()
    half.communicate()
    make_file(small, 32 << 20, "two")
    world.write("fast", "")
    anew = transfers.run(*words)
    checks.check("a changed file is downloaded from the start",
                 anew.status == 200 and anew.resumed == 0 and digest(place) == digest(small), anew)


def proxy(checks, world, transfers, nginx, ca):
    if not nginx.address or "tinyproxy-bin" in world.missing:
        print("        skipped: a proxy, because tinyproxy is not installed or the machine has only loopback, which lodge never proxies",
              flush=True)
        return
    port = free_port()
    log = world.path("tinyproxy.log")
    configuration = world.write("tinyproxy.conf", f"Port {port}\nListen 127.0.0.1\nTimeout 60\nLogFile \"{log}\"\n"
                                                  "LogLevel Connect\nMaxClients 20\nAllow 127.0.0.1\n")
    tinyproxy = subprocess.Popen(["tinyproxy", "-d", "-c", configuration], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=world.environment)
    world.closers.append(lambda: stop(tinyproxy))
    wait_for(lambda: accepts(port), "tinyproxy does not start")
    url = f"https://{nginx.address}:{nginx.tls}/files/source"
    place = world.path("through")
    through = transfers.run("GET", url, ca, f"to={place}", https_proxy=f"http://127.0.0.1:{port}")
    with open(log, encoding="utf-8", errors="replace") as file:
        seen = file.read()
    checks.check("a download uses a tunnel through the proxy",
                 through.status == 200 and digest(place) == digest(world.path("files", "source"))
                 and f"CONNECT {nginx.address}:{nginx.tls}" in seen, f"{through}\n{seen}")
    put = transfers.run("PUT", f"https://{nginx.address}:{nginx.tls}/files/target", ca, f"file={place}",
                        https_proxy=f"http://127.0.0.1:{port}")
    checks.check("an upload uses the proxy too", put.status in (201, 204) and digest(world.path("files", "target")) == digest(place), put)
