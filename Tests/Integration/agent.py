"""The agent: the same output with and without it, its failures, and kills in random turns."""

import json
import os
import random
import re
import shutil
import signal
import socket
import stat
import subprocess
import time

from checks import say
from failing_provider import sign_in as use_token
from provider import Provider, sign_in
from token_endpoint import TokenEndpoint
from world import eventually, send_signal

# The number of kills, and the seed of their order.
KILLS = int(os.environ.get("LODGE_AGENT_KILLS", "24"))
SEED = int(os.environ.get("LODGE_AGENT_SEED", "1"))

# The command of an installation on Linux, which asks the agent or starts the program.
LAUNCHER = os.path.join(os.path.dirname(__file__), "..", "..", ".build", "launcher", "release", "lodge-launcher")

# The command lines of `same_results`. {file} and {url} are a file and a URL of the provider.
LINES = [
    "token", "token --header", "token --output json", "token --expires", "token --scope User.Read", "token --min-validity 1m",
    "token --min-validity x", "token --sasl xoauth2", "token --sasl oauthbearer --user ada@contoso.example", "token --user ada",
    "token --audience x", "token --account eve", "token --type nothing", "token --verbose", "token --quiet", "token extra",
    "token --introspect", "token --store elsewhere", "token --output csv", "token --timeout 20",
    "request GET {url}/v1.0/me", "request GET {url}/v1.0/me --include", "request GET {url}/nothing", "request GET https://example.invalid/",
    "request GET {url}/v1.0/me --output copy.json", "search ada", "search ada --output json", "search ada --output csv", "search ada -o jsonl",
    "search ada --output vcard", "search zzzz", "search --limit 3 --fields mail a", "search ada --explain", "search a --output mutt",
    "search ada --offline", "search", "show ada@contoso.example", "show eve@contoso.example", "show ada@contoso.example --output json",
    "lookup {file}", "lookup {file} --output jsonl", "lookup missing.txt", "me", "me --output json", "status", "status --output json",
    "accounts", "accounts list --output json", "accounts list --account x", "credential git get",
    "credential aws arn:aws:iam::123456789012:role/app", "--quiet token",
    "exec -- printenv OAUTH2_ACCESS_TOKEN OAUTH2_ACCESS_TOKEN_EXPIRY", "exec --env TOKEN -- printenv TOKEN TOKEN_EXPIRY", "exec -- false",
    "exec -- no-such-program", "exec --account eve -- true", "exec --env 1X -- true", "exec --", "exec -- /", "exec --timeout 20 -- printenv HOME",
]


def run(checks, world):
    world.environment["XDG_RUNTIME_DIR"] = world.make("runtime")
    if os.path.exists(LAUNCHER):
        world.program, _ = install(world, "installed")
    else:
        print("skipped: the launcher, because it is not built", flush=True)
    provider = Provider(world, "--users", "300")
    world.use_settings(provider.settings)
    checks.ends("sign-in", sign_in(world), 0)
    same_results(checks, world, provider)
    signals(checks, world)
    upgrade(checks, world)
    activation(checks, world)
    sockets(checks, world)
    endpoint = TokenEndpoint(world)
    world.use_settings(endpoint.settings)
    use_token(checks, world, endpoint, left=-60)
    agent = Agent(world)
    refreshes(checks, world, endpoint, agent)
    changes(checks, world, endpoint)
    memory(checks, world, agent)
    other_user(checks, world, agent)
    garbage(checks, world, agent)
    full_disk(checks, world, endpoint, agent)
    unresponsive(checks, world, endpoint)
    agent = Agent(world)
    deaths(checks, world, endpoint, agent)
    kills(checks, world, endpoint)


def install(world, folder):
    """Copies the command into a folder, and returns the paths of the command and of its program."""
    command = os.path.join(world.make(f"{folder}/bin"), "lodge")
    if not os.path.exists(LAUNCHER):
        shutil.copy(world.program, command)
        return command, command
    program = os.path.join(world.make(f"{folder}/libexec/lodge"), "lodge")
    shutil.copy(program_of(world.program), program)
    shutil.copy(LAUNCHER, command)
    return command, program


