"""The key of the accounts in a real keyring: unlocked, locked, absent, hanging and killed half-way. Nothing is ever lost."""

import os
import random
import shlex
import signal
import socket
import subprocess
import time

from provider import Provider, sign_in
from world import LIMIT, Outcome, Running, send_signal

SILENT = "did not respond"


class Keyring:
    """gnome-keyring on a session bus of its own, without a desktop. `state` is unlocked, locked or none."""

    def __init__(self, world, state="unlocked"):
        self.world = world
        script = os.path.join(world.peers, "keyring", "run-with-keyring.sh")
        words = {"unlocked": [], "locked": ["-w"], "none": ["-n"]}[state]
        # The bus lives as long as this shell, which tells how to reach it and then waits for its input to end.
        tell = 'printf "%s %s\\n" "$DBUS_SESSION_BUS_ADDRESS" "${KEYRING_PID:-0}"; read -r _'
        self.process = subprocess.Popen(
            ["bash", script, "-d", world.path("keyring"), *words, "--", "bash", "-c", tell], env=world.environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=world.folder,
            # The end of the shell that started the checks sends SIGHUP to a process group with a stopped process.
            start_new_session=True)
        self.is_open = True
        world.closers.append(self.close)
        line = self.process.stdout.readline().decode().split()
        if len(line) != 2:
            raise OSError(f"the keyring did not start: {self.process.communicate()[1].decode()}")
        address, number = line
        # 0 without a keyring.
        self.number = int(number)
        self.is_stopped = False
        self.environment = dict(DBUS_SESSION_BUS_ADDRESS=address)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.is_open:
            self.is_open = False
            # A stopped keyring would not end, and the shell waits for it.
            if self.is_stopped:
                self.signal(signal.SIGCONT)
            try:
                self.process.communicate(timeout=LIMIT)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.communicate()

    def signal(self, number):
        """Sends a signal to the keyring. Returns whether it was there."""
        self.is_stopped = number == signal.SIGSTOP
        return send_signal(self.number, number)

    def monitor(self):
        """Starts to print the calls that programs send to the keyring."""
        running = Running(["dbus-monitor", "--session", "type='method_call',destination='org.freedesktop.secrets'"],
                          {**self.world.environment, **self.environment}, self.world.make("outputs"), self.world.folder)
        self.world.closers.append(running.stop)
        running.wait_for(lambda one: "NameAcquired" in one.out)
        return running

    def run(self, *words, **environment):
        return self.world.run(*words, **{**self.environment, **environment})

    def items(self):
        """How many keys of stores the keyring has."""
        done = subprocess.run(
            ["secret-tool", "search", "--all", "application", "oauth2-account-store"], capture_output=True,
            env={**self.world.environment, **self.environment}, timeout=LIMIT)
        return done.stdout.count(b"attribute.store") + done.stderr.count(b"attribute.store")


