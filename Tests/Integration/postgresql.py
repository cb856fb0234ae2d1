"""The PostgreSQL storage on a real server: the checks of every storage, broken connections, killed workers, a killed server."""

import glob
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

LIMIT = 1500


def programs():
    """The folder of the server's programs; Debian keeps them out of the path."""
    initdb = shutil.which("initdb")
    folders = [os.path.dirname(path) for path in glob.glob("/usr/lib/postgresql/*/bin/initdb")]
    return max(folders, key=lambda path: int(path.split("/")[4]), default=initdb and os.path.dirname(initdb))


class Server:
    """A server on a free port of loopback, with a password, in a folder that goes away."""

    def __init__(self, world):
        self.folder = tempfile.mkdtemp(prefix="lodge-postgresql-")
        self.environment = world.environment
        world.closers.append(self.stop)
        # It refuses to run as root.
        self.prefix = []
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
            self.prefix = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        password = secrets.token_hex(16)
        words = os.path.join(self.folder, "password")
        with open(words, "w", encoding="utf-8") as file:
            file.write(password)
        if self.prefix:
            shutil.chown(words, "postgres")
        self.pass_file = world.path("pgpass")
        with open(self.pass_file, "w", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(f"127.0.0.1:*:*:worker:{password}\n")
        self.data = os.path.join(self.folder, "data")
        self.call("initdb", "-D", self.data, "-U", "worker", f"--pwfile={words}", "--auth=scram-sha-256", "-E", "UTF8",
                  "--locale=C", "-N")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        # Only the machine's own crash would need what fsync gives.
        start = ["-D", self.data, "-w", "-l", os.path.join(self.folder, "log"), "-o",
                 f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off", "start"]
        self.call("pg_ctl", *start)
        # One word a line.
        self.crash = "\n".join([sys.executable, os.path.abspath(__file__), self.data, *self.prefix,
                                os.path.join(programs(), "pg_ctl"), *start])
        self.url = f"postgresql://worker@127.0.0.1:{port}/postgres"

    def call(self, name, *words):
        command = self.prefix + [os.path.join(programs(), name), *words]
        with open(os.path.join(self.folder, "output"), "a+", encoding="utf-8") as output:
            status = subprocess.run(command, env=self.environment, cwd="/", stdin=subprocess.DEVNULL, stdout=output,
                                    stderr=output, timeout=60, check=False).returncode
            if status != 0:
                output.seek(0)
                raise RuntimeError(f"{name} ended with {status}: {output.read()}")

    def stop(self):
        try:
            if os.path.exists(os.path.join(self.data, "postmaster.pid")):
                self.call("pg_ctl", "-D", self.data, "-w", "-m", "immediate", "stop")
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)


def run(checks, world):
    if not programs():
        print("skipped: PostgreSQL, which is not installed", flush=True)
        return
    server = Server(world)
    package = os.path.abspath(os.path.join(world.here, "..", ".."))
    environment = dict(os.environ, PGPASSFILE=server.pass_file, LODGE_TEST_POSTGRESQL=server.url)
    # The same options as in `make test`, so that its build is used.
    options = ["--package-path", package, "-Xswiftc", "-warnings-as-errors"]

    def test(sentence, words, **more):
        done = subprocess.run(["swift", *words], env=dict(environment, **more), cwd=package, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT, text=True, check=False)
        lines = [line for line in done.stdout.splitlines() if "error:" in line or "✘" in line] or done.stdout.splitlines()
        return checks.check(sentence, done.returncode == 0, "\n".join(lines[-40:])) and done.stdout

    if not test("the tests are built", ["build", *options, "--build-tests"]):
        return
    tests = ["test", *options, "--skip-build", "--disable-xctest", "--filter"]
    done = test("the tests pass on a real server", [*tests, "FleetStorageTests"])
    if done:
        checks.check("the tests found the server", '"PostgreSQL does what every storage does" with' in done, done[-2000:])
    soak(checks, world, server, os.path.join(os.path.dirname(world.program), "store-process"), environment)
    test("workers outlive a killed server", [*tests, "ServerCrashTests"], LODGE_TEST_POSTGRESQL_CRASH=server.crash)


def soak(checks, world, server, program, environment):
    """A process of the library that works with a store on the server is killed a hundred times, at any instruction."""
    place = f"{server.url}#soak#{os.path.join(world.make('soak'), 'store')}"
    done = subprocess.run([program, "soak", place, "100", "2026"], env=environment, capture_output=True, text=True,
                          timeout=300, check=False)
    print(done.stdout.strip(), flush=True)
    checks.check("killed 100 times at any instruction: every acknowledged change is stored", done.returncode == 0,
                 done.stdout + done.stderr)


def crash(data, *start):
    """Kills the server of this folder as a failing machine does, and starts it again with this command.

    A separate program, because the tests must not start the server: it would inherit the descriptor by whose end Swift's
    Process learns that its child ended, and keep it open. subprocess closes what it does not pass on.
    """
    with open(os.path.join(data, "postmaster.pid"), encoding="utf-8") as file:
        os.kill(int(file.readline()), signal.SIGKILL)
    # A new server does not start before the sessions of the old one have noticed the crash and ended.
    deadline = time.monotonic() + 40
    while time.monotonic() < deadline:
        if subprocess.run(start, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          timeout=60, check=False).returncode == 0:
            return 0
        time.sleep(0.2)
    return 1


if __name__ == "__main__":
    sys.exit(crash(*sys.argv[1:]))
