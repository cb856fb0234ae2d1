"""The key in a keyring: unlocked, locked, absent, hanging, and killed during a move. No key may be lost."""

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
    """gnome-keyring on a separate session bus, without a desktop. `state` is unlocked, locked or none."""

    def __init__(self, world, state="unlocked"):
        self.world = world
        script = os.path.join(world.peers, "keyring", "run-with-keyring.sh")
        words = {"unlocked": [], "locked": ["-w"], "none": ["-n"]}[state]
        # The bus exists until this shell ends. The shell prints its address and waits until its input ends.
        tell = 'printf "%s %s\\n" "$DBUS_SESSION_BUS_ADDRESS" "${KEYRING_PID:-0}"; read -r _'
        self.process = subprocess.Popen(
            ["bash", script, "-d", world.path("keyring"), *words, "--", "bash", "-c", tell], env=world.environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=world.folder,
            # When the shell of the checks ends, the kernel sends SIGHUP to a process group with a stopped process.
            start_new_session=True)
        self.is_open = True
        world.closers.append(self.close)
        line = self.process.stdout.readline().decode().split()
        if len(line) != 2:
            raise OSError(f"the keyring did not start: {self.process.communicate()[1].decode()}")
        address, number = line
        # 0 if there is no keyring.
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
        """Sends a signal to the keyring. Returns whether it was running."""
        self.is_stopped = number == signal.SIGSTOP
        return send_signal(self.number, number)

    def monitor(self):
        """Starts to print the calls of programs to the keyring."""
        running = Running(["dbus-monitor", "--session", "type='method_call',destination='org.freedesktop.secrets'"],
                          {**self.world.environment, **self.environment}, self.world.make("outputs"), self.world.folder)
        self.world.closers.append(running.stop)
        running.wait_for(lambda one: "NameAcquired" in one.out)
        return running

    def run(self, *words, **environment):
        return self.world.run(*words, **{**self.environment, **environment})

    def items(self):
        """Returns the number of store keys in the keyring."""
        done = subprocess.run(
            ["secret-tool", "search", "--all", "application", "oauth2-account-store"], capture_output=True,
            env={**self.world.environment, **self.environment}, timeout=LIMIT)
        return done.stdout.count(b"attribute.store") + done.stderr.count(b"attribute.store")


def run(checks, world):
    provider = Provider(world, "--token-lifetime", "3600")
    world.use_settings(provider.settings)
    key_file = os.path.join(world.store, "accounts.key")
    checks.ends("sign-in with the key in a file", sign_in(world), 0, "Signed in")

    with Keyring(world) as keyring:
        checks.ends("config set moves the key to the keyring", keyring.run("config", "set", "key-custody", "secret-service"), 0,
                    "Secret Service")
        checks.check("the key file is removed, and the keyring has one key",
                     not os.path.exists(key_file) and keyring.items() == 1, os.listdir(world.store))
        checks.ends("token reads the key from the keyring", keyring.run("token"), 0)
        status = keyring.run("status")
        checks.check("status shows the key location", "Secret Service" in status.out, status)
        custody = keyring.run("config", "get", "key-custody")
        checks.check("config get prints the key location", custody.out == "secret-service\n", custody)
        checks.ends("a different key location is rejected", keyring.run(
            "status", LODGE_KEY_CUSTODY="key-file"), 9, "Secret Service", "config set key-custody key-file")
        checks.ends("an unknown key location suggests the closest one", keyring.run("config", "set", "key-custody", "secretservice"), 2,
                    "did you mean secret-service")
        first_starts(checks, world, keyring)
        killed(checks, world, keyring, key_file)
        checks.ends("config set moves the key to the keyring again", keyring.run("config", "set", "key-custody", "secret-service"), 0)
        hanging(checks, keyring)

    with Keyring(world, "locked") as keyring:
        checks.ends("a locked keyring", keyring.run("token"), 9, "locked", "hint:", "unlock")
        told = keyring.run("doctor", "--offline", "--output", "json")
        found = next((one for one in told.json or [] if one["check"] == "key"), {})
        checks.check("doctor reports the locked keyring and the remedy", told.status == 9
                     and "locked" in found.get("found", "") and "unlock" in found.get("remedy", ""), told)
        checks.ends("a locked keyring whose prompt gets no answer", keyring.run(
            "token", DISPLAY=":99", LODGE_TIMEOUT="20"), 9, "keyring", "hint:")
        checks.ends("a locked keyring: the key is not moved", keyring.run("config", "set", "key-custody", "key-file"), 9,
                    "locked")
        new = dict(LODGE_STORE=world.path("new"), LODGE_KEY_CUSTODY="secret-service")
        checks.ends("a locked keyring: no key is added", keyring.run("accounts", "import", answer(world), **new), 9, "locked")
        checks.check("no key file is created instead", not os.path.exists(world.path("new", "accounts.key")))
    with Keyring(world, "none") as keyring:
        checks.ends("a session bus without a keyring", keyring.run("token"), 9, "no keyring runs", "hint:")
    checks.ends("no session bus", world.run("token"), 9, "no session bus", "hint:")
    checks.ends("a session bus that no longer exists", world.run(
        "token", DBUS_SESSION_BUS_ADDRESS=f"unix:path={world.path('nothing')}"), 9, "hint:")
    silent_bus(checks, world)
    with Keyring(world) as keyring:
        checks.ends("unlocked again: the account is signed in", keyring.run("token"), 0)
        checks.ends("config set moves the key back to a file", keyring.run("config", "set", "key-custody", "key-file"), 0)
    checks.ends("the key file works without a session bus", world.run("token"), 0)
    passphrase(checks, world, key_file)
    handed_over(checks, world, key_file)