def run(checks, world):
    provider = Provider(world, "--token-lifetime", "3600")
    world.use_settings(provider.settings)
    key_file = os.path.join(world.store, "accounts.key")
    checks.ends("a sign-in with the key in a file", sign_in(world), 0, "Signed in")

    with Keyring(world) as keyring:
        checks.ends("the key moves into the keyring", keyring.run("config", "set", "key-custody", "secret-service"), 0,
                    "Secret Service")
        checks.check("the file is gone, and the keyring has one key",
                     not os.path.exists(key_file) and keyring.items() == 1, os.listdir(world.store))
        checks.ends("the accounts open with it", keyring.run("token"), 0)
        status = keyring.run("status")
        checks.check("status says where it is", "Secret Service" in status.out, status)
        custody = keyring.run("config", "get", "key-custody")
        checks.check("config get says it, too", custody.out == "secret-service\n", custody)
        checks.ends("another place than the one in use is refused", keyring.run(
            "status", LODGE_KEY_CUSTODY="key-file"), 9, "Secret Service", "config set key-custody key-file")
        checks.ends("a word that is no place", keyring.run("config", "set", "key-custody", "secretservice"), 2,
                    "did you mean secret-service")
        first_starts(checks, world, keyring)
        killed(checks, world, keyring, key_file)
        checks.ends("the key is in the keyring again", keyring.run("config", "set", "key-custody", "secret-service"), 0)
        hanging(checks, keyring)

    with Keyring(world, "locked") as keyring:
        checks.ends("a locked keyring", keyring.run("token"), 9, "locked", "hint:", "unlock")
        told = keyring.run("doctor", "--offline", "--output", "json")
        found = next((one for one in told.json or [] if one["check"] == "key"), {})
        checks.check("doctor says that the keyring is locked, and what mends it", told.status == 9
                     and "locked" in found.get("found", "") and "unlock" in found.get("remedy", ""), told)
        checks.ends("a locked keyring that nobody can be asked to unlock", keyring.run(
            "token", DISPLAY=":99", LODGE_TIMEOUT="20"), 9, "keyring", "hint:")
        checks.ends("a locked keyring: the key does not move", keyring.run("config", "set", "key-custody", "key-file"), 9,
                    "locked")
        new = dict(LODGE_STORE=world.path("new"), LODGE_KEY_CUSTODY="secret-service")
        checks.ends("a locked keyring takes no new key", keyring.run("accounts", "import", answer(world), **new), 9, "locked")
        checks.check("nothing was made instead", not os.path.exists(world.path("new", "accounts.key")))
    with Keyring(world, "none") as keyring:
        checks.ends("no keyring on the bus", keyring.run("token"), 9, "no keyring runs", "hint:")
    checks.ends("no bus", world.run("token"), 9, "no session bus", "hint:")
    checks.ends("a bus that is gone", world.run(
        "token", DBUS_SESSION_BUS_ADDRESS=f"unix:path={world.path('nothing')}"), 9, "hint:")
    silent_bus(checks, world)
    with Keyring(world) as keyring:
        checks.ends("after all that: unlocked, the account is there", keyring.run("token"), 0)
        checks.ends("the key moves back to a file", keyring.run("config", "set", "key-custody", "key-file"), 0)
    checks.ends("the file opens the accounts without a session", world.run("token"), 0)
    passphrase(checks, world, key_file)
    handed_over(checks, world, key_file)


def answer(world):
    """A token response of somebody, in a file."""
    path = world.path("answer.json")
    with open(path, "w", encoding="ascii") as file:
        file.write('{"access_token": "one", "token_type": "Bearer"}')
    return path


def first_starts(checks, world, keyring):
    """Eight processes make a store at once: who keeps something in it makes it."""
    before = keyring.items()
    new = dict(LODGE_STORE=world.path("many"), LODGE_KEY_CUSTODY="secret-service")
    path = answer(world)
    waiting = [world.start("accounts", "import", path, **{**keyring.environment, **new}) for _ in range(8)]
    outcomes = [running.finish() for running in waiting]
    checks.check("8 first starts at once end alike", all(outcome.status == 0 for outcome in outcomes),
                 "\n".join(map(str, outcomes)))
    checks.check("8 first starts at once make one key", keyring.items() == before + 1, keyring.items())


def killed(checks, world, keyring, key_file):
    """The program is killed while the key moves to and fro."""
    chance, lost, place = random.Random(2026), [], "key-file"
    begun = time.monotonic()
    keyring.run("status")
    # A move takes some times as long as a command that only reads.
    whole = 2 * (time.monotonic() - begun)
    for _ in range(30):
        running = world.start("config", "set", "key-custody", place, **keyring.environment)
        time.sleep(chance.uniform(0, whole))
        running.signal(signal.SIGKILL)
        running.process.wait()
        kept = keyring.run("accounts", "--output", "json")
        if kept.status != 0 or len(kept.json or []) != 1:
            lost.append(str(kept))
        place = "secret-service" if place == "key-file" else "key-file"
    checks.check("killed 30 times while the key moves: the account is always there", not lost, "\n".join(lost))
    before = keyring.items()
    checks.ends("the next move ends well", keyring.run("config", "set", "key-custody", "key-file"), 0)
    checks.ends("there and back", keyring.run("config", "set", "key-custody", "secret-service"), 0)
    checks.check("no copy is left in the file", not os.path.exists(key_file), os.listdir(world.store))
    checks.ends("and back again", keyring.run("config", "set", "key-custody", "key-file"), 0)
    # One is that of the other store.
    checks.check("no copy is left in the keyring", keyring.items() == 1, f"{before} before, {keyring.items()} now")


