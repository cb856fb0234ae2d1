"""PostgreSQL storage on a real server: the checks of every storage, broken connections, killed workers, a killed server, and a
fail-over to a standby."""

import glob
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from world import free_port, send_signal

LIMIT = 1500
# The result of the test build, which runs before all topics, because a compiler would delay checks that measure time.
built = None


def programs():
    """Returns the folder of the server's programs, which Debian does not add to PATH."""
    initdb = shutil.which("initdb")
    folders = [os.path.dirname(path) for path in glob.glob("/usr/lib/postgresql/*/bin/initdb")]
    return max(folders, key=lambda path: int(path.split("/")[4]), default=initdb and os.path.dirname(initdb))


class Server:
    """A server on a free loopback port, with a password and a temporary folder."""

    def __init__(self, world):
        self.folder = tempfile.mkdtemp(prefix="lodge-postgresql-")
        self.environment = world.environment
        world.closers.append(self.stop)
        # The server does not run as root.
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
        self.port = port = free_port()
        # fsync only matters if the machine crashes.
        self.start = start = start_words(self.data, port)
        self.call("pg_ctl", *start)
        # One word per line.
        self.crash = "\n".join([sys.executable, os.path.abspath(__file__), self.data, *self.prefix,
                                os.path.join(programs(), "pg_ctl"), *start])
        self.url = f"postgresql://worker@127.0.0.1:{port}/postgres"

    def call(self, name, *words):
        command = self.prefix + [os.path.join(programs(), name), *words]
        with open(os.path.join(self.folder, "output"), "a+", encoding="utf-8") as output:
            status = subprocess.run(command, env=self.environment, cwd="/", stdin=subprocess.DEVNULL, stdout=output,
                                    stderr=output, timeout=180, check=False).returncode
            if status != 0:
                output.seek(0)
                raise RuntimeError(f"{name} ended with {status}: {output.read()}")

    def stop(self):
        try:
            for running in glob.glob(os.path.join(self.folder, "*", "postmaster.pid")):
                self.call("pg_ctl", "-D", os.path.dirname(running), "-w", "-m", "immediate", "stop")
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)


