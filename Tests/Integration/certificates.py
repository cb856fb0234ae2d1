"""Clients without a secret: lodge, MSAL and azure-identity with the same certificates, at the same provider."""

import base64
import json
import os
import re
import shlex
import subprocess

from printed import Page
from service import Service
from world import LIMIT

PASSWORD = "open sesame"
SCOPE = "https://graph.microsoft.com/.default"
ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


def run(checks, world):
    python = world.python("clients")
    folder = os.path.join(os.path.dirname(world.here), "TestSupport", "Certificates")
    files = {name: os.path.join(folder, name) for name in os.listdir(folder)}
    # A checkout can be writable for other users.
    for name in ("app.pem", "app.pfx", "chain.pem", "chain.pfx", "expired.pem", "weak.pem", "ec.pem", "foreign-key.pem", "app-rc2.pfx"):
        copy = world.path(name)
        with open(files[name], "rb") as source, open(os.open(copy, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as target:
            target.write(source.read())
        files[name] = copy
    running = world.start(
        "serve", "--tls", "--output", "json", "--client-certificate", "app=" + files["app-certificate.pem"],
        "--client-certificate", "chained=" + files["root.pem"])
    shown = running.wait_for(lambda running: running.out if running.out.endswith("}\n") else None)
    if not shown:
        raise OSError(f"serve did not start: {running.err}")
    provider = json.loads(shown)
    theirs = peers(checks, world, python, provider, files)
    ours = recorded(checks, world, files)
    compare(checks, world, python, files, ours, theirs)
    accepted(checks, world, provider, files)
    rejected(checks, world, provider, files)
    running.stop()
    recipe(checks, world)


def peers(checks, world, python, provider, files):
    """Runs the other clients. Returns their requests by name."""
    description = world.write("clients.json", {
        "authority": provider["authority"], "tenant": provider["tenant"], "files": files, "password": PASSWORD})
    done = subprocess.run(
        [python, "-W", "ignore", os.path.join(world.here, "peers", "clients", "certificate_client.py"), description],
        env={**world.environment, "REQUESTS_CA_BUNDLE": provider["caFile"]}, capture_output=True, text=True, timeout=4 * LIMIT,
        stdin=subprocess.DEVNULL)
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    checks.check("MSAL and azure-identity complete", done.returncode == 0 and len(found) == 6, done.stderr[-3000:])
    for request in found:
        if "foreign" in request["name"]:
            checks.check("MSAL with a foreign certificate is rejected with Entra's number", "AADSTS700027" in (request["error"] or ""), request)
        else:
            checks.check(f"{request['name']}: the provider accepts the assertion", request["token"], request)
    return {request["name"]: request for request in found}


class Recorder(Service):
    """The metadata and the token endpoint of a tenant, on loopback. It records the forms."""

    def __init__(self, world):
        self.forms = []
        super().__init__(world, self.respond)
        self.origin = self.address
        self.endpoint = self.origin + "/tenant/oauth2/v2.0/token"

    def respond(self, handler):
        if handler.command == "GET":
            handler.send(200, {
                "issuer": self.origin + "/tenant/v2.0", "authorization_endpoint": self.origin + "/authorize",
                "token_endpoint": self.endpoint})
        else:
            self.forms.append(handler.form)
            handler.send(200, {"access_token": "AT", "token_type": "Bearer", "expires_in": 3600})


def account_type(authority, client, certificate, **keys):
    return {
        "authority": authority, "clientId": client, "redirectUri": "http://localhost/callback", "scopes": [SCOPE],
        "clientAssertion": {"certificate": certificate}, **keys}


def sign_in(world, types, name, **environment):
    settings = world.write(f"settings-{name}.json", {"types": types})
    there = {"LODGE_SETTINGS": settings, "LODGE_STORE": world.path(f"store-{name}"), "PASSWORD": PASSWORD, **environment}
    return world.run("sign-in", name, "--client-credentials", **there), there


def recorded(checks, world, files):
    """Returns the requests of lodge by name."""
    recorder = Recorder(world)
    password = {"environment": "PASSWORD"}
    types = {
        "pem": account_type(recorder.origin + "/tenant", "app", {"certificate": files["app.pem"]}),
        "pfx": account_type(recorder.origin + "/tenant", "app", {"pkcs12": files["app.pfx"], "password": password}),
        "chain": account_type(recorder.origin + "/tenant", "chained", {"pkcs12": files["chain.pfx"], "password": password, "chain": True}),
        "rs256": account_type(recorder.origin + "/tenant", "app", {"certificate": files["app.pem"], "algorithm": "RS256"})}
    found = {}
    for name in types:
        done, _ = sign_in(world, types, name)
        checks.ends(f"lodge signs in as an application: {name}", done, 0)
        form = recorder.forms[-1] if recorder.forms else {}
        header, claims, _ = (form.get("client_assertion") or "e30.e30.").split(".")
        found[name] = {"form": form, "header": part(header), "claims": part(claims)}
        checks.check(f"{name}: the audience is the token endpoint", found[name]["claims"].get("aud") == recorder.endpoint, found[name])
        checks.check(f"{name}: lodge does not print the assertion", not form or form["client_assertion"] not in done.out + done.err, done)
    assertions = [request["claims"].get("jti") for request in found.values()]
    checks.check("each assertion has another identifier", None not in assertions and len(set(assertions)) == len(assertions), assertions)
    return found


def part(text):
    return json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))