def program_of(command):
    """The program behind the launcher."""
    program = os.path.join(os.path.dirname(command), "..", "libexec", "lodge", "lodge")
    return program if os.path.exists(program) else command


class Agent:
    """A running agent."""

    def __init__(self, world, program=None):
        self.world = world
        self.path = os.path.join(world.environment["XDG_RUNTIME_DIR"], "lodge", "agent.sock")
        if program:
            world.program, usual = program, world.program
        self.running = world.start("agent", "run")
        if program:
            world.program = usual
        eventually(lambda: os.path.exists(self.path) and self.status is not None)

    @property
    def process(self):
        return self.running.process.pid

    @property
    def status(self):
        return self.world.run("agent", "status", "--output", "json").json

    @property
    def workers(self):
        """The process IDs of the workers."""
        found = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8") as file:
                    parts = file.read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            # State and parent.
            if parts[0] != "Z" and int(parts[1]) == self.process:
                found.append(int(name))
        return found

    def connect(self):
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(60)
        client.connect(self.path)
        return client

    def ask(self, client, word="status"):
        client.sendall(json.dumps({"protocol": 1, "ask": word}).encode() + b"\n")
        return read_line(client)

    def kill(self):
        send_signal(self.process, signal.SIGKILL)
        self.running.process.wait()


def read_line(client):
    line = b""
    while not line.endswith(b"\n"):
        byte = client.recv(1)
        if not byte:
            return None
        line += byte
    return json.loads(line)


def files(world):
    """The names, modes and sizes of the files that commands write."""
    found = {}
    for folder, _, names in os.walk(world.folder):
        if any(part in folder for part in ("outputs", "runtime")):
            continue
        for name in names:
            state = os.lstat(os.path.join(folder, name))
            found[os.path.join(folder, name)] = (stat.S_IMODE(state.st_mode), state.st_size)
    return found