def start_words(data, port):
    """Returns the arguments with which pg_ctl starts a server."""
    return ["-D", data, "-w", "-l", data + "-log", "-o",
            f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off", "start"]


class Switch:
    """A port that forwards to the primary server. A file contains the server's port."""

    def __init__(self, world, file):
        self.file = file
        self.listener = socket.create_server(("127.0.0.1", 0))
        world.closers.append(self.listener.close)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                with open(self.file, encoding="ascii") as file:
                    server = socket.create_connection(("127.0.0.1", int(file.read())), 5)
                server.settimeout(None)
            except (OSError, ValueError):
                client.close()
                continue
            for source, target in ((client, server), (server, client)):
                threading.Thread(target=self.copy, args=(source, target), daemon=True).start()

    @staticmethod
    def copy(source, target):
        try:
            while data := source.recv(65536):
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Standbys:
    """A primary server and its synchronous standby, which replaces the primary after a kill."""

    def __init__(self, state):
        self.file = state
        with open(state, encoding="utf-8") as file:
            self.state = json.load(file)

    @classmethod
    def make(cls, world, server):
        state = world.write("standbys.json", {
            "prefix": server.prefix, "folder": server.folder, "primary": [server.data, server.port], "number": 0,
            "port_file": world.write("primary-port", str(server.port))})
        made = cls(state)
        made.add()
        return made

    def call(self, name, *words):
        with open(os.path.join(self.state["folder"], "password"), encoding="utf-8") as file:
            password = file.read()
        return subprocess.run([*self.state["prefix"], os.path.join(programs(), name), *words], cwd="/", check=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              timeout=180, env=dict(os.environ, PGPASSWORD=password)).stdout

    def ask(self, sql):
        return self.call("psql", "-X", "-A", "-t", "-h", "127.0.0.1", "-p", str(self.state["primary"][1]), "-U", "worker",
                         "-d", "postgres", "-c", sql).strip()

    def wait(self, sql, found):
        deadline = time.monotonic() + 120
        while self.ask(sql) != found:
            if time.monotonic() > deadline:
                raise TimeoutError(sql)
            time.sleep(0.1)

    def add(self):
        """Adds a standby, which the primary then requires for each commit."""
        self.state["number"] += 1
        data, port = os.path.join(self.state["folder"], f"standby-{self.state['number']}"), free_port()
        self.call("pg_basebackup", "-h", "127.0.0.1", "-p", str(self.state["primary"][1]), "-U", "worker", "-D", data, "-R",
                  "-X", "stream", "--checkpoint=fast")
        subprocess.run([*self.state["prefix"], os.path.join(programs(), "pg_ctl"), *start_words(data, port)], cwd="/",
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=180, check=True)
        self.ask("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.ask("SELECT pg_reload_conf()")
        self.wait("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync' AND state = 'streaming'", "1")
        self.state["standby"] = [data, port]
        with open(self.file, "w", encoding="utf-8") as file:
            json.dump(self.state, file)

    def fail_over(self):
        """Kills the primary server, promotes its standby, forwards the port to it, and adds the next standby."""
        kill(self.state["primary"][0])
        os.remove(os.path.join(self.state["primary"][0], "postmaster.pid"))
        self.state["primary"] = self.state["standby"]
        self.call("pg_ctl", "-D", self.state["primary"][0], "-w", "promote")
        with open(self.state["port_file"], "w", encoding="ascii") as file:
            file.write(str(self.state["primary"][1]))
        self.add()


PACKAGE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
# The same options as in `make test`, so that its build is reused.
OPTIONS = ["--package-path", PACKAGE, "-Xswiftc", "-warnings-as-errors"]


def swift(environment, *words):
    return subprocess.run(["swift", *words], env=environment, cwd=PACKAGE, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=LIMIT, text=True, check=False)


def prepare(arguments):
    global built
    if "postgresql" not in arguments.missing.split():
        print("-- postgresql: building the tests", flush=True)
        built = swift(os.environ, "build", *OPTIONS, "--build-tests")


def run(checks, world):
    world.require("postgresql")
    server = Server(world)
    environment = dict(os.environ, PGPASSFILE=server.pass_file, LODGE_TEST_POSTGRESQL=server.url)

    def passes(sentence, done):
        lines = [line for line in done.stdout.splitlines() if "error:" in line or "✘" in line] or done.stdout.splitlines()
        return checks.check(sentence, done.returncode == 0, "\n".join(lines[-40:])) and done.stdout

    def test(sentence, words, **more):
        return passes(sentence, swift(dict(environment, **more), *words))

    if not passes("the tests build", built):
        return
    tests = ["test", *OPTIONS, "--skip-build", "--disable-xctest", "--filter"]
    done = test("the tests pass with a real server", [*tests, "FleetStorageTests"])
    if done:
        checks.check("the tests use the server", '"PostgreSQL passes the checks of all storages" with' in done, done[-2000:])
    soak(checks, world, server, os.path.join(os.path.dirname(world.program), "store-process"), environment)
    test("workers survive a killed server", [*tests, "ServerCrashTests"], LODGE_TEST_POSTGRESQL_CRASH=server.crash)
    standbys = Standbys.make(world, server)
    switch = Switch(world, standbys.state["port_file"])
    test("workers survive a fail-over to a standby", [*tests, "ServerCrashTests"],
         LODGE_TEST_POSTGRESQL=server.url.replace(f":{server.port}/", f":{switch.port}/"),
         LODGE_TEST_POSTGRESQL_CRASH="\n".join([sys.executable, os.path.abspath(__file__), "fail-over", standbys.file]))


def soak(checks, world, server, program, environment):
    """Kills a process that uses the library and a store on the server 120 times, at any instruction."""
    place = f"{server.url}#soak#{os.path.join(world.make('soak'), 'store')}"
    done = subprocess.run([program, "soak", place, "120", "2026"], env=environment, capture_output=True, text=True,
                          timeout=900, check=False)
    print(done.stdout.strip(), flush=True)
    checks.check("killed 120 times at any instruction: every acknowledged change is saved", done.returncode == 0,
                 done.stdout + done.stderr)


def kill(data):
    """Kills the server of this folder if it is running."""
    with open(os.path.join(data, "postmaster.pid"), encoding="utf-8") as file:
        send_signal(int(file.readline()), signal.SIGKILL)


def crash(data, *start):
    """Kills the server of this folder, as if the machine had failed, and starts it again with this command.

    This is a separate program, because a server that the tests start would inherit the descriptor whose end tells Swift's
    Process that its child has ended, and would keep it open. subprocess closes such descriptors.
    """
    kill(data)
    # A new server does not start before the sessions of the old one have noticed the crash and ended.
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if subprocess.run(start, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          timeout=180, check=False).returncode == 0:
            return 0
        time.sleep(0.2)
    return 1


if __name__ == "__main__":
    if sys.argv[1] == "fail-over":
        Standbys(sys.argv[2]).fail_over()
    else:
        sys.exit(crash(*sys.argv[1:]))