def answer(world):
    """Writes a token response to a file and returns its path."""
    path = world.path("answer.json")
    with open(path, "w", encoding="ascii") as file:
        file.write('{"access_token": "one", "token_type": "Bearer"}')
    return path


def first_starts(checks, world, keyring):
    """Eight processes create a store at the same time."""
    before = keyring.items()
    new = dict(LODGE_STORE=world.path("many"), LODGE_KEY_CUSTODY="secret-service")
    path = answer(world)
    waiting = [world.start("accounts", "import", path, **{**keyring.environment, **new}) for _ in range(8)]
    outcomes = [running.finish() for running in waiting]
    checks.check("8 concurrent first starts succeed", all(outcome.status == 0 for outcome in outcomes),
                 "\n".join(map(str, outcomes)))
    checks.check("8 concurrent first starts create one key", keyring.items() == before + 1, keyring.items())


def killed(checks, world, keyring, key_file):
    """Kills the program while the key is moved in both directions."""
    chance, lost, place = random.Random(2026), [], "key-file"
    begun = time.monotonic()
    keyring.run("status")
    # A move takes longer than a command that only reads.
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
    checks.check("killed 30 times while the key moves: the account remains", not lost, "\n".join(lost))
    before = keyring.items()
    checks.ends("the next move to the key file succeeds", keyring.run("config", "set", "key-custody", "key-file"), 0)
    checks.ends("the next move to the keyring succeeds", keyring.run("config", "set", "key-custody", "secret-service"), 0)
    checks.check("no copy of the key remains in the file", not os.path.exists(key_file), os.listdir(world.store))
    checks.ends("the key moves to the file again", keyring.run("config", "set", "key-custody", "key-file"), 0)
    # The remaining key belongs to the other store.
    checks.check("no copy of the key remains in the keyring", keyring.items() == 1, f"{before} before, {keyring.items()} now")


def hanging(checks, keyring):
    """The keyring is stopped, and later killed, during a request."""
    if not checks.check("the keyring is stopped", keyring.signal(signal.SIGSTOP), keyring.number):
        return
    patient = keyring.world.start("token", **keyring.environment)
    outcome = keyring.run("token", "--timeout", "2")
    waits = patient.process.poll() is None
    checks.ends("a stopped keyring with --timeout", outcome, 9, SILENT, "hint:")
    # Without --timeout lodge waits for 15 s.
    checks.check("--timeout limits the wait for the keyring", waits, outcome)
    checks.ends("a stopped keyring without --timeout", patient.finish(), 9, SILENT, "hint:")
    keyring.signal(signal.SIGCONT)
    checks.ends("when the keyring continues, the account is signed in", keyring.run("token"), 0)
    keyring.signal(signal.SIGSTOP)
    calls = keyring.monitor()
    running = keyring.world.start("config", "set", "key-custody", "key-file", **keyring.environment)
    asked = calls.wait_for(lambda one: "path=/org/freedesktop/secrets" in one.out)
    # SIGKILL ends a stopped process too.
    killed = keyring.signal(signal.SIGKILL)
    checks.check("lodge requests the key, and the keyring is killed", asked and killed, calls.out)
    checks.ends("a keyring that is killed during a request", running.finish(), 9, "keyring", "hint:")


