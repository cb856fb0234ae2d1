"""Programs of Azure and AWS that get their credentials from lodge: azure-identity in `lodge exec --azure`, boto3 with `lodge credential aws` and moto as AWS."""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.parse
from datetime import datetime

from agent import Agent
from provider import Provider, sign_in
from shells import signals
from terminal import Terminal
from world import LIMIT, Running, eventually, free_port

ROLE = "arn:aws:iam::123456789012:role/app"
CREDENTIAL = {"AccessKeyId", "Expiration", "SecretAccessKey", "SessionToken", "Version"}


def run(checks, world):
    python, boto, provider, aws = world.python("clients"), world.python("aws"), Provider(world), f"127.0.0.1:{free_port()}"
    settings = provider.settings
    settings["types"]["local"]["resourceHosts"] = [aws]
    entra = {**settings["types"]["local"], "authority": provider.issuer + "/contoso.example"}
    del entra["issuer"]
    settings["types"]["entra"] = entra
    world.use_settings(settings)
    for name in ("entra", "local"):
        checks.ends(f"sign-in {name}", sign_in(world, name), 0)
    azure(checks, world, python, provider)
    child(checks, world, provider)
    terminal(checks, world)
    amazon(checks, world, boto, aws)


def azure(checks, world, python, provider):
    program = os.path.join(world.here, "peers", "clients", "azure_client.py")
    own = provider.settings["types"]["local"]["clientId"]
    for name in ("local", "entra"):
        done = world.run("exec", "--azure", "--type", name, "--", python, program, provider.issuer, "https://vault.azure.net", OWN_CLIENT_ID=own)
        found = json.loads(done.out) if done.status == 0 else {}
        scope = ["--scope", provider.issuer + "/.default"] if name == "entra" else []
        token = world.run("token", "--type", name, *scope, "--output", "json").json or {}
        checks.check(f"{name}: azure-identity gets the token of the resource", found.get("managed", {}).get("token") == token.get("access_token"), done)
        expiry = datetime.fromisoformat(token.get("expires_at", "1970-01-01T00:00:00Z").replace("Z", "+00:00")).timestamp()
        checks.check(f"{name}: azure-identity gets the expiry", abs(found.get("managed", {}).get("expires", 0) - expiry) <= 2, (done, token))
        checks.check(f"{name}: DefaultAzureCredential finds the endpoint", found.get("default", {}).get("token") == token.get("access_token"), done)
        checks.check(f"{name}: azure-identity can name the client of the account type", found.get("own", {}).get("token") == token.get("access_token"), done)
        checks.check(f"{name}: azure-identity gets no token for another host, and shows the reason",
                     "token" not in found.get("other", {"token": ""}) and "host of the account type" in found["other"]["error"], done)
        checks.check(f"{name}: azure-identity gets no token of another identity, and shows the reason",
                     "token" not in found.get("another", {"token": ""}) and "no such managed identity" in found["another"]["error"], done)
    main = world.run("token", "--type", "entra").out.strip()
    checks.check("the token of the resource is not the token of the account", main and main != token.get("access_token"))


def ask(address, secret, resource, host=None):
    """Returns the status and the JSON of the endpoint."""
    parts = urllib.parse.urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=LIMIT)
    connection.putrequest("GET", f"{parts.path}?api-version=2019-08-01&resource={urllib.parse.quote(resource, safe='')}", skip_host=True)
    for name, value in (("Host", host or parts.netloc), ("X-IDENTITY-HEADER", secret)):
        connection.putheader(name, value)
    connection.endheaders()
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response.status, json.loads(text) if text.startswith("{") else {}