def same_results(checks, world, provider):
    names = world.write("names.txt", "ada@contoso.example\n# comment\neve@contoso.example\n")
    request = f"protocol=http\nhost=127.0.0.1:{provider.port}\n\n"
    agent = Agent(world)
    checks.check("agent status responds", agent.status and agent.status["locked"] is False, agent.status)

    def result(words, **environment):
        ended = world.run(*words, input=request if words[0] == "credential" else "", **environment)
        # Times, and the IDs of requests.
        changing = r"\d+(\.\d+)? (ms|s|min|h)\b|[0-9a-f]{8}-[0-9a-f-]{27}|Date: .*"
        text = [re.sub(changing, "CHANGES", part) for part in (ended.out, ended.err)]
        return ended.status, *text, files(world)

    different = []
    for line in LINES:
        words = [word.format(file=names, url=provider.issuer) for word in line.split()]
        without = [result(words, LODGE_AGENT="off")]
        within = [result(words), result(words)]
        without.append(result(words, LODGE_AGENT="off"))
        different += [f"{line}\nwithout: {without}\nwith:    {one}" for one in within if one not in without]
    checks.check(f"{len(LINES)} command lines have the same output, status and files with the agent", not different, "\n".join(different))
    checks.check("the agent ran most of them", agent.workers and len(agent.status["tokens"]) > 3, agent.status)
    copy = os.stat(world.path("copy.json"))
    checks.check("a file of --output has the mode of the caller's umask", stat.S_IMODE(copy.st_mode) & 0o077 == 0 or copy.st_mode & 0o022 == 0)
    relative = subprocess.run(
        [world.program, "token", "--store", "store"], cwd=world.folder, env=world.environment, capture_output=True, check=False)
    elsewhere = subprocess.run(
        [world.program, "token", "--store", "store"], cwd=world.make("tmp"), env=world.environment, capture_output=True, check=False)
    checks.check("a relative path is relative to the folder of the caller", relative.returncode == 0 and elsewhere.returncode == 4,
                 f"{relative}\n{elsewhere}")
    closed = subprocess.run(
        ["/bin/sh", "-c", '"$0" token >&-', world.program], env=world.environment, capture_output=True, check=False)
    full = subprocess.run(
        ["/bin/sh", "-c", '"$0" token >/dev/full', world.program], env=world.environment, capture_output=True, check=False)
    checks.check("a closed output and a full disk are errors", closed.returncode == 1 and full.returncode == 1, f"{closed}\n{full}")
    pipe = subprocess.run(
        ["/bin/bash", "-c", '"$0" search a --all | head -1; echo ${PIPESTATUS[0]}', world.program], env=world.environment,
        capture_output=True, check=False, text=True)
    checks.check("a closed pipe ends the command silently", pipe.stdout.endswith("\n0\n") and not pipe.stderr, pipe)
    checks.ends("agent lock", world.run("agent", "lock"), 0, "Locked")
    checks.ends("a locked agent refuses commands", world.run("token"), 9, "the agent is locked", "hint: lodge agent unlock")
    checks.ends("also the command that runs a program", world.run("exec", "--", "true"), 9, "the agent is locked")
    checks.ends("--no-agent does not use the agent", world.run("token", "--no-agent"), 0)
    locked = world.run("token", "--output", "json")
    checks.check("with --output json the refusal is an object", locked.status == 9 and json.loads(locked.err)["error"]["status"] == 9, locked)
    checks.check("a lock ends the workers", eventually(lambda: not agent.workers), agent.workers)
    checks.ends("agent unlock", world.run("agent", "unlock"), 0, "Unlocked")
    checks.ends("after that it serves again", world.run("token"), 0)
    second = world.run("agent", "run")
    checks.ends("a second agent does not start", second, 1, "another agent listens")
    checks.ends("agent stop", world.run("agent", "stop"), 0, "Stopped")
    checks.ends("the agent ends", agent.running.finish(), 0)
    checks.check("it leaves no socket", not os.path.lexists(agent.path))
    # They find the socket of an agent that was killed.
    first = Agent(world)
    first.running.signal(signal.SIGKILL)
    first.running.process.wait()
    started = [world.start("agent", "run") for _ in range(8)]
    eventually(lambda: sum(running.process.poll() is None for running in started) == 1)
    ended = [running for running in started if running.process.poll() is not None]
    checks.check("of 8 agents that start at the same time, 7 end with an error",
                 len(ended) == 7 and all("another agent listens" in running.err for running in ended), [running.err for running in started])
    checks.ends("one of them listens", world.run("agent", "status"), 0)
    checks.ends("and stops", world.run("agent", "stop"), 0)
    checks.check("all 8 agents have ended", eventually(lambda: all(running.process.poll() is not None for running in started)))


