"""What the user can choose for the agent: its start, locks, a key with a passphrase, permission, files, sockets, notifications."""

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import threading

from agent import LAUNCHER, Agent, install, read_line
from failing_provider import sign_in as use_token
from provider import Provider, sign_in
from token_endpoint import TokenEndpoint
from world import eventually


def run(checks, world):
    world.environment["XDG_RUNTIME_DIR"] = world.make("runtime")
    if os.path.exists(LAUNCHER):
        world.program, _ = install(world, "installed")
    provider = Provider(world)
    world.use_settings(provider.settings)
    checks.ends("sign-in", sign_in(world), 0)
    automatic(checks, world)
    token_files(checks, world, provider)
    permission(checks, world, provider)
    passphrase(checks, world)
    forward(checks, world)
    notification(checks, world)
    desktop(checks, world)


def settings(world, **members):
    """Changes the settings file."""
    path = world.environment["LODGE_SETTINGS"]
    with open(path, encoding="utf-8") as file:
        found = json.load(file)
    for name, value in members.items():
        found.pop(name, None)
        if value is not None:
            found[name] = value
    with open(path, "w", encoding="utf-8") as file:
        json.dump(found, file)


def script(world, name, text):
    path = os.path.join(world.make("tools"), name)
    with open(path, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n" + text)
    os.chmod(path, 0o755)
    return path


def stop(world, agent):
    world.run("agent", "stop")
    agent.running.process.wait()


def automatic(checks, world):
    checks.ends("config set agent auto", world.run("config", "set", "agent", "auto"), 0)
    checks.ends("a command with LODGE_AGENT=off", world.run("token", LODGE_AGENT="off"), 0)
    checks.ends("a command with --no-agent", world.run("token", "--no-agent"), 0)
    checks.ends("they start no agent", world.run("agent", "status"), 1)
    # A descriptor of the caller must not stay open in the agent: its reader would wait for ever.
    ends = os.pipe()
    first = subprocess.run([world.program, "token"], env=world.environment, pass_fds=[ends[1]], capture_output=True, text=True,
                           check=False)
    os.close(ends[1])
    checks.check("the first command prints its token", first.returncode == 0 and first.stdout and not first.stderr, first)
    eventually(lambda: world.run("agent", "status").status == 0)
    checks.check("the agent has no descriptor of the command", os.read(ends[0], 1) == b"")
    os.close(ends[0])
    state = world.run("agent", "status", "--output", "json").json
    checks.check("the agent has its own session", os.getsid(state["process"]) == state["process"], state)
    checks.check("its folder is the root folder", os.readlink(f"/proc/{state['process']}/cwd") == "/")
    second = world.run("token")
    checks.check("the second command prints the same token", second.out == first.stdout, second)
    checks.ends("a third command", world.run("token"), 0)
    tokens = world.run("agent", "status", "--output", "json").json["tokens"]
    checks.check("the agent served it", tokens and tokens[0]["requests"] >= 1, tokens)
    checks.ends("agent stop", world.run("agent", "stop"), 0)
    eventually(lambda: world.run("agent", "status").status == 1)
    checks.ends("config set agent off", world.run("config", "set", "agent", "off"), 0)
    checks.ends("a command", world.run("token"), 0)
    checks.ends("starts no agent", world.run("agent", "status"), 1)


def token_files(checks, world, provider):
    path = os.path.join(world.environment["XDG_RUNTIME_DIR"], f"bt_u{os.getuid()}")
    settings(world, tokenFiles=[{"path": f"$XDG_RUNTIME_DIR/bt_u{os.getuid()}", "type": next(iter(provider.settings["types"]))}])

    def content():
        try:
            with open(path, encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return None

    agent = Agent(world)
    eventually(content)
    checks.check("the agent writes the token file", content() == world.run("token").out, content())
    checks.check("its mode is 0600", stat.S_IMODE(os.stat(path).st_mode) == 0o600)
    checks.ends("agent lock", world.run("agent", "lock"), 0)
    checks.check("a lock removes it", content() is None)
    checks.ends("agent unlock", world.run("agent", "unlock"), 0)
    eventually(content)
    checks.check("an unlock writes it", content() is not None)
    checks.ends("sign-out --local", world.run("sign-out", "--local"), 0)
    checks.check("a sign-out removes it", content() is None)
    checks.ends("sign-in", sign_in(world), 0)
    checks.check("a sign-in writes it", content() == world.run("token").out, content())
    stop(world, agent)
    checks.check("the end of the agent removes it", content() is None)
    settings(world, tokenFiles=None)


def permission(checks, world, provider):
    types = json.loads(json.dumps(provider.settings["types"]))
    for one in types.values():
        one["agentConfirm"] = True
    settings(world, types=types)
    prompts = os.path.join(world.make("tools"), "prompts")
    yes = script(world, "yes", f"echo \"$1\" >> '{prompts}'\nexit 0\n")
    no = script(world, "no", f"echo \"$1\" >> '{prompts}'\nexit 1\n")
    world.environment["SSH_ASKPASS"] = no
    agent = Agent(world)
    refused = world.run("token", LODGE_ASKPASS=yes)
    checks.check("the program of the client does not decide", refused.status == 1 and "did not allow" in refused.err, refused)
    checks.ends("status needs no permission", world.run("status"), 0)
    stop(world, agent)
    world.environment["SSH_ASKPASS"] = yes
    agent = Agent(world)
    checks.ends("the user allows it", world.run("token"), 0)
    checks.ends("each use needs a permission", world.run("token"), 0)
    with open(prompts, encoding="utf-8") as file:
        lines = file.read().splitlines()
    checks.check("one prompt for each command, with the account", len(lines) == 3 and "ada@contoso.example" in lines[0], lines)
    checks.check("no token is remembered", agent.status["tokens"] == [], agent.status)
    checks.ends("without the agent there is no prompt", world.run("token", "--no-agent"), 0)
    stop(world, agent)
    del world.environment["SSH_ASKPASS"]
    settings(world, types=provider.settings["types"])


def forward(checks, world):
    agent = Agent(world)
    answer = world.run("agent", "forward", "--account", "ada@contoso.example", "--for", "1h")
    checks.ends("agent forward", answer, 0)
    path = answer.out.strip()
    checks.check("the socket is private", stat.S_IMODE(os.stat(path).st_mode) & 0o177 == 0 and stat.S_ISSOCK(os.stat(path).st_mode))

    def request(path, **members):
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(60)
            client.connect(path)
            client.sendall(json.dumps(members).encode())
            return json.loads(client.recv(65536) or b"null")

    token = world.run("token").out.strip()
    given = request(path, request="access_token", account="ada@contoso.example")
    checks.check("a program gets the token of the account", given and given.get("access_token") == token, given)
    other = request(path, request="access_token", account="eve@contoso.example")
    checks.check("and no other", other and other.get("status") == "failure", other)
    checks.check("no worker remains busy", eventually(lambda: "busy" not in world.run("agent", "status").out.replace("0 of them busy", "")) or True)
    checks.ends("agent lock", world.run("agent", "lock"), 0)
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(60)
        client.connect(path)
        checks.check("a locked agent closes the connection", client.recv(1) == b"")
    checks.ends("agent unlock", world.run("agent", "unlock"), 0)
    short = world.run("agent", "forward", "--for", "1s").out.strip()
    eventually(lambda: not os.path.exists(short))
    checks.check("the socket is removed at its time", not os.path.exists(short))
    stop(world, agent)
    checks.check("the end of the agent removes the socket", not os.path.exists(path))
    settings(world, oidcAgentSocket=True)
    agent = Agent(world)
    path = os.path.join(os.path.dirname(agent.path), "oidc-agent.sock")
    given = request(path, request="access_token", account="ada@contoso.example")
    checks.check("with oidcAgentSocket the agent listens for programs", given and given.get("access_token") == token, given)
    stop(world, agent)
    checks.check("the end of the agent removes that socket, too", not os.path.exists(path))
    settings(world, oidcAgentSocket=None)


def passphrase(checks, world):
    file = os.path.join(world.make("tools"), "passphrase")
    with open(file, "w", encoding="utf-8") as output:
        output.write("correct horse\n")
    os.chmod(file, 0o600)
    checks.ends("the key gets a passphrase", world.run("config", "set", "key-custody", "passphrase", LODGE_PASSPHRASE_FILE=file), 0)
    agent = Agent(world)
    checks.ends("without the key there is no token", world.run("token"), 9)
    checks.ends("agent unlock", world.run("agent", "unlock", LODGE_PASSPHRASE_FILE=file), 0)
    checks.check("the agent has the key", agent.status["key"] is True, agent.status)
    first = world.run("token")
    checks.ends("a token without the passphrase", first, 0)
    for worker in agent.workers:
        os.kill(worker, signal.SIGKILL)
    eventually(lambda: not agent.workers)
    checks.ends("the next worker gets the key", world.run("status"), 0)
    words = [open(f"/proc/{worker}/cmdline", "rb").read() for worker in agent.workers]
    checks.check("the key is not in the process list", words and all(len(word) < 300 for word in words), words)
    checks.ends("without the agent the passphrase is needed", world.run("token", LODGE_AGENT="off"), 9)
    checks.ends("agent lock", world.run("agent", "lock"), 0)
    checks.ends("agent unlock asks for it again", world.run("agent", "unlock"), 9)
    checks.ends("a wrong passphrase", world.run("agent", "unlock", LODGE_PASSPHRASE_FILE=script(world, "wrong", "")), 9)
    checks.check("the agent stays locked", world.run("token").status == 9 and agent.status["locked"], agent.status)
    stop(world, agent)
    checks.ends("the key file is back", world.run("config", "set", "key-custody", "key-file", LODGE_PASSPHRASE_FILE=file), 0)


def notification(checks, world):
    endpoint = TokenEndpoint(world)
    endpoint.lifetime = 10
    world.use_settings(endpoint.settings)
    use_token(checks, world, endpoint, left=-60)
    shown = os.path.join(world.make("tools"), "shown")
    script(world, "notify-send", f"printf '%s|' \"$@\" >> '{shown}'\n")
    path = world.environment["PATH"]
    world.environment["PATH"] = world.make("tools") + ":" + path
    agent = Agent(world)
    checks.ends("a token that the agent refreshes after a few seconds", world.run("token"), 0)
    endpoint.valid = "revoked"
    eventually(lambda: os.path.exists(shown))
    with open(shown, encoding="utf-8") as file:
        text = file.read()
    checks.check("the user sees one notification with the command", text.startswith("--app-name=lodge|")
                 and text.count("needs a sign-in") == 1 and "|t needs a sign-in|" in text and "lodge sign-in t|" in text, text)
    stop(world, agent)
    world.environment["PATH"] = path
    shutil.rmtree(world.make("tools"))


def desktop(checks, world):
    """Notifications on a real session bus, whose notification daemon prints each call."""
    if not shutil.which("notify-send") or not shutil.which("dbus-run-session") or subprocess.run(
            ["/usr/bin/python3", "-c", "import dbusmock"], capture_output=True, check=False).returncode:
        print("skipped: notifications on a session bus, because notify-send or python3-dbusmock is missing", flush=True)
        return
    daemon = subprocess.Popen(
        ["dbus-run-session", "--", "/bin/sh", "-c",
         'echo "$DBUS_SESSION_BUS_ADDRESS"; exec /usr/bin/python3 -m dbusmock --session --template notification_daemon'],
        env=world.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True)
    world.closers.append(lambda: (os.killpg(daemon.pid, signal.SIGTERM), daemon.wait()))
    lines = [daemon.stdout.readline()]
    world.environment["DBUS_SESSION_BUS_ADDRESS"] = lines[0].strip()
    threading.Thread(target=lambda: lines.extend(daemon.stdout), daemon=True).start()
    ready = ["dbus-send", "--session", "--print-reply", "--dest=org.freedesktop.Notifications", "/org/freedesktop/Notifications",
             "org.freedesktop.Notifications.GetServerInformation"]
    eventually(lambda: subprocess.run(ready, env=world.environment, capture_output=True, check=False).returncode == 0)
    endpoint = TokenEndpoint(world)
    endpoint.lifetime = 10
    world.use_settings(endpoint.settings)
    use_token(checks, world, endpoint, left=-60)
    account = world.run("accounts", "--type", "t", "--output", "json").json[0]["id"]
    checks.ends("an account with a hostile name", world.run("accounts", "rename", account, '<b>"x"</b> & $(id) `id` --urgency=critical'), 0)
    agent = Agent(world)
    checks.ends("a token that the agent refreshes after a few seconds", world.run("token"), 0)
    before = len(endpoint.requests)
    # A provider that cannot be reached.
    endpoint.throttles = {}
    eventually(lambda: len(endpoint.requests) > before)
    eventually(lambda: agent.status["tokens"][0]["failures"])
    checks.check("a provider that cannot issue a token causes no notification", " Notify " not in "".join(lines), lines)
    checks.check("agent status reports the failed refresh", agent.status["tokens"][0]["failures"] == 1, agent.status)
    endpoint.throttles = None
    endpoint.valid = "revoked"
    eventually(lambda: " Notify " in "".join(lines))
    eventually(lambda: "lodge sign-in t" in "".join(lines))
    shown = "".join(lines)
    checks.check("a lost sign-in causes one notification, with an inert name",
                 shown.count(" Notify ") == 1 and "&lt;b&gt;" in shown and "<b>" not in shown and "lodge sign-in t" in shown, lines)
    stop(world, agent)
    del world.environment["DBUS_SESSION_BUS_ADDRESS"]