def arguments():
    """Returns the command lines of all processes."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                found.append(file.read().decode("utf-8", "replace"))
        except OSError:
            pass
    return found


def serving(world, script="exec sleep 600", *words):
    """Starts a program, and returns it with its process, its endpoint and its secret."""
    running = world.start("exec", "--azure", *words, "--", "sh", "-c", f'echo "$$ $IDENTITY_ENDPOINT $IDENTITY_HEADER"; {script}')
    number, address, secret = (running.wait_for(lambda running: running.out if "\n" in running.out else "") or "0 - -").split()[:3]
    return running, int(number), address, secret


def is_gone(number):
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return True
    return False


def child(checks, world, provider):
    token = world.run("token").out.strip()
    done = world.run("exec", "--azure", "--", "sh", "-c", 'printf "%s|" "$@"; env; exit 7', "sh", "a b", "--output")
    checks.check("exec --azure: the program gets its arguments, and sets the exit status", done.status == 7 and done.out.startswith("a b|--output|"), done)
    checks.check("exec --azure: the environment has no token", "IDENTITY_HEADER=" in done.out and token not in done.out and "OAUTH2_" not in done.out, done)
    checks.check("exec --azure: the program reads standard input", world.run("exec", "--azure", "--", "cat", input="abc").out == "abc")
    checks.ends("exec --azure of an unknown program: 127", world.run("exec", "--azure", "--", "no-such-program"), 127, "hint:")
    checks.ends("exec --azure of a folder: 126", world.run("exec", "--azure", "--", world.folder), 126)
    checks.ends("exec --azure of a program that a signal ends: 128 and the signal", world.run("exec", "--azure", "--", "sh", "-c", "kill -KILL $$"), 137)
    running, number, address, secret = serving(world, "exec sleep 600", "--timeout", "1")
    checks.check("the endpoint is on loopback, and its secret has 32 bytes",
                 re.fullmatch(r"http://127\.0\.0\.1:\d+/msi/token", address) and re.fullmatch(r"[\w-]{43}", secret), (address, secret))
    masks = signals(number)
    checks.check("exec --azure blocks and ignores no signal", masks["SigBlk"] == 0
                 and masks["SigIgn"] & 0x7FFFFFFF & ~signals("self")["SigIgn"] == 0, masks)
    checks.check("no process has the secret in its arguments", not any(secret in line for line in arguments()))
    other = os.listdir(f"/proc/{number}/fd")
    checks.check("the program has only the standard streams", sorted(other) == ["0", "1", "2"], other)
    status, found = ask(address, secret, provider.issuer)
    checks.check("the endpoint returns the token", status == 200 and found.get("access_token") == token and found.get("token_type") == "Bearer", (status, found))
    port = address.split(":")[2].split("/")[0]
    for sentence, expected, words in (
            ("a wrong secret", 401, (secret[:-1] + ("A" if secret[-1] != "A" else "B"), provider.issuer)),
            ("a resource that no account type has", 400, (secret, "https://vault.azure.net")),
            ("the name of another host", 421, (secret, provider.issuer, f"evil.example:{port}")),
            ("another port", 421, (secret, provider.issuer, "127.0.0.1:1"))):
        status, found = ask(address, *words)
        checks.check(f"{sentence} gets {expected} and no token", status == expected and "access_token" not in found, (status, found))
    with socket.create_connection(("127.0.0.1", int(port)), timeout=LIMIT) as slow:
        slow.sendall(b"GET /msi/token HTTP/1.1\r\nHost: ")
        status, found = ask(address, secret, provider.issuer)
        checks.check("a slow client delays no other client", status == 200, (status, found))
        running.wait_for(lambda _: None, limit=1.2)
        checks.check("--timeout does not end the program", running.process.poll() is None)
        start = time.monotonic()
        running.signal(signal.SIGTERM)
        ended = running.finish()
        checks.check("SIGTERM ends the program, and lodge with its status", ended.status == 143, ended)
        checks.check("the end does not wait for the slow client", time.monotonic() - start < 5 and slow.recv(1000) == b"")
    checks.check("no process is left", is_gone(number))
    with socket.socket() as probe:
        checks.check("the port closes with the program", probe.connect_ex(("127.0.0.1", int(port))) != 0)
    checks.check("lodge prints nothing", not ended.err, ended)
    running, number, *_ = serving(world, "trap 'kill $!; exit 3' TERM HUP; sleep 600 & wait")
    running.signal(signal.SIGHUP)
    checks.check("a program that handles a signal sets the exit status", running.finish().status == 3 and is_gone(number))
    running, *_ = serving(world)
    running.signal(signal.SIGINT)
    checks.check("SIGINT without a terminal reaches the program", running.finish().status == 130)
    running, number, address, secret = serving(world)
    os.kill(number, signal.SIGSTOP)
    checks.check("the endpoint serves while the program is stopped", ask(address, secret, provider.issuer)[0] == 200)
    os.kill(number, signal.SIGKILL)
    checks.check("SIGKILL of the program ends lodge", running.finish().status == 137)
    world.run("sign-out", "--type", "entra")
    running, number, address, secret = serving(world)
    checks.ends("sign-out while the program runs", world.run("sign-out", "--type", "local"), 0)
    gone = eventually(lambda: ask(address, secret, provider.issuer)[0] == 400)
    checks.check("after sign-out, the endpoint has no token", gone, ask(address, secret, provider.issuer))
    running.signal(signal.SIGTERM)
    running.finish()
    checks.ends("exec --azure without an account: 4", world.run("exec", "--azure", "--", "true"), 4, "lodge sign-in")
    sign_in(world, "local")


def terminal(checks, world):
    if not shutil.which("tmux"):
        return print("skipped: exec --azure in a terminal, because tmux is not installed", flush=True)
    script = "trap 'echo interrupted' INT; echo ready; while ! read line; do :; done; echo \"line $line\"; exit 5"
    screen = Terminal(world, 80, 24, "exec", "--azure", "--", "sh", "-c", script)
    screen.wait("ready")
    screen.keys("C-c")
    screen.wait("interrupted")
    screen.keys("abc", "Enter")
    status = screen.status()
    checks.check("Ctrl-C reaches the program once, and lodge waits for it",
                 status == 5 and screen.screen.count("interrupted") == 1 and "line abc" in screen.screen, f"{status}\n{screen.screen}")
    screen.stop()
    screen = Terminal(world, 80, 24, "version")
    screen.status()
    screen.tmux("respawn-pane", "-k", "-t", "m", "bash", "--norc", "--noprofile", "-i")
    eventually(lambda: re.search(r"[$#] *$", screen.screen))
    screen.keys(f"PS1='$ '; {world.program} exec --azure -- sh -c 'echo ready; cat; exit 6'; echo status $?", "Enter")
    eventually(lambda: re.search("^ready$", screen.screen, re.M))
    screen.keys("C-z")
    stopped = eventually(lambda: re.search(r"^\[1\]\+ +Stopped", screen.screen, re.M))
    checks.check("Ctrl-Z stops lodge and the program", stopped, screen.screen)
    screen.keys("fg; echo end $?", "Enter")
    screen.keys("again", "Enter", "C-d")
    resumed = eventually(lambda: re.search(r"^end 6$", screen.screen, re.M))
    checks.check("fg resumes both, and the program reads the terminal", resumed and screen.screen.count("again") == 2, screen.screen)
    screen.stop()


def amazon(checks, world, python, authority):
    host, port = authority.split(":")
    server = Running([python, "-m", "moto.server", "-H", host, "-p", port], world.environment, world.make("outputs"), world.folder)
    world.closers.append(server.stop)

    def ready(_):
        with socket.socket() as probe:
            return probe.connect_ex((host, int(port))) == 0
    if not server.wait_for(ready, 60):
        raise OSError(f"moto did not start: {server.err[:3000]}")
    # The agent does not have the variables of AWS.
    world.environment["XDG_RUNTIME_DIR"] = world.make("runtime")
    agent = Agent(world)
    world.environment.update(AWS_ENDPOINT_URL_STS=f"http://{authority}", AWS_DEFAULT_REGION="eu-central-1")
    served = world.run("credential", "aws", ROLE)
    checks.check("a worker of the agent prints the keys, with the variables of the client",
                 set(served.json or {}) == CREDENTIAL and not served.err and agent.workers, served)
    agent.running.stop()
    done = world.run("credential", "aws", ROLE)
    found = done.json or {}
    checks.check("credential aws prints the keys of the role", done.status == 0 and set(found) == CREDENTIAL and found["Version"] == 1 and not done.err, done)
    short = world.run("credential", "aws", ROLE, "--duration", "900").json or {}
    checks.check("credential aws --duration limits the keys", short.get("Expiration", "z") < found.get("Expiration", ""), (short, found))
    page = world.run("help", "cloud").out
    line = next(text.strip() for text in page.splitlines() if text.strip().startswith("credential_process"))
    config = world.write("aws-config", f"[profile work]\n{line}\n[profile refused]\n{line.replace(ROLE, 'no-role')}\n")
    folder = world.make("bin")
    os.symlink(world.program, os.path.join(folder, "lodge"))
    environment = {**world.environment, "PATH": f"{folder}:{world.environment['PATH']}", "AWS_CONFIG_FILE": config}

    def boto(profile, **more):
        program = os.path.join(world.here, "peers", "aws", "aws_client.py")
        return subprocess.run([python, program, profile], env={**environment, **more}, capture_output=True, text=True, timeout=LIMIT)
    done = boto("work")
    found = json.loads(done.stdout) if done.returncode == 0 else {}
    checks.check("boto3 has the role, with the name of the user as the session",
                 found.get("role") == "arn:aws:sts::123456789012:assumed-role/app/ada@contoso.example" and found.get("session"), done)
    done = boto("work", AWS_ROLE_SESSION_NAME="build-7")
    checks.check("boto3 has the session of AWS_ROLE_SESSION_NAME", done.stdout.strip().endswith('assumed-role/app/build-7"}'), done)
    done = boto("refused")
    checks.check("boto3 shows the error of lodge", "is not a role" in done.stdout, done)
    checks.ends("another host of STS gets no token: 8", world.run("credential", "aws", ROLE, AWS_ENDPOINT_URL_STS="https://sts.example"), 8, "resourceHosts")
    identity = world.run("token", "--id-token").out.strip()
    with open(server.paths[1], encoding="utf-8") as log:
        checks.check("the ID token is not in the URL of a request", identity not in log.read())