def signals(checks, world):
    """Signals to the client, while the command waits in the worker."""
    agent = Agent(world)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        pipe, end = os.pipe()
        process = subprocess.Popen(
            [world.program, "lookup"], env=world.environment, stdin=pipe, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        eventually(lambda: agent.status["workers"] == 1 and agent.workers)
        eventually(lambda: "1 of them busy" in world.run("agent", "status").out)
        process.send_signal(number)
        process.communicate(timeout=60)
        os.close(end)
        os.close(pipe)
        checks.check(f"{number.name} ends a command in the worker with {128 + number}", process.returncode == 128 + number, process.returncode)
    process = subprocess.Popen([world.program, "lookup"], env=world.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    eventually(lambda: "1 of them busy" in world.run("agent", "status").out)
    process.kill()
    checks.check("the command of a killed client ends", eventually(lambda: "of them busy" not in world.run("agent", "status").out
                 or " 0 of them busy" in world.run("agent", "status").out), world.run("agent", "status"))
    process.communicate()
    checks.ends("the agent serves again", world.run("token"), 0)
    agent.running.signal(signal.SIGTERM)
    checks.ends("SIGTERM stops the agent", agent.running.finish(), 0)


def upgrade(checks, world):
    copy, program = install(world, "upgraded")
    agent = Agent(world, copy)
    world.program, usual = copy, world.program
    checks.ends("an agent serves its own program", world.run("token"), 0)
    checks.check("in a worker", agent.workers, agent.status)
    shutil.copy(program, program + ".new")
    os.rename(program + ".new", program)
    checks.ends("after an upgrade the command works", world.run("token"), 0)
    checks.ends("and the old agent ends", agent.running.finish(), 0)
    world.program = usual


def activation(checks, world):
    """A socket that the service manager passes, as systemd does."""
    path = world.path("runtime", "activated.sock")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    environment = {**world.environment, "LODGE_AGENT_SOCK": path}
    process = subprocess.Popen(
        ["/bin/bash", "-c", 'exec 3<&"$1"; LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" agent run', world.program, str(listener.fileno())],
        env=environment, pass_fds=[listener.fileno()])
    shown = world.run("agent", "status", "--output", "json", LODGE_AGENT_SOCK=path)
    checks.check("the agent serves the socket of the service manager", shown.json and shown.json["process"] == process.pid, shown)
    checks.ends("token from this agent", world.run("token", LODGE_AGENT_SOCK=path), 0)
    checks.ends("agent stop", world.run("agent", "stop", LODGE_AGENT_SOCK=path), 0)
    checks.check("the agent ends", process.wait(60) == 0, process.returncode)
    checks.check("the socket still belongs to the service manager", os.path.exists(path))
    listener.close()
    os.remove(path)


def sockets(checks, world):
    """Sockets that cannot be used: commands work without an agent, and `agent status` reports the reason."""
    runtime = world.environment["XDG_RUNTIME_DIR"]
    folder = os.path.join(runtime, "lodge")
    path = os.path.join(folder, "agent.sock")

    def check(sentence, *words, **environment):
        checks.ends(f"{sentence}: token works", world.run("token", **environment), 0, silent=True)
        checks.ends(f"{sentence}: agent status reports it", world.run("agent", "status", **environment), 1, "not running", *words)

    os.makedirs(folder, mode=0o700, exist_ok=True)
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(path)
    stale.close()
    check("a socket without a process", "no process listens")
    agent = Agent(world)
    checks.check("a new agent replaces it", agent.status, agent.status)
    os.chmod(folder, 0o777)
    check("a folder that others can write", "other users can write", "chmod 700")
    os.chmod(folder, 0o700)
    os.rename(path, path + ".other")
    os.symlink(path + ".other", path)
    check("a link to a socket", "is not a socket")
    os.remove(path)
    os.remove(path + ".other")
    world.write("runtime/lodge/agent.sock", "text")
    check("a plain file", "is not a socket")
    checks.ends("agent run does not replace a file", world.run("agent", "run"), 1, "is not a socket")
    os.remove(path)
    check("no socket", "there is no socket")
    check("a path of 109 bytes", "109 bytes", LODGE_AGENT_SOCK="/" + "a" * 108)
    check("no runtime folder", "XDG_RUNTIME_DIR is not set", XDG_RUNTIME_DIR="")
    mute = socket.socket(socket.AF_UNIX)
    mute.bind(path)
    mute.listen()
    checks.ends("an agent that does not respond: token works", world.run("token"), 0, silent=True)
    checks.ends("agent status reports it", world.run("agent", "status"), 1, "does not respond")
    agent.running.stop()
    checks.check("an agent does not remove the socket of another one", os.path.exists(path))
    mute.close()
    os.remove(path)


def refreshes(checks, world, endpoint, agent):
    before = len(endpoint.requests)
    ended = [running.finish() for running in [world.start("token") for _ in range(64)]]
    checks.check("64 clients of an expired account print the same new token", {one.out for one in ended} == {f"AT-{endpoint.number}\n"},
                 "\n".join(map(str, ended)))
    checks.check("the provider gets one refresh request", len(endpoint.requests) == before + 1, endpoint.requests[before:])
    eventually(lambda: [token for token in agent.status["tokens"] if token["state"] == "fresh"])
    checks.check("the agent keeps the token", agent.status["tokens"][0]["state"] == "fresh", agent.status)
    with agent.connect() as client:
        request = json.dumps({
            "protocol": 1, "ask": "run", "arguments": ["token"], "environment": [f"{k}={v}" for k, v in world.environment.items()],
            "folder": world.folder, "umask": 0o022, "terminals": 0, "program": identity(program_of(world.program)),
            "place": " ".join(place(world.folder))}).encode() + b"\n"
        right = 0
        for number in range(2000):
            client.sendall(request)
            head = read_line(client)
            size = head.get("output", 0)
            right += client.recv(size, socket.MSG_WAITALL) == f"AT-{endpoint.number}\n".encode() if size else 0
            if number == 1000:
                before = anonymous_memory(agent.process)
    checks.check("2,000 requests on one connection get the token", right == 2000, f"{right}: {head}")
    after = anonymous_memory(agent.process)
    checks.check("the second thousand needs no additional memory", after <= before + 64, f"{before} kB, then {after} kB")
    descriptors = len(os.listdir(f"/proc/{agent.process}/fd"))
    checks.check("the agent keeps no descriptors of its clients", descriptors < 20, descriptors)


def anonymous_memory(process):
    """The anonymous memory of a process in kB."""
    with open(f"/proc/{process}/status", encoding="ascii") as file:
        return int(re.search(r"RssAnon:\s+(\d+)", file.read())[1])


def identity(path):
    state = os.stat(path)
    return f"{state.st_dev}:{state.st_ino}:{state.st_size}:{state.st_ctime_ns // 10**9}:{state.st_ctime_ns % 10**9}"


def place(folder):
    return [f"{os.stat(path).st_dev}:{os.stat(path).st_ino}" for path in ("/", folder, "/proc/self/ns/net")]


def changes(checks, world, endpoint):
    """Changes of the store by other processes, while the agent remembers the token."""
    checks.ends("the agent has a token", world.run("token"), 0)
    refreshed = world.run("token", "--refresh", LODGE_AGENT="off")
    checks.check("a refresh by another process replaces the token", world.run("token").out == refreshed.out != "", refreshed)
    saved = world.run("accounts", "export", "--reveal-secrets").out
    checks.ends("another process signs out", world.run("sign-out", "--local"), 0)
    checks.ends("the next request needs a sign-in", world.run("token"), 4)
    checks.ends("another process imports the account", world.run("accounts", "import", input=saved), 0)
    checks.check("the next request gets its token", world.run("token").out == refreshed.out, refreshed)
    os.rename(world.store, world.store + ".moved")
    checks.ends("a removed store has no account", world.run("token"), 4)
    os.rename(world.store + ".moved", world.store)
    checks.check("a restored store has the account", world.run("token").out == refreshed.out, refreshed)
    database = os.path.join(world.store, "accounts.sqlite")
    # The last page, which contains no record.
    with open(database, "r+b") as file:
        file.seek(os.path.getsize(database) - 4096)
        file.write(b"\xee" * 16)
    checks.ends("another process salvages the damaged store", world.run("accounts", "salvage", "--replace"), 0)
    checks.check("the next request gets the token of the copy", world.run("token").out == refreshed.out)
    settings = world.environment["LODGE_SETTINGS"]
    os.chmod(settings, 0o666)
    checks.ends("settings that others can write are refused", world.run("token"), 8)
    os.chmod(settings, 0o600)
    checks.ends("after chmod the token is back", world.run("token"), 0)
    checks.check("no refresh token was used twice", endpoint.reuses == 0, endpoint.requests)


def full_disk(checks, world, endpoint, agent):
    """A full and a read-only disk when the provider issues new tokens."""
    place = world.path("small")
    os.makedirs(place, mode=0o700)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "none", place], capture_output=True, check=False)
    if done.returncode:
        print("skipped: a full disk, because mount is not permitted", flush=True)
        return
    usual = world.environment["LODGE_STORE"]
    try:
        world.environment["LODGE_STORE"] = place
        use_token(checks, world, endpoint, left=-60)
        with open(os.path.join(place, "filler"), "wb", buffering=0) as file:
            try:
                while file.write(b"x" * 4096):
                    pass
            except OSError:
                pass
        # The journal has its space already, so a refresh can be saved.
        checks.ends("a refresh on a full disk", world.run("token"), 0)
        os.remove(os.path.join(place, "filler"))
        use_token(checks, world, endpoint, left=-60)
        subprocess.run(["mount", "-o", "remount,ro", place], check=True)
        plain, ours = world.run("token", LODGE_AGENT="off"), world.run("token")
        checks.check("on a read-only disk the error is the same as without the agent",
                     (plain.status, plain.err) == (ours.status, ours.err) and "lodge: " in ours.err, f"{plain}\n{ours}")
        subprocess.run(["mount", "-o", "remount,rw", place], check=True)
        again = world.run("token")
        checks.check("after that the sign-in is intact", again.status == 0 and again.out.startswith("AT-"), again)
        checks.check("no refresh token was used twice", endpoint.reuses == 0, endpoint.requests)
    finally:
        world.environment["LODGE_STORE"] = usual
        agent.running.stop()
        subprocess.run(["umount", place], check=True)