def hanging(checks, keyring):
    """The keyring stands still, and then dies, while it is asked."""
    if not checks.check("the keyring can be stopped", keyring.signal(signal.SIGSTOP), keyring.number):
        return
    patient = keyring.world.start("token", **keyring.environment)
    outcome = keyring.run("token", "--timeout", "2")
    waits = patient.process.poll() is None
    checks.ends("a keyring that stands still", outcome, 9, SILENT, "hint:")
    # Without --timeout lodge waits for 15 s.
    checks.check("with --timeout lodge waits no longer than that", waits, outcome)
    checks.ends("a keyring that stands still, without --timeout", patient.finish(), 9, SILENT, "hint:")
    keyring.signal(signal.SIGCONT)
    checks.ends("it goes on: the account is there", keyring.run("token"), 0)
    keyring.signal(signal.SIGSTOP)
    calls = keyring.monitor()
    running = keyring.world.start("config", "set", "key-custody", "key-file", **keyring.environment)
    asked = calls.wait_for(lambda one: "path=/org/freedesktop/secrets" in one.out)
    # A stopped process dies of it, too.
    killed = keyring.signal(signal.SIGKILL)
    checks.check("lodge requests the key, and the keyring is killed", asked and killed, calls.out)
    checks.ends("a keyring that is killed while the key is asked for", running.finish(), 9, "keyring", "hint:")


def silent_bus(checks, world):
    """A bus that takes the connection and says nothing."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(world.path("silent"))
        server.listen(1)
        outcome = world.run("token", "--timeout", "2", DBUS_SESSION_BUS_ADDRESS=f"unix:path={world.path('silent')}")
        checks.ends("a bus that says nothing", outcome, 9, SILENT, "hint:")


def passphrase(checks, world, key_file):
    right, wrong = world.write("right", "open sesame\n"), world.write("wrong", "open sesam\n")
    os.chmod(right, 0o600)
    checks.ends("a passphrase file that others can read", world.run(
        "config", "set", "key-custody", "passphrase", LODGE_PASSPHRASE_FILE=wrong), 9, "chmod 600")
    os.chmod(wrong, 0o600)
    checks.ends("a passphrase seals the key", world.run(
        "config", "set", "key-custody", "passphrase", LODGE_PASSPHRASE_FILE=right), 0)
    checks.check("the file is gone", not os.path.exists(key_file))
    checks.ends("the passphrase opens the accounts", world.run("token", LODGE_PASSPHRASE_FILE=right), 0)
    checks.ends("a wrong one does not", world.run("token", LODGE_PASSPHRASE_FILE=wrong), 9, "passphrase is wrong")
    checks.ends("none does not", world.run("token"), 9, "no passphrase", "LODGE_PASSPHRASE_FILE")
    checks.ends("the passphrase comes through a pipe", shell(
        world, f"{shlex.quote(world.program)} token 3< <(sleep 0.2; echo open sesame)",
        LODGE_PASSPHRASE_FILE="/dev/fd/3"), 0)
    checks.ends("the key moves back", world.run(
        "config", "set", "key-custody", "key-file", LODGE_PASSPHRASE_FILE=right), 0)


def handed_over(checks, world, key_file):
    copy = world.path("copy.key")
    with open(key_file, "rb") as original, open(copy, "wb") as file:
        file.write(original.read())
    program = shlex.quote(world.program)
    checks.ends("another key is not taken", shell(
        world, f"{program} config set key-custody fd:3 3< <(head -c 32 /dev/zero)"), 9, "another key")
    checks.ends("the key is handed over from now on", shell(
        world, f"{program} config set key-custody fd:3 3< {shlex.quote(copy)}"), 0)
    checks.check("the file is gone", not os.path.exists(key_file))
    fd = dict(LODGE_KEY_CUSTODY="fd:3")
    checks.ends("handed over as bytes", shell(world, f"{program} token 3< {shlex.quote(copy)}", **fd), 0)
    checks.ends("handed over as base64", shell(
        world, f"{program} token 3< <(base64 < {shlex.quote(copy)})", **fd), 0)
    for number in (3, 4, 5):
        checks.ends(f"descriptor {number} is not handed over", world.run(
            "token", LODGE_KEY_CUSTODY=f"fd:{number}"), 9, "not open", "hint:")
    checks.ends("not even named", world.run("token"), 9, "no descriptor is named", "fd:3")
    checks.ends("the key moves back", shell(
        world, f"{program} config set key-custody key-file 3< {shlex.quote(copy)}", **fd), 0)
    checks.ends("the file opens the accounts", world.run("token"), 0)


def shell(world, line, **environment):
    """Runs a line of bash, for what only a shell can hand over."""
    done = subprocess.run(
        ["bash", "-c", line], env={**world.environment, **environment}, cwd=world.folder, stdin=subprocess.DEVNULL,
        capture_output=True, timeout=LIMIT)
    return Outcome([line], done.returncode, done.stdout.decode("utf-8", "replace"),
                   done.stderr.decode("utf-8", "replace"))
