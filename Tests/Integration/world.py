"""A separate home folder for each topic. Starts programs in it and stops them at the end."""

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time

# Longer than any command takes on a slow machine. A command that reaches this limit has failed.
LIMIT = 90
# The time limit of a sign-in that ends for another reason. A sign-in that waits for this limit reaches LIMIT first.
PATIENT = ("--timeout", "600")
# Longer than the installation of any packages takes.
INSTALLATION_LIMIT = 1800


class Unavailable(Exception):
    """External software that this machine cannot fetch."""


def eventually(find, limit=LIMIT):
    """Waits until `find()` returns a true value, and returns its last value. Calls it at least twice, however long each call takes."""
    end = time.monotonic() + limit
    while not (found := find()):
        if time.monotonic() > end:
            return find()
        time.sleep(0.05)
    return found


def send_signal(process, number):
    """Sends a signal to the process with this ID. Returns whether there was one. A process that was not found has the ID None
    or 0, and a signal to 0 would reach the process group of the checks."""
    if not process or process < 2:
        return False
    try:
        os.kill(process, number)
    except ProcessLookupError:
        return False
    return True


class Outcome:
    """The status and the output of a command."""

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
    """A running command. Its output goes to files, so that it never waits for a reader."""

    def __init__(self, words, environment, folder, directory):
        self.words = words
        files = [tempfile.NamedTemporaryFile(dir=folder, delete=False) for _ in range(2)]
        self.paths = [file.name for file in files]
        with files[0] as out, files[1] as err:
            self.process = subprocess.Popen(
                words, env=environment, cwd=directory, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                start_new_session=True)

    def text(self, which):
        with open(self.paths[which], encoding="utf-8", errors="replace") as file:
            return file.read()

    out = property(lambda self: self.text(0))
    err = property(lambda self: self.text(1))

    def wait_for(self, find, limit=LIMIT):
        """Waits until `find(self)` returns a true value, and returns it. The end of the command ends the wait:
        `eventually` waits longer."""
        end = time.monotonic() + limit
        while not (found := find(self)):
            if self.process.poll() is not None or time.monotonic() > end:
                return find(self)
            time.sleep(0.02)
        return found

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
        stop(self.process)


def stop(process):
    """Stops a child process and waits until it has ended."""
    process.terminate()
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class World:
    """A temporary home folder. At exit, stops the programs that were started in it and removes the folder."""

    def __init__(self, program, peers, parent, missing=()):
        """`parent` is the folder of all home folders. `missing` has the Debian packages that cannot be installed on this machine."""
        self.program, self.peers, self.missing = os.path.abspath(program), peers, missing
        self.folder = tempfile.mkdtemp(dir=parent, prefix="")
        self.closers = []
        # Called before the closers: a program that waits for a response would end only after 30 s.
        self.releases = []
        self.here = os.path.dirname(os.path.abspath(__file__))
        # Only PATH is inherited: no proxy, no display, no settings of the user.
        self.environment = dict(
            PATH=os.environ["PATH"], HOME=self.make("home"), TMPDIR=self.make("tmp"), LC_ALL="C.UTF-8", TERM="dumb",
            PYTHONDONTWRITEBYTECODE="1", BROWSER=os.path.join(self.here, "person.py"))
        self.environment["LODGE_STORE"] = self.store = self.path("store")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # A signal during the cleanup would interrupt it, so raise it afterwards.
        late = []
        before = {number: signal.signal(number, lambda number, _: late.append(number)) for number in ENDINGS}
        for close in self.releases + self.closers[::-1]:
            try:
                close()
            except Exception as error:
                print(f"        cannot be stopped: {error}", flush=True)
        remove_home(self.folder)
        for number, handler in before.items():
            signal.signal(number, handler)
        if late:
            signal.raise_signal(late[0])

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def make(self, name):
        os.makedirs(self.path(name), mode=0o700, exist_ok=True)
        return self.path(name)

    def write(self, name, content):
        """Writes a file: a string unchanged, any other value as JSON."""
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content, ensure_ascii=False))
        return self.path(name)

    def use_settings(self, content, name="settings.json"):
        """Makes this the settings file of commands without --settings."""
        self.environment["LODGE_SETTINGS"] = self.write(name, content)

    def python(self, peer):
        """Returns the path of a Python with the packages of `peers/PEER/requirements.txt`, which are installed once."""
        root = os.path.dirname(os.path.dirname(self.here))
        # A separate process group, so that a stalled pip ends with the script.
        script = subprocess.Popen(
            [os.path.join(root, ".ci", "python-environment"), os.path.join(root, ".build", f"python-{peer}"),
             os.path.join(self.here, "peers", peer, "requirements.txt")],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        try:
            out, err = script.communicate(timeout=INSTALLATION_LIMIT)
        except BaseException:
            os.killpg(script.pid, signal.SIGKILL)
            script.wait()
            raise
        if script.returncode == 3:
            raise Unavailable(f"cannot fetch the Python packages of {peer}: {err.strip()[-500:]}")
        if script.returncode != 0:
            raise RuntimeError(f"the installation of the Python packages of {peer} ended with {script.returncode}: {err[-3000:]}")
        return out.strip()

    def require(self, package):
        """Skips the topic if this machine cannot install a Debian package."""
        if package in self.missing:
            raise Unavailable(f"cannot install the package {package}")

    def run(self, *words, input=None, limit=LIMIT, **environment):
        """Runs the program and waits for its end."""
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


# The signals that end the checks.
ENDINGS = (signal.SIGINT, signal.SIGTERM)


def remove_home(folder):
    """Ends processes that the programs of this home folder have left, such as an interrupted browser, and removes the folder. Only a
    process with the path in its environment is ended."""
    mark = folder.encode()
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGKILL):
        left = []
        for name in filter(str.isdigit, os.listdir("/proc") if os.path.isdir("/proc") else []):
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    if mark in file.read() and int(name) != os.getpid() and send_signal(int(name), number):
                        left.append(name)
            except OSError:
                continue
        if not left:
            break
        time.sleep(0.5)
    shutil.rmtree(folder, ignore_errors=True)


class Ports:
    """The ports of one lane, outside of the range from which the kernel selects ports (ip(7)). A selected port remains free until it is used
    and between two uses. The order is random, because another run of the checks may use the same lanes."""
    size = 4000
    lane = 0
    given = set()

    @classmethod
    def range(cls):
        try:
            with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
                end = min(int(file.read().split()[0]), 32768)
        except OSError:
            end = 32768
        # If the kernel uses nearly all ports, every range is equally good.
        begin = max(end - cls.size * (cls.lane + 1), 10_000 + cls.size * cls.lane)
        return range(begin, begin + cls.size)


def free_port():
    """Returns a free port on loopback that no other caller in these checks gets. It has five digits."""
    left = [port for port in Ports.range() if port not in Ports.given]
    for port in random.sample(left, len(left)):
        Ports.given.add(port)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise OSError("no port is free")


def address_shown(running):
    """Returns the URL that a `sign-in` prints, once it is there."""
    def find(running):
        text = running.err.replace("\\n", "\n")
        lines = [line.strip() for line in text.split("\n")[:-1]]
        return next((line for line in lines if line.startswith(("http://", "https://"))), None)
    return running.wait_for(find)