def memory(checks, world, agent):
    token = world.run("token").out.strip()
    world.run("token")
    limits = open(f"/proc/{agent.process}/limits", encoding="ascii").read()
    checks.check("the agent writes no core file", re.search(r"Max core file size +0 +0", limits), limits)
    for name, process in [("the agent", agent.process), *(("a worker", worker) for worker in agent.workers)]:
        if os.geteuid() == 0:
            # A process that is not dumpable belongs to root, so ask another user.
            continue
        try:
            open(f"/proc/{process}/mem", "rb").close()
            checks.check(f"the memory of {name} cannot be read", False)
        except PermissionError:
            checks.check(f"the memory of {name} cannot be read", True)
    if os.geteuid() == 0:
        unlocked = find_in_unlocked_memory(agent.process, token.encode())
        checks.check("the token is only in locked memory of the agent", unlocked == [], unlocked)
    world.run("agent", "lock")
    if os.geteuid() == 0:
        left = find_in_unlocked_memory(agent.process, token.encode(), all_memory=True)
        checks.check("after a lock the agent has no token", left == [], left)
    world.run("agent", "unlock")


def find_in_unlocked_memory(process, text, all_memory=False):
    """Returns the mappings that contain these bytes and are neither locked nor omitted from core files."""
    found, mapping, flags = [], None, ""
    with open(f"/proc/{process}/smaps", encoding="utf-8") as file, open(f"/proc/{process}/mem", "rb") as content:
        for line in file:
            head = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+)", line)
            if head:
                mapping = head
            elif line.startswith("VmFlags:") and "r" in mapping[3] and "[v" not in mapping.string:
                flags = line.split()[1:]
                start, end = int(mapping[1], 16), int(mapping[2], 16)
                content.seek(start)
                try:
                    has = text in content.read(end - start)
                except OSError:
                    continue
                if has and (all_memory or not {"lo", "dd"} <= set(flags)):
                    found.append(mapping.string.strip())
    return found


