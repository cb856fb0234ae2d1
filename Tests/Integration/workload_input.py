"""Invalid input of applications without a secret, from outside: certificates, assertions, metadata services, Azure Arc's files and wrong clocks.

Each case has an exit status, a reason, a hint and a bounded time, and shows no secret."""

import base64
import json
import os
import socket
import subprocess
import time

from service import Service
from world import LIMIT

SCOPE = "https://graph.microsoft.com/.default"
# Parts of secrets that no output may contain.
SECRETS = ("hidden-header", "hidden-key", "hidden-token", "PRIVATE KEY", "eyJ", "another-file-of-the-user")
KEYS = "/var/opt/azcmagent/tokens"
ARC_PORT = 40342


TOKEN = {"access_token": "hidden-token", "token_type": "Bearer", "expires_in": "3600", "resource": "https://graph.microsoft.com"}


class Cases:
    """Runs commands, and checks what all of them must have in common."""

    def __init__(self, checks, world):
        self.checks, self.world, self.number = checks, world, 0

    def run(self, name, types, words, status, *texts, within=20, hint=True, **environment):
        self.number += 1
        settings = self.world.write(f"input-{self.number}.json", {"types": types})
        os.chmod(settings, 0o600)
        # No request may reach the metadata service of the machine on which the checks run.
        there = {"LODGE_SETTINGS": settings, "LODGE_STORE": self.world.path(f"input-{self.number}"),
                 "AZURE_POD_IDENTITY_AUTHORITY_HOST": "127.0.0.1:9", "GCE_METADATA_HOST": "127.0.0.1:9", **environment}
        before = time.monotonic()
        done = self.world.run(*words, **there)
        took = time.monotonic() - before
        shown = " ".join((done.out + done.err).split())
        missing = [text for text in texts if text not in shown]
        self.checks.check(f"{name}: exit status {status}, and the reason", done.status == status and not missing, f"missing: {missing}\n{done}")
        secrets = [secret for secret in SECRETS if secret in done.out + done.err]
        self.checks.check(f"{name}: no secret in the output", not secrets, f"{secrets}\n{done}")
        self.checks.check(f"{name}: at most {within} s", took <= within, took)
        if hint and status:
            self.checks.check(f"{name}: a hint that is not a sign-in", "hint: " in done.err and "lodge sign-in" not in done.err, done)
        return done


def run(checks, world):
    cases = Cases(checks, world)
    certificates(cases, world)
    assertions(cases, world)
    services(cases, world)
    variables(cases)
    clocks(cases, world)
    arc(cases, world)
    hang(cases, world)


def managed(source=None, **members):
    identity = {**({"source": source} if source else {}), **members}
    return {"app": {"grant": "managedIdentity", "managedIdentity": identity, "scopes": [SCOPE]}}


