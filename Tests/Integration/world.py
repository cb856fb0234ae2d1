"""A home of its own for each topic, the program in it, and everything that was started, stopped at the end."""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

# Longer than anything here takes on a slow machine; a command that reaches it has failed.
LIMIT = 90


class Unavailable(Exception):
    """Software from outside that this machine cannot fetch."""


class Outcome:
    """How a command ended."""

    def __init__(self, words, status, out, err):
        self.words, self.status, self.out, self.err = words, status, out, err

    @property
    def json(self):
        try:
            return json.loads(self.out)
        except ValueError:
            return None

    def __str__(self):
        return (f"lodge {' '.join(map(str, self.words))}\nended with {self.status}\n"
                f"standard output: {self.out[:2000]!r}\nstandard error: {self.err[:2000]!r}")


class Running:
    """A command that is still running. Its outputs go to files, so that it never waits for a reader."""

    def __init__(self, words, environment, folder, directory):
        self.words = words
        self.paths = [tempfile.mkstemp(dir=folder)[1] for _ in range(2)]
        with open(self.paths[0], "wb") as out, open(self.paths[1], "wb") as err:
            self.process = subprocess.Popen(
                words, env=environment, cwd=directory, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                start_new_session=True)

    def text(self, which):
        with open(self.paths[which], encoding="utf-8", errors="replace") as file:
            return file.read()

    out = property(lambda self: self.text(0))
    err = property(lambda self: self.text(1))

    def wait_for(self, find, limit=20):
        """Waits until `find(self)` gives something, and gives it."""
        end = time.monotonic() + limit
        while time.monotonic() < end:
            found = find(self)
            if found:
                return found
            if self.process.poll() is not None:
                return find(self)
            time.sleep(0.02)
        return None

    def finish(self, limit=LIMIT):
        try:
            status = self.process.wait(limit)
        except subprocess.TimeoutExpired:
            self.stop()
            status = "no end in time"
        return Outcome(self.words[1:], status, self.out, self.err)

    def signal(self, number):
        if self.process.poll() is None:
            self.process.send_signal(number)

    def stop(self):
        self.signal(signal.SIGTERM)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class World:
    """A temporary home. On the way out what was started in it is stopped by its number, and the home removed."""

    def __init__(self, program, peers):
        self.program, self.peers = os.path.abspath(program), peers
        self.folder = tempfile.mkdtemp(prefix="lodge-integration-")
        os.chmod(self.folder, 0o700)
        self.closers = []
        self.here = os.path.dirname(os.path.abspath(__file__))
        # Nothing of the surroundings but where programs are: no proxy, no display, nobody's settings.
        self.environment = dict(
            PATH=os.environ["PATH"], HOME=self.make("home"), TMPDIR=self.make("tmp"), LC_ALL="C.UTF-8", TERM="dumb",
            PYTHONDONTWRITEBYTECODE="1", BROWSER=os.path.join(self.here, "person.py"))
        self.environment["LODGE_STORE"] = self.store = self.path("store")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for close in reversed(self.closers):
            try:
                close()
            except Exception as error:
                print(f"        cannot be stopped: {error}", flush=True)
        self.end_the_rest()
        shutil.rmtree(self.folder, ignore_errors=True)

    def end_the_rest(self):
        """Ends what the programs of this home have started and left: a browser that was cut short. Only a process that has
        this home's own path in its environment is one of them."""
        mark = self.folder.encode()
        for number in (signal.SIGTERM, signal.SIGKILL):
            left = []
            for name in filter(str.isdigit, os.listdir("/proc") if os.path.isdir("/proc") else []):
                try:
                    with open(f"/proc/{name}/environ", "rb") as file:
                        if mark in file.read() and int(name) != os.getpid():
                            os.kill(int(name), number)
                            left.append(name)
                except OSError:
                    continue
            if not left:
                return
            time.sleep(0.5)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def make(self, name):
        os.makedirs(self.path(name), mode=0o700, exist_ok=True)
        return self.path(name)

    def write(self, name, content):
        """Writes a file: text as it is, anything else as JSON."""
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content, ensure_ascii=False))
        return self.path(name)

    def use_settings(self, content, name="settings.json"):
        """Makes this the settings of the commands that name none."""
        self.environment["LODGE_SETTINGS"] = self.write(name, content)

    def python(self, peer):
        """The path of a Python that has the packages which `peers/PEER/requirements.txt` names. They are installed once."""
        root = os.path.dirname(os.path.dirname(self.here))
        done = subprocess.run(
            [os.path.join(root, ".ci", "python-environment"), os.path.join(root, ".build", f"python-{peer}"),
             os.path.join(self.here, "peers", peer, "requirements.txt")], capture_output=True, text=True)
        if done.returncode != 0:
            raise Unavailable(f"the Python packages of {peer} could not be installed: {done.stderr[-500:]}")
        return done.stdout.strip()

    def run(self, *words, input=None, limit=LIMIT, **environment):
        """Runs the program to its end."""
        words = [str(word) for word in words]
        try:
            done = subprocess.run(
                [self.program, *words], env={**self.environment, **environment}, cwd=self.folder,
                input=(input or "").encode(), capture_output=True, timeout=limit)
        except subprocess.TimeoutExpired as error:
            return Outcome(words, "no end in time", str(error.stdout), str(error.stderr))
        return Outcome(words, done.returncode, done.stdout.decode("utf-8", "replace"),
                       done.stderr.decode("utf-8", "replace"))

    def start(self, *words, **environment):
        """Starts the program."""
        running = Running(
            [self.program, *map(str, words)], {**self.environment, **environment}, self.make("outputs"), self.folder)
        self.closers.append(running.stop)
        return running


def free_port(ports=(0,)):
    """A port on loopback that nobody uses, of these."""
    for port in ports:
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return probe.getsockname()[1]
    raise OSError(f"none of the ports {list(ports)} is free")


def address_shown(running):
    """The address that a `sign-in` shows to the person, once it is there."""
    def find(running):
        text = running.err.replace("\\n", "\n")
        lines = [line.strip() for line in text.split("\n")[:-1]]
        return next((line for line in lines if line.startswith(("http://", "https://"))), None)
    return running.wait_for(find)