def other_user(checks, world, agent):
    if os.geteuid() != 0:
        print("skipped: a client of another user, because only root can start it", flush=True)
        return
    script = """
import os, socket, sys
client = socket.socket(socket.AF_UNIX)
client.settimeout(30)
folder = os.open(os.path.dirname(sys.argv[1]), os.O_PATH)
os.setgid(65534); os.setuid(65534)
client.connect(f"/proc/self/fd/{folder}/agent.sock")
try:
    client.sendall(b'{"protocol":1,"ask":"status"}\\n')
except BrokenPipeError:
    pass
try:
    print(len(client.recv(100)))
except ConnectionResetError:
    print(0)
"""
    os.chmod(os.path.dirname(agent.path), 0o711)
    os.chmod(agent.path, 0o666)
    done = subprocess.run(["python3", "-c", script, agent.path], capture_output=True, text=True, check=False, timeout=60)
    os.chmod(agent.path, 0o600)
    os.chmod(os.path.dirname(agent.path), 0o700)
    checks.check("a client of another user gets no byte", done.stdout == "0\n", done)


def garbage(checks, world, agent):
    """Clients that break the protocol, and an honest client next to them."""
    generator = random.Random(SEED)
    slow, half, mute = agent.connect(), agent.connect(), agent.connect()
    slow.sendall(b"{")
    half.sendall(b'{"protocol":1,')
    half.close()
    refused = []
    for content in (generator.randbytes(4096) + b"\n", b"x" * (64 * 1024 + 2), b"[" * 10_000 + b"\n", b"\n", b"\0\n", b"{}\n"):
        with agent.connect() as client:
            try:
                client.sendall(content)
                refused.append(client.recv(1))
            except (BrokenPipeError, ConnectionResetError):
                refused.append(b"")
    checks.check("invalid messages close the connection", set(refused) == {b""}, refused)
    # Reads nothing until the socket is full.
    try:
        mute.settimeout(2)
        for _ in range(100_000):
            mute.sendall(b'{"protocol":1,"ask":"status"}\n')
    except OSError:
        pass
    start = time.monotonic()
    checks.check("next to them an honest client is served", world.run("agent", "status").status == 0 and world.run("token").status == 0,
                 f"{time.monotonic() - start} s")
    crowd = []
    honest = agent.connect()
    honest.sendall(b'{"protocol":1,"ask":"status"}\n')
    read_line(honest)
    for _ in range(5000):
        client = socket.socket(socket.AF_UNIX)
        client.setblocking(False)
        try:
            client.connect(agent.path)
        except OSError:
            client.close()
            continue
        crowd.append(client)
    checks.check("next to 5,000 connection attempts, an open connection is served", agent.ask(honest) is not None)
    # Connections without a message are closed after two seconds, and a client does not wait longer for a response.
    checks.ends("with the silent connections, token works", world.run("token"), 0)
    for client in [*crowd, slow, mute, honest]:
        client.close()
    checks.check("after that the agent responds again", eventually(lambda: agent.status), agent.status)
    checks.check("it is the same process", agent.running.process.poll() is None)