def compare(checks, world, python, files, ours, theirs):
    """Compares the requests of lodge with the requests of the other clients, and checks the signatures."""
    for own, others in (("pfx", ("MSAL, PKCS #12", "azure-identity, PKCS #12")), ("pem", ("azure-identity, PEM",)),
                        ("chain", ("MSAL, chain", "azure-identity, chain"))):
        for other in others:
            request, peer = ours[own], theirs.get(other, {"form": {}, "header": {}, "claims": {}})
            for name in ("client_id", "client_assertion_type", "grant_type", "scope"):
                checks.check(f"{own}: {name} is equal to the value of {other}", request["form"].get(name) == peer["form"].get(name),
                             (request["form"], peer["form"]))
            header, other_header = request["header"], peer["header"]
            if other_header.get("alg") == "PS256":
                # MSAL pads the thumbprint; RFC 7515 does not permit this.
                checks.check(f"{own}: the thumbprint is equal to the value of {other}",
                             header.get("x5t#S256") == other_header.get("x5t#S256", "").rstrip("="), (header, other_header))
            if "x5c" in other_header:
                leaf = re.sub(r"\s", "", other_header["x5c"][0])
                checks.check(f"{own}: the certificate is equal to the value of {other}", header.get("x5c", [None])[0] == leaf)
            for name in ("iss", "sub"):
                checks.check(f"{own}: {name} is equal to the value of {other}", request["claims"].get(name) == peer["claims"].get(name))
    for name, certificate in (("pem", "app.pem"), ("pfx", "app.pem"), ("chain", "chain.pem"), ("rs256", "app.pem")):
        with open(files[certificate], encoding="ascii") as file:
            pem = file.read()
        pem = pem[pem.index("-----BEGIN CERTIFICATE"):pem.index("-----END CERTIFICATE-----") + 26]
        description = world.write("check.json", {"assertion": ours[name]["form"].get("client_assertion", ""), "certificate": pem})
        done = subprocess.run([python, os.path.join(world.here, "peers", "clients", "certificate_check.py"), description],
                              capture_output=True, text=True, timeout=LIMIT)
        checks.check(f"{name}: the package cryptography verifies the signature", done.returncode == 0, done.stderr[-2000:])
        claims = ours[name]["claims"]
        checks.check(f"{name}: the assertion is valid for ten minutes", claims.get("exp", 0) - claims.get("nbf", 0) == 600, claims)
    algorithms = [ours[name]["header"].get("alg") for name in ("pem", "rs256")]
    checks.check("the algorithm is PS256, or RS256 on request", algorithms == ["PS256", "RS256"], algorithms)
    chain = [base64.b64decode(text, validate=True) for text in ours["chain"]["header"].get("x5c", [])]
    pems = [pem_of(der) for der in chain]
    leaf, rest = world.write("leaf.pem", pems[0] if pems else ""), world.write("rest.pem", "".join(pems[1:]))
    done = subprocess.run(["openssl", "verify", "-CAfile", files["root.pem"], "-untrusted", rest, leaf],
                          capture_output=True, text=True, timeout=LIMIT)
    checks.check("openssl verifies the chain of the assertion", done.returncode == 0 and len(chain) == 3, done.stdout + done.stderr)


def pem_of(der):
    text = base64.encodebytes(der).decode()
    return f"-----BEGIN CERTIFICATE-----\n{text}-----END CERTIFICATE-----\n"