def certificates(cases, world):
    """The client does not reach the provider, so that its address does not matter."""
    folder = os.path.join(os.path.dirname(world.here), "TestSupport", "Certificates")
    rows = {"expired.pem": "expired at", "future.pem": "not valid before", "weak.pem": "1024 bits", "foreign-key.pem": "the key of another certificate"}
    for name, words in rows.items():
        copy = world.path("input-" + name)
        with open(os.path.join(folder, name), "rb") as source, open(os.open(copy, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as target:
            target.write(source.read())
        cases.run(f"certificate {name}", application({"certificate": {"certificate": copy}}), ("sign-in", "app"), 8, copy, words)
    copy = world.path("input-app.pfx")
    with open(os.path.join(folder, "app.pfx"), "rb") as source, open(os.open(copy, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as target:
        target.write(source.read())
    cases.run("a PFX with a wrong passphrase",
              application({"certificate": {"pkcs12": copy, "password": {"environment": "PFX"}}}), ("sign-in", "app"), 8, copy, "password",
              PFX="hidden-key")


def application(assertion, authority="http://127.0.0.1:9/tenant"):
    return {"app": {"authority": authority, "clientId": "app", "grant": "clientCredentials", "scopes": [SCOPE], "clientAssertion": assertion}}


def jwt(**claims):
    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()
    claims = {"iss": "https://ci.example", "sub": "job", "aud": "api://AzureADTokenExchange", "exp": int(time.time()) + 600, **claims}
    return f"{part({'alg': 'RS256', 'kid': 'k'})}.{part(claims)}.AAAA"


def metadata(handler):
    """The discovery document of a tenant."""
    base = handler.server.address + "/tenant"
    return {"issuer": base + "/v2.0", "token_endpoint": base + "/oauth2/v2.0/token", "authorization_endpoint": base + "/authorize"}


def assertions(cases, world):
    """Assertions that the client does not send. The provider only has metadata."""
    def respond(handler):
        if handler.command == "GET":
            return handler.send(200, metadata(handler))
        return handler.send(200, TOKEN)
    service = Service(world, respond)
    authority = service.address + "/tenant"
    issuer = Service(world, lambda handler: handler.send(200, {"value": jwt(aud="api://other")}))
    rows = {
        "an assertion of 1 MB": ("eyJ" + "x" * 1_000_000, "65536 bytes"), "an assertion with control characters": (jwt() + "\x1b[31m\nx", "control characters"),
        "an empty file": ("", "nothing"), "no JWT": ("root:x:0:0", "not a JWT"), "an expired assertion": (jwt(exp=1_700_000_000), "expired at 2023")}
    for name, (text, words) in rows.items():
        path = world.write("input-assertion", text)
        os.chmod(path, 0o600)
        cases.run(name, application({"file": path}, authority), ("sign-in", "app"), 8, path, words)
    cases.run("an assertion for another audience", application({"githubActions": {}}, authority), ("sign-in", "app"), 8, "api://other",
              ACTIONS_ID_TOKEN_REQUEST_URL=issuer.address + "/?a=1", ACTIONS_ID_TOKEN_REQUEST_TOKEN="hidden-token")
    os.chmod(path, 0o666)
    cases.run("an assertion that all users can replace", application({"file": path}, authority), ("sign-in", "app"), 8, "can write to it")
    command = world.write("input-command", "#!/bin/sh\necho hidden-token-0123456789-0123456789-0123456789 failed >&2\nexit 3\n")
    os.chmod(command, 0o700)
    cases.run("a command that fails", application({"command": [command]}, authority), ("sign-in", "app"), 8, "exit status 3")
    sent = [request for request in service.requests if request.command == "POST"]
    cases.checks.check("no invalid assertion is sent", not sent, sent)


def services(cases, world):
    """Other services in place of a metadata service."""
    page = b"<html><body>Sign in to the network</body></html>"
    rows = {
        "a web page": lambda handler: handler.send(200, page, Content_Type="text/html"),
        "a redirect": lambda handler: handler.send(302, b"", Location="https://evil.example/"),
        "JSON of another service": lambda handler: handler.send(200, {"hello": "world"}),
        "a response of 1 MB": lambda handler: handler.send(200, {**TOKEN, "x": "y" * 1_000_000}),
        "half of a response": lambda handler: handler.send(200, b'{"access_token": "hidden-tok'),
        "a token of another identity": lambda handler: handler.send(200, {**TOKEN, "client_id": "other"}),
        "a token that expired": lambda handler: handler.send(200, {**TOKEN, "expires_on": "1000"})}
    for name, respond in rows.items():
        service = Service(world, respond)
        there = {"IDENTITY_ENDPOINT": service.address + "/msi", "IDENTITY_HEADER": "hidden-header"}
        done = cases.run(name, managed("appService", clientId="own"), ("sign-in", "app"), 7 if name in ("a web page", "a redirect") else 1, hint=False, **there)
        cases.checks.check(f"{name}: one request", len(service.requests) == 1, service.requests)
        cases.checks.check(f"{name}: no account", "No account" in cases.world.run("accounts", LODGE_STORE=world.path(f"input-{cases.number}"),
                                                                                 LODGE_SETTINGS=world.path(f"input-{cases.number}.json")).err, done)
        google = {"app": {"grant": "managedIdentity", "managedIdentity": {"source": "google"}, "scopes": ["https://a.example/x"]}}
        done = cases.run(f"{name} in place of Google's", google, ("sign-in", "app"), 7 if name in ("a web page", "a redirect") else 1, hint=False,
                         GCE_METADATA_HOST=service.address)
    cases.run("no metadata service", managed(), ("sign-in", "app"), 7, "no managed identity endpoint")
    cases.run("no metadata service, in doctor", managed(), ("doctor", "--type", "app"), 7, "no managed identity endpoint", hint=False)


def variables(cases):
    """A variable that names a foreign host. No name is resolved: the host does not exist."""
    google = {"app": {"grant": "managedIdentity", "managedIdentity": {"source": "google"}, "scopes": ["https://a.example/x"]}}
    workload = {"app": {"provider": "entra-workload"}}
    pod = {"AZURE_CLIENT_ID": "app", "AZURE_TENANT_ID": "contoso.com", "AZURE_FEDERATED_TOKEN_FILE": "/nonexistent"}
    foreign = "http://evil.example/"
    rows = [("IDENTITY_ENDPOINT", managed(), {"IDENTITY_HEADER": "hidden-header"}), ("MSI_ENDPOINT", managed(), {}),
            ("MSI_ENDPOINT", managed(), {"MSI_SECRET": "hidden-header"}), ("AZURE_POD_IDENTITY_AUTHORITY_HOST", managed("imds"), {}),
            ("GCE_METADATA_HOST", google, {}), ("AZURE_AUTHORITY_HOST", workload, pod)]
    for name, types, there in rows:
        for words in (("sign-in", "app"), ("providers", "check", "app")):
            done = cases.run(f"{name} with a foreign host: {words[0]}", types, words, 8, name, "evil.example", **{**there, name: foreign})
            cases.checks.check(f"{name}: the hint names the variable", name in done.err[done.err.find("hint: "):], done)


def clocks(cases, world):
    """A provider whose clock is a day ahead of this machine's."""
    ahead = int(time.time()) + 86_400
    date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(ahead))
    key = subprocess.run(["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"], capture_output=True, text=True, timeout=LIMIT)

    def respond(handler, corrects=True):
        claims = handler.form.get("assertion", "..").split(".")[1]
        issued = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["iat"]
        if corrects and abs(issued - ahead) < 300:
            return handler.send(200, TOKEN | {"expires_in": 3600}, Date=date)
        return handler.send(400, {"error": "invalid_grant", "error_description": "Token must be a short-lived token (60 minutes)"}, Date=date)

    for corrects, status in ((True, 0), (False, 8)):
        service = Service(world, lambda handler, corrects=corrects: respond(handler, corrects))
        path = world.write("input-key.json", {"type": "service_account", "client_email": "app@local.example", "private_key": key.stdout,
                                              "private_key_id": "k1", "token_uri": service.address + "/token"})
        os.chmod(path, 0o600)
        types = {"app": {"directory": "google", "grant": "serviceAccount", "serviceAccount": {"file": path}, "knownAuthorities": ["127.0.0.1"],
                         "scopes": ["https://a.example/x"]}}
        name = "a wrong clock" if corrects else "a server that rejects every time"
        done = cases.run(name, types, ("sign-in", "app"), status, *([] if corrects else ["short-lived token", "clock"]))
        cases.checks.check(f"{name}: one more request with the time of the server", len(service.requests) == 2, service.requests)
        cases.checks.check(f"{name}: the account needs no sign-in", "sign in" not in done.err, done)
    # The token endpoint returns the number of Entra for each request.
    def entra(handler):
        if handler.command == "GET":
            return handler.send(200, metadata(handler), Date=date)
        return handler.send(401, {"error": "invalid_client", "error_description": "AADSTS700024: Client assertion is not within its valid time range."},
                            Date=date)
    service = Service(world, entra)
    path = world.write("input-clock", jwt(exp=ahead + 600))
    os.chmod(path, 0o600)
    cases.run("AADSTS700024", application({"file": path}, service.address + "/tenant"), ("sign-in", "app"), 1, "AADSTS700024", "clock")
    sent = [request for request in service.requests if request.command == "POST"]
    cases.checks.check("AADSTS700024: one retry with a new assertion", len(sent) == 2, len(sent))


def hang(cases, world):
    """A service that accepts requests and does not respond."""
    silent = socket.create_server(("127.0.0.1", 0))
    world.closers.append(silent.close)
    there = {"IDENTITY_ENDPOINT": f"http://127.0.0.1:{silent.getsockname()[1]}/msi", "IDENTITY_HEADER": "hidden-header"}
    cases.run("a service that hangs", managed("appService"), ("sign-in", "app"), 7, within=60, **there)
    cases.run("a service that hangs, with --timeout", managed("appService"), ("sign-in", "app", "--timeout", "2"), 7, within=10, hint=False, **there)
    cases.run("a service that hangs, in providers check", managed("appService"), ("providers", "check", "app"), 7, "does not respond", within=10, **there)


# MARK: Azure Arc

# Mounts an empty folder over the parents of Arc's fixed folders, in a private namespace, and runs the program there.
NAMESPACE = """
set -e
mount -t tmpfs none /var/opt
mkdir -p /var/opt/azcmagent
cp -a "$1" /var/opt/azcmagent/tokens
if [ "$2" = agent ]; then
    mount --rbind /opt "$3"
    mount -t tmpfs none /opt
    for folder in "$3"/*; do
        [ -d "$folder" ] || continue
        mkdir "/opt/${folder##*/}"
        mount --rbind "$folder" "/opt/${folder##*/}"
    done
    mkdir -p /opt/azcmagent/bin
    printf '#!/bin/sh\\n' > /opt/azcmagent/bin/himds
    chmod 755 /opt/azcmagent/bin/himds
fi
shift 3
exec "$@"
"""


def arc(cases, world):
    """The agent of Azure Arc names a file, whose folder is fixed. A private namespace has this folder."""
    flags = ["-m"] if os.geteuid() == 0 else ["-U", "-r", "-m"]
    script = world.write("namespace", NAMESPACE)
    tokens, mounted = world.make("arc-tokens"), world.make("arc-opt")
    write_keys(tokens)

    def inside(*words, agent=False):
        return ["unshare", *flags, "--propagation", "private", "sh", script, tokens, "agent" if agent else "-", mounted, *words]

    try:
        test = subprocess.run(inside("test", "-e", KEYS + "/good.key"), capture_output=True, text=True, timeout=LIMIT)
    except OSError as error:
        return print(f"skipped: Azure Arc, because there is no unshare: {error}", flush=True)
    if test.returncode or not os.path.isdir("/var/opt"):
        return print(f"skipped: Azure Arc, because this machine permits no private mounts: {test.stderr.strip()}", flush=True)
    program = world.program
    with open(world.path("arc-program"), "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\nexec " + " ".join(inside(program)) + ' "$@"\n')
    with open(world.path("arc-program-agent"), "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\nexec " + " ".join(inside(program, agent=True)) + ' "$@"\n')
    for name in ("arc-program", "arc-program-agent"):
        os.chmod(world.path(name), 0o700)
    named = {}

    def respond(handler):
        sent = handler.headers.get("Authorization")
        if handler.headers.get("Metadata") != "true":
            return handler.send(400, {"error": "invalid_request", "error_description": "Required metadata header not specified"})
        if sent is None:
            return handler.send(401, {"error": "unauthorized"}, WWW_Authenticate="Basic realm=" + named["file"])
        if sent == "Basic hidden-key-of-arc":
            return handler.send(200, {**TOKEN, "client_id": "own"})
        return handler.send(401, {"error": "unauthorized", "error_description": "another key"})

    service = Service(world, respond)
    there = {"IDENTITY_ENDPOINT": service.address + "/metadata/identity/oauth2/token", "IMDS_ENDPOINT": service.address}
    world.program = world.path("arc-program")
    try:
        named["file"] = KEYS + "/good.key"
        done = cases.run("Azure Arc", managed(clientId="own"), ("sign-in", "app"), 0, **there)
        keys = [request.headers.get("Authorization") for request in service.requests]
        cases.checks.check("Azure Arc: the second request has the content of the file", keys == [None, "Basic hidden-key-of-arc"], done)
        cases.run("Azure Arc: providers check shows the source", managed(), ("providers", "check", "app"), 0, "detected azureArc", "IDENTITY_ENDPOINT", **there)
        for name, file, status in BAD_KEYS:
            named["file"] = file
            service.requests.clear()
            cases.run(f"Azure Arc: {name}", managed(), ("sign-in", "app"), status, hint=status == 8, **there)
            sent = [request.headers["Authorization"] for request in service.requests if request.headers.get("Authorization")]
            cases.checks.check(f"Azure Arc: {name}: no content of a file is sent", not sent, sent)
        agent(cases, world, named, respond)
    finally:
        world.program = program


# The name of the case, the file in the challenge and the exit status.
BAD_KEYS = (
    ("a file in another folder", "/etc/hostname.key", 1), ("a path with ../", KEYS + "/../secret.key", 1), ("a file that does not end with .key", KEYS + "/good.txt", 1),
    ("a file in a folder below", KEYS + "/below/good.key", 1), ("a link", KEYS + "/link.key", 8), ("a file of 4,097 bytes", KEYS + "/large.key", 8),
    ("a pipe", KEYS + "/pipe.key", 8), ("a file that does not exist", KEYS + "/absent.key", 8), ("a file with several lines", KEYS + "/lines.key", 8),
    ("an empty file", KEYS + "/empty.key", 8))


def write_keys(folder):
    contents = {"good.key": "hidden-key-of-arc", "good.txt": "hidden-key-of-arc", "large.key": "x" * 4097, "lines.key": "hidden-key\nanother-file-of-the-user\n",
                "empty.key": "", "below/good.key": "hidden-key-of-arc"}
    os.makedirs(os.path.join(folder, "below"))
    for name, text in contents.items():
        with open(os.path.join(folder, name), "w", encoding="ascii") as file:
            file.write(text)
    os.symlink("/etc/hostname", os.path.join(folder, "link.key"))
    os.mkfifo(os.path.join(folder, "pipe.key"))


def agent(cases, world, named, respond):
    """Without variables, the program of the agent shows that the machine has it. Its address is fixed."""
    try:
        service = Service(world, respond, ARC_PORT)
    except OSError:
        return print(f"skipped: the agent of Azure Arc, because the port {ARC_PORT} is not free", flush=True)
    named["file"] = KEYS + "/good.key"
    world.program = world.path("arc-program-agent")
    cases.run("Azure Arc: the agent is detected by its program", managed(), ("sign-in", "app"), 0)
    cases.checks.check("Azure Arc: the requests have the documented path",
                       [request.path.split("?")[0] for request in service.requests] == ["/metadata/identity/oauth2/token"] * 2, service.requests)
    cases.run("Azure Arc: doctor shows the agent", managed(), ("doctor", "--offline", "--type", "app"), 0, f"detected azureArc at http://localhost:{ARC_PORT}")