def unresponsive(checks, world, endpoint):
    """A provider that accepts requests and never responds, and an account of another provider."""
    other = TokenEndpoint(world)
    world.use_settings(endpoint.settings)
    use_token(checks, world, endpoint, left=3600)
    world.use_settings({"types": {**endpoint.settings["types"], "u": other.settings["types"]["t"]}})
    tokens = {"access_token": "AT-u", "token_type": "Bearer", "expires_in": 3600, "refresh_token": other.valid, "scope": "read"}
    checks.ends("an account of another provider", world.run("accounts", "import", "--type", "u", input=json.dumps(tokens)), 0)
    agent = Agent(world)
    held = [endpoint.hold(world, "token", "--type", "t", "--refresh", "--timeout", "100")]
    held += [world.start("token", "--type", "t", "--refresh", "--timeout", "100") for _ in range(7)]
    checks.check("the provider occupies all workers", eventually(lambda: "4 of them busy" in world.run("agent", "status").out), agent.status)
    checks.check("the account of another provider is not affected", world.run("token", "--type", "u").out == "AT-u\n")
    limited = world.run("token", "--type", "t", "--refresh", "--timeout", "1")
    checks.ends("a command ends after its time limit", limited, 7)
    checks.check("the other commands still wait", all(one.process.poll() is None for one in held), [one.process.poll() for one in held])
    held[1].process.kill()
    held[1].process.wait()
    endpoint.responds.set()
    ended = [one.finish() for number, one in enumerate(held) if number != 1]
    checks.check("after the response all of them print a token", all(one.status == 0 and one.out.startswith("AT-") for one in ended),
                 "\n".join(map(str, ended)))
    checks.check("no refresh token was used twice", endpoint.reuses == 0, endpoint.requests)
    world.run("sign-out", "--local", "--type", "u")
    world.use_settings(endpoint.settings)
    world.run("agent", "stop")
    agent.running.process.wait()