def silent_bus(checks, world):
    """A bus that accepts the connection and does not respond."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(world.path("silent"))
        server.listen(1)
        outcome = world.run("token", "--timeout", "2", DBUS_SESSION_BUS_ADDRESS=f"unix:path={world.path('silent')}")
        checks.ends("a bus that does not respond", outcome, 9, SILENT, "hint:")


def passphrase(checks, world, key_file):
    right, wrong = world.write("right", "open sesame\n"), world.write("wrong", "open sesam\n")
    os.chmod(right, 0o600)
    checks.ends("a passphrase file that other users can read", world.run(
        "config", "set", "key-custody", "passphrase", LODGE_PASSPHRASE_FILE=wrong), 9, "chmod 600")
    os.chmod(wrong, 0o600)
    checks.ends("config set encrypts the key with a passphrase", world.run(
        "config", "set", "key-custody", "passphrase", LODGE_PASSPHRASE_FILE=right), 0)
    checks.check("the key file is removed", not os.path.exists(key_file))
    checks.ends("the passphrase opens the store", world.run("token", LODGE_PASSPHRASE_FILE=right), 0)
    checks.ends("a wrong passphrase does not open the store", world.run("token", LODGE_PASSPHRASE_FILE=wrong), 9, "passphrase is wrong")
    checks.ends("without a passphrase the store does not open", world.run("token"), 9, "no passphrase", "LODGE_PASSPHRASE_FILE")
    checks.ends("a passphrase is read from a pipe", shell(
        world, f"{shlex.quote(world.program)} token 3< <(sleep 0.2; echo open sesame)",
        LODGE_PASSPHRASE_FILE="/dev/fd/3"), 0)
    checks.ends("config set moves the key back to a file", world.run(
        "config", "set", "key-custody", "key-file", LODGE_PASSPHRASE_FILE=right), 0)


def handed_over(checks, world, key_file):
    copy = world.path("copy.key")
    with open(key_file, "rb") as original, open(copy, "wb") as file:
        file.write(original.read())
    program = shlex.quote(world.program)
    checks.ends("a different key in a descriptor is rejected", shell(
        world, f"{program} config set key-custody fd:3 3< <(head -c 32 /dev/zero)"), 9, "another key")
    checks.ends("config set selects a descriptor for the key", shell(
        world, f"{program} config set key-custody fd:3 3< {shlex.quote(copy)}"), 0)
    checks.check("the key file is removed", not os.path.exists(key_file))
    fd = dict(LODGE_KEY_CUSTODY="fd:3")
    checks.ends("the descriptor has the key as bytes", shell(world, f"{program} token 3< {shlex.quote(copy)}", **fd), 0)
    checks.ends("the descriptor has the key as base64", shell(
        world, f"{program} token 3< <(base64 < {shlex.quote(copy)})", **fd), 0)
    for number in (3, 4, 5):
        checks.ends(f"descriptor {number} is not open", world.run(
            "token", LODGE_KEY_CUSTODY=f"fd:{number}"), 9, "not open", "hint:")
    checks.ends("without LODGE_KEY_CUSTODY the error requires a descriptor", world.run("token"), 9, "no descriptor is named", "fd:3")
    checks.ends("config set moves the key back to a file", shell(
        world, f"{program} config set key-custody key-file 3< {shlex.quote(copy)}", **fd), 0)
    checks.ends("the key file opens the store", world.run("token"), 0)


def shell(world, line, **environment):
    """Runs a line in bash, because only a shell can pass a descriptor."""
    done = subprocess.run(
        ["bash", "-c", line], env={**world.environment, **environment}, cwd=world.folder, stdin=subprocess.DEVNULL,
        capture_output=True, timeout=LIMIT)
    return Outcome([line], done.returncode, done.stdout.decode("utf-8", "replace"),
                   done.stderr.decode("utf-8", "replace"))