def accepted(checks, world, provider, files):
    """lodge at the provider that the other clients used."""
    graph = provider["settings"]["types"]["local"]["graphAPI"]
    keys = {"caFile": provider["caFile"], "graphAPI": graph}
    types = {
        "own": account_type(provider["authority"], "app", {"certificate": files["app.pem"]}, **keys),
        "issued": account_type(
            provider["authority"], "chained", {"pkcs12": files["chain.pfx"], "password": {"environment": "PASSWORD"}, "chain": True}, **keys),
        "legacy": account_type(provider["authority"], "app", {"certificate": files["app.pem"], "algorithm": "RS256"}, **keys)}
    for name in types:
        done, there = sign_in(world, types, name)
        checks.ends(f"the provider accepts the assertion of lodge: {name}", done, 0)
        search = world.run("search", "ada", **there)
        checks.check(f"{name}: the application searches", search.status == 0 and "ada@contoso.example" in search.out, search)
        checks.ends(f"{name}: a refresh uses a new assertion", world.run("token", "--refresh", **there), 0)
    check = world.run("providers", "check", "own", **there)
    with open(files["thumbprints.json"], encoding="ascii") as file:
        thumbprints = json.load(file)["app.pem"]
    checks.check("providers check shows the subject, both thumbprints and the days",
                 all(text in check.out for text in ("CN=app, O=Contoso", thumbprints["sha1"], thumbprints["sha256"], " days")), check)
    doctor = world.run("doctor", "--type", "own", **there)
    checks.check("doctor shows the thumbprint", thumbprints["sha1"] in re.sub(r"\s", "", doctor.out + doctor.err), doctor)


def recipe(checks, world):
    """Runs the recipe of the documentation with an own certificate."""
    page = Page("Recipes")
    done = subprocess.run(["bash", "-ec", page.shell("openssl req")], cwd=world.folder, env=world.environment, capture_output=True,
                          text=True, timeout=LIMIT)
    checks.check("the recipe creates a certificate", done.returncode == 0, done)
    running = world.start("serve", "--tls", "--output", "json", "--client-certificate", "app=" + world.path("app.crt"))
    provider = json.loads(running.wait_for(lambda running: running.out if running.out.endswith("}\n") else None) or "{}")
    there = {"LODGE_SETTINGS": world.path("recipe.json"), "LODGE_STORE": world.path("recipe")}
    graph = provider["settings"]["types"]["local"]["graphAPI"]
    for line in page.shell("entra-workload").splitlines():
        words = shlex.split(line.replace("TENANT", provider["tenant"]).replace("--client-id ID", "--client-id app"))[1:]
        if words[1] == "add":
            words += ["--set", "authority=" + provider["authority"], "--set", "graphAPI=" + graph, "--set", "caFile=" + provider["caFile"]]
        done = world.run(*words, **there)
        checks.check(f"the recipe: {line}", done.status == 0 and (words[0] != "search" or "Lovelace" in done.out), done)
    running.stop()


def rejected(checks, world, provider, files):
    keys = {"caFile": provider["caFile"]}
    rows = {
        "foreign": ({"certificate": files["chain.pem"]}, "AADSTS700027"), "expired": ({"certificate": files["expired.pem"]}, "expired at"),
        "weak": ({"certificate": files["weak.pem"]}, "1024 bits"), "curve": ({"certificate": files["ec.pem"]}, "of the type EC"),
        "pair": ({"certificate": files["foreign-key.pem"]}, "the key of another certificate"),
        "outdated": ({"pkcs12": files["app-rc2.pfx"], "password": {"environment": "PASSWORD"}}, "openssl pkcs12 -legacy"),
        "password": ({"pkcs12": files["app.pfx"], "password": "wrong"}, "does not open"),
        "absent": ({"certificate": world.path("absent.pem")}, "No such file")}
    types = {name: account_type(provider["authority"], "app", certificate, **keys) for name, (certificate, _) in rows.items()}
    for name, (_, words) in rows.items():
        done, _ = sign_in(world, types, name)
        checks.check(f"{name}: exit status 8, and the reason", done.status == 8 and words in re.sub(r"\s+", " ", done.err), done)
    done, _ = sign_in(world, {"foreign": types["foreign"]}, "foreign")
    with open(files["thumbprints.json"], encoding="ascii") as file:
        thumbprint = json.load(file)["chain.pem"]["sha256"]
    checks.check("the error of a certificate that is not registered shows its thumbprint", thumbprint in done.err, done)
    checks.check("the hint does not suggest a sign-in", "sign in again" not in done.err and "lodge sign-in" not in done.err, done)