def deaths(checks, world, endpoint, agent):
    """The agent or a worker dies while clients wait for a refresh."""
    use_token(checks, world, endpoint, left=-60)
    before = len(endpoint.requests)
    endpoint.responds.clear()
    waiting = [world.start("token") for _ in range(64)]
    eventually(lambda: len(endpoint.requests) > before)
    agent.kill()
    endpoint.responds.set()
    ended = [running.finish() for running in waiting]
    checks.check("64 clients of a killed agent print the token", all(one.status == 0 and one.out.startswith("AT-") for one in ended),
                 "\n".join(map(str, ended)))
    checks.check("they send at most one more refresh", len(endpoint.requests) <= before + 2, endpoint.requests[before:])
    checks.check("no refresh token was used twice", endpoint.reuses == 0, endpoint.requests)
    agent = Agent(world)
    use_token(checks, world, endpoint, left=-60)
    endpoint.drops.set()
    held = endpoint.hold(world, "token", "--timeout", "20")
    workers = eventually(lambda: agent.workers)
    for worker in workers:
        send_signal(worker, signal.SIGKILL)
    endpoint.responds.set()
    endpoint.drops.clear()
    ended = held.finish()
    checks.check("the client of a killed worker ends with a named error or a token",
                 ended.status == 0 or "lodge: " in ended.err and ended.status in (6, 7, 9), ended)
    checks.check("no refresh token was used twice", endpoint.reuses == 0, endpoint.requests)
    checks.check("the agent still runs", agent.running.process.poll() is None and agent.status, agent.status)
    agent.running.stop()


def kills(checks, world, endpoint):
    """SIGKILL to agent, workers and clients in random turns, while clients refresh."""
    generator = random.Random(SEED)
    agent = Agent(world)
    use_token(checks, world, endpoint, left=3600)
    wrong, unnamed, lost = [], [], 0
    for turn in range(KILLS):
        issued = endpoint.number
        clients = [world.start("token", *(["--refresh"] if number == 0 else [])) for number in range(8)]
        time.sleep(generator.random() * 0.1)
        victim = generator.choice(["agent", "worker", "client"])
        if victim == "agent":
            agent.kill()
        elif victim == "worker":
            for worker in agent.workers[:1]:
                send_signal(worker, signal.SIGKILL)
        else:
            clients[1].process.kill()
        for client in clients:
            ended = client.finish()
            if ended.status == -signal.SIGKILL:
                continue
            tokens = {f"AT-{number}\n" for number in range(issued, endpoint.number + 1)}
            if ended.status == 0 and ended.out in tokens:
                continue
            if ended.status and "lodge: " in ended.err:
                continue
            wrong.append(f"turn {turn}, {victim}: {ended}")
        if agent.running.process.poll() is not None:
            agent = Agent(world)
        refreshed = world.run("token", "--refresh", "--timeout", "60")
        if refreshed.status:
            # A killed process lost the response with the new tokens. The store names this reason.
            accounts = world.run("accounts", "--type", "t", "--output", "json").json or []
            reasons = [account["signInNeeded"] for account in accounts]
            if refreshed.status != 4 or reasons != ["answer-lost"]:
                unnamed.append(f"turn {turn}, {victim}: {reasons} {refreshed}")
            lost += 1
            endpoint.valid = f"RT-{endpoint.number}"
            use_token(checks, world, endpoint, left=3600)
    checks.check(f"{KILLS} kills with seed {SEED}: every client gets a right token or a named error", not wrong, "\n".join(wrong))
    checks.check("the store names the reason of each lost account", not unnamed, "\n".join(unnamed))
    say(f"-- agent: {lost} of {KILLS} kills lost the response with the new tokens")
    checks.ends("the account is signed in", world.run("token", "--refresh"), 0)
    world.run("agent", "stop")
    checks.ends("the agent ends", agent.running.finish(), 0)
    left = os.listdir(os.path.dirname(agent.path))
    checks.check("only the lock file is left", left == ["agent.sock.lock"], left)
