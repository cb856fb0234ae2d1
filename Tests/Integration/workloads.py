"""Applications without a secret: lodge, azure-identity and google-auth get tokens from the same stand-ins, and their requests have the same fields."""

import http.client
import http.server
import json
import os
import subprocess
import threading
import urllib.parse

from provider import Provider
from world import LIMIT

SCOPE = "https://www.googleapis.com/auth/admin.directory.user.readonly"
HEADER, AUDIENCE = "local-identity-header", "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/local/providers/local"
IDENTITY = "5c1e7d34-2b8a-4f6e-8d21-7a6c6f646703"
ROBOT = "robot@local.iam.gserviceaccount.com"
# The fields in which two clients may differ.
OWN_FIELDS = {"host", "user-agent", "accept", "accept-encoding", "connection", "content-length", "x-goog-api-client", "x-ms-client-request-id",
              "x-allowed-locations"}


class Recorder(http.server.ThreadingHTTPServer):
    """Passes requests to the provider, and records them."""

    daemon_threads = True

    def __init__(self, port):
        self.port, self.requests = port, []
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_port}"

    def take(self):
        requests, self.requests = self.requests, []
        return requests


class Handler(http.server.BaseHTTPRequestHandler):
    def respond(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.requests.append({"method": self.command, "path": self.path, "fields": dict(self.headers), "body": body.decode()})
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=LIMIT)
        fields = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
        connection.request(self.command, self.path, body or None, fields)
        response = connection.getresponse()
        content = response.read()
        self.send_response(response.status)
        for name, value in response.getheaders():
            if name.lower() not in ("content-length", "connection", "transfer-encoding", "date", "server"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = respond

    def log_message(self, *_):
        pass


def shape(request):
    """The parts of a request that must be the same: method, path, parameters, body and header fields."""
    path, _, query = request["path"].partition("?")
    fields = {name.lower(): value for name, value in request["fields"].items() if name.lower() not in OWN_FIELDS and not name.lower().startswith("x-client-")}
    kind = fields.pop("content-type", "").split(";")[0]
    body = request["body"]
    if kind == "application/json":
        body = json.loads(body)
        # An optional member with its default.
        if not body.get("delegates"):
            body.pop("delegates", None)
    elif body:
        body = sorted(urllib.parse.parse_qsl(body, keep_blank_values=True))
        body = [(name, "JWT" if name == "assertion" else value) for name, value in body if value]
    fields = {name: "token" if name == "authorization" else value for name, value in fields.items()}
    return {"method": request["method"], "path": path, "query": sorted(urllib.parse.parse_qsl(query)), "kind": kind if body else "",
            "fields": fields, "body": body}


def run(checks, world):
    python = world.python("clients")
    folder = world.path("workload")
    os.makedirs(folder, exist_ok=True)
    key = subprocess.run(["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"], capture_output=True, text=True, timeout=LIMIT)
    file = world.write("workload/key.json", {"type": "service_account", "client_email": "app@local.iam.gserviceaccount.com", "client_id": "1234",
                                             "private_key": key.stdout, "private_key_id": "k1", "token_uri": "unset"})
    os.chmod(file, 0o600)
    provider = Provider(world, "--service-account", file)
    recorder = Recorder(provider.port)
    try:
        compare(checks, world, python, provider, recorder, file)
    finally:
        recorder.shutdown()
        recorder.server_close()


def compare(checks, world, python, provider, recorder, file):
    administrator = "ada@contoso.example"
    address = recorder.address
    with open(file, encoding="utf-8") as opened:
        key = {**json.load(opened), "token_uri": address + "/google/token"}
    file = world.write("workload/key.json", key)
    token = world.write("workload/token", "local-subject-token")
    external = world.write("workload/external.json", {
        "type": "external_account", "audience": AUDIENCE, "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": address + "/v1/token", "credential_source": {"file": token},
        "service_account_impersonation_url": f"{address}/v1/projects/-/serviceAccounts/{ROBOT}:generateAccessToken"})
    for name in (file, token, external):
        os.chmod(name, 0o600)
    graph = {"grant": "managedIdentity", "graphAPI": provider.issuer + "/", "scopes": ["https://graph.microsoft.com/.default"]}
    google = {"directory": "google", "directoryBase": provider.issuer + "/admin/directory/v1", "knownAuthorities": ["127.0.0.1"], "scopes": [SCOPE]}
    world.use_settings({"types": {
        "vm": {**graph, "managedIdentity": {"clientId": IDENTITY}}, "app": {**graph, "managedIdentity": {"source": "appService", "clientId": IDENTITY}},
        "staff": {**google, "grant": "serviceAccount", "serviceAccount": {"file": file, "subject": administrator}},
        "federated": {**google, "grant": "externalAccount", "externalAccount": {"file": external}}}})
    variables = {
        "vm": {"AZURE_POD_IDENTITY_AUTHORITY_HOST": address},
        "app": {"IDENTITY_ENDPOINT": address + "/msi/token", "IDENTITY_HEADER": HEADER}, "staff": {}, "federated": {}}
    program = os.path.join(world.here, "peers", "clients", "platform_client.py")
    for name, environment in variables.items():
        recorder.take()
        done = world.run("sign-in", name, **environment)
        own = recorder.take()
        checks.check(f"{name}: lodge signs in", done.status == 0, done)
        theirs = subprocess.run(
            [python, "-W", "ignore", program, name, IDENTITY, file, administrator, external, SCOPE],
            env={**world.environment, **environment}, capture_output=True, text=True, timeout=LIMIT, stdin=subprocess.DEVNULL)
        other = recorder.take()
        checks.check(f"{name}: the library gets a token", theirs.returncode == 0 and "token" in theirs.stdout, theirs.stderr[-2000:])
        # lodge asks once whether the machine has the metadata service.
        probes = [request for request in own if "Metadata" not in request["fields"]]
        if name == "vm":
            checks.check("vm: one probe without the header field", len(probes) == 1, own)
            own = [request for request in own if request not in probes]
            other = [request for request in other if "Metadata" in request["fields"]]
        if name == "app":
            # MSAL sends the field of the metadata service to App Service too, which does not document it.
            for request in other:
                request["fields"] = {field: value for field, value in request["fields"].items() if field.lower() != "metadata"}
        checks.check(f"{name}: the requests have the same fields", [shape(one) for one in own] == [shape(one) for one in other],
                     json.dumps([[shape(one) for one in own], [shape(one) for one in other]], indent=1))
    for name, environment in variables.items():
        if name != "federated":
            done = world.run("search", "ada", "--type", name, **environment)
            checks.check(f"{name}: lodge searches", done.status == 0 and "Lovelace" in done.out, done)
        recorder.take()
        done = world.run("token", "--type", name, **environment)
        checks.check(f"{name}: a saved token needs no request", done.status == 0 and not recorder.take(), done)
    faults(checks, world)


def faults(checks, world):
    store = {"LODGE_STORE": world.path("workload-faults")}
    for fault, status in (("metadata-html", 7), ("metadata-redirect", 7), ("metadata-400", 8), ("metadata-other-identity", None), ("metadata-number", 0)):
        provider = Provider(world, "--fault", fault)
        done = world.run("sign-in", "app", IDENTITY_ENDPOINT=provider.issuer + "/msi/token", IDENTITY_HEADER=HEADER, **store)
        right = done.status == status if status is not None else done.status not in (0, 4)
        checks.check(f"{fault}: the status and the hint", right and "sign-in app" not in done.err, done)
    done = world.run("sign-in", "app", **store)
    checks.check("a source without its variables names them", done.status == 8 and "IDENTITY_ENDPOINT" in done.err, done)
