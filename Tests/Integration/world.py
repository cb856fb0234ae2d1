"""A home of its own for each topic, the program in it, and everything that was started, stopped at the end."""

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time

# Longer than anything here takes on a slow machine; a command that reaches it has failed.
LIMIT = 90
# The time limit of a sign-in that is to end because of something else: a sign-in that waits for its own end reaches LIMIT first.
PATIENT = ("--timeout", "600")
# Longer than the installation of any packages takes.
INSTALLATION_LIMIT = 1800


class Unavailable(Exception):
    """Software from outside that this machine cannot fetch."""


def eventually(find, limit=LIMIT):
    """Waits until `find()` gives something, and gives what it gave last. It looks at least twice, however long each look takes."""
    end = time.monotonic() + limit
    while not (found := find()):
        if time.monotonic() > end:
            return find()
        time.sleep(0.05)
    return found


def send_signal(process, number):
    """Sends a signal to the process of this number. Returns whether there was one: a process that was not found has the number None
    or 0, and signals to 0 reach the process group of the checks."""
    if not process or process < 2:
        return False
    try:
        os.kill(process, number)
    except ProcessLookupError:
        return False
    return True


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

    def wait_for(self, find, limit=LIMIT):
        """Waits until `find(self)` gives something, and gives it. The end of the command ends the wait:
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
    """Ends a child process, and waits until it has ended."""
    process.terminate()
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class World:
    """A temporary home. On the way out what was started in it is stopped by its number, and the home removed."""

    def __init__(self, program, peers, parent, missing=()):
        """`parent` is the folder for its own folder; `missing` has the Debian packages that this machine cannot install."""
        self.program, self.peers, self.missing = os.path.abspath(program), peers, missing
        self.folder = tempfile.mkdtemp(dir=parent, prefix="")
        self.closers = []
        # Called before the closers: a program that waits for a response would end only after 30 s.
        self.releases = []
        self.here = os.path.dirname(os.path.abspath(__file__))
        # Nothing of the surroundings but where programs are: no proxy, no display, nobody's settings.
        self.environment = dict(
            PATH=os.environ["PATH"], HOME=self.make("home"), TMPDIR=self.make("tmp"), LC_ALL="C.UTF-8", TERM="dumb",
            PYTHONDONTWRITEBYTECODE="1", BROWSER=os.path.join(self.here, "person.py"))
        self.environment["LODGE_STORE"] = self.store = self.path("store")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # A signal during this would end it half-way: it has its effect afterwards.
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
            raise Unavailable(f"this machine cannot fetch the Python packages of {peer}: {err.strip()[-500:]}")
        if script.returncode != 0:
            raise RuntimeError(f"the installation of the Python packages of {peer} ended with {script.returncode}: {err[-3000:]}")
        return out.strip()

    def require(self, package):
        """Ends the topic as skipped if this machine cannot install a Debian package."""
        if package in self.missing:
            raise Unavailable(f"this machine cannot install the package {package}")

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


# What ends the checks from outside.
ENDINGS = (signal.SIGINT, signal.SIGTERM)


def remove_home(folder):
    """Ends what the programs of this home have started and left, such as a browser that was cut short, and removes the home. Only a
    process that has the path in its environment is one of them."""
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
    """Ports of one lane that the kernel gives no program that asks for any port (ip(7)): one that was chosen stays free until it is used,
    and between two uses. At random, because another run of the checks may have the same lanes."""
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
        # If the kernel gives out nearly all ports, no range is better than another.
        begin = max(end - cls.size * (cls.lane + 1), 10_000 + cls.size * cls.lane)
        return range(begin, begin + cls.size)


def free_port():
    """A free port on loopback, which no other caller in these checks gets. It has five digits."""
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
    """The address that a `sign-in` shows to the person, once it is there."""
    def find(running):
        text = running.err.replace("\\n", "\n")
        lines = [line.strip() for line in text.split("\n")[:-1]]
        return next((line for line in lines if line.startswith(("http://", "https://"))), None)
    return running.wait_for(find)
