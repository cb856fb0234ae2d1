"""Federated client assertions with `lodge serve --tls`, compared with azure-identity's WorkloadIdentityCredential."""

import json
import os
import re
import ssl
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import web
from printed import Page
from service import Service
from world import LIMIT

AUDIENCE = "api://AzureADTokenExchange"
CLIENT = "lodge-workload"
REQUEST_TOKEN = "not-a-secret-request"
SCOPE = "https://graph.example/.default"


def run(checks, world):
    python = world.python("clients")
    running = world.start("serve", "--tls", "--output", "json")
    shown = running.wait_for(lambda running: running.out if running.out.endswith("}\n") else None)
    if not shown:
        raise OSError(f"serve did not start: {running.err}")
    provider = json.loads(shown)
    tokens = provider["issuer"] + "/github/token?api-version=2.0"

    def new_token(audience=AUDIENCE):
        url = tokens + "&audience=" + urllib.parse.quote(audience, safe="")
        return json.loads(web.send(url, bearer=REQUEST_TOKEN, ca_file=provider["caFile"]).body)["value"]

    file = world.write("token", new_token())
    compare(checks, world, provider, python, file)
    github(checks, world, provider, tokens)
    replaced(checks, world, provider, file, new_token)
    rejected(checks, world, provider, file, new_token)
    documented(checks, world, provider, tokens, new_token)


def documented(checks, world, provider, tokens, new_token):
    """Every way of the page, with the provider and the issuer of `lodge serve` in place of the servers on the Internet."""
    page = Page("WorkloadIdentity")
    issuer = token_service(world, new_token)
    file, svid = world.write("projected", new_token()), world.write("svid", new_token())
    fetch = os.path.join(world.make("bin"), "fetch-svid")
    with open(fetch, "w", encoding="utf-8") as script:
        script.write(f'#!/bin/sh\n[ "$1" = {AUDIENCE} ] && cat {svid}\n')
    os.chmod(fetch, 0o700)
    variables = {
        "github": {"ACTIONS_ID_TOKEN_REQUEST_URL": tokens, "ACTIONS_ID_TOKEN_REQUEST_TOKEN": REQUEST_TOKEN}, "gitlab": {"GITLAB_OIDC_TOKEN": new_token()},
        "azure-pipelines=CONNECTION": {"SYSTEM_OIDCREQUESTURI": issuer.address + "/oidc", "SYSTEM_ACCESSTOKEN": REQUEST_TOKEN},
        "kubernetes=/var/run/secrets/entra/token": {}}
    keys = {"authority": provider["authority"], "caFile": provider["caFile"],
            "graphAPI": provider["settings"]["types"]["local"]["graphAPI"]}
    commands = re.findall(r"lodge (providers add entra-workload --federated (\S+) .*)", page.text)
    checks.check("the page has four commands that add a source", sorted(source for _, source in commands) == sorted(variables), commands)

    def used(name, there):
        outcomes = [world.run("sign-in", "entra-workload", **there), world.run("search", "ada", **there), world.run("providers", "check", "entra-workload", **there)]
        checks.check(f"{name}: the application signs in and searches", outcomes[0].status == outcomes[1].status == 0 and "Lovelace" in outcomes[1].out,
                     "\n".join(map(str, outcomes)))
        checks.check(f"{name}: providers check shows the values to register", outcomes[2].status == 0 and "repo:contoso/app" in outcomes[2].out
                     and AUDIENCE in outcomes[2].out and "eyJ" not in outcomes[2].out, outcomes[2])

    for number, (command, source) in enumerate(commands):
        there = {"LODGE_SETTINGS": world.path(f"page-{number}.json"), "LODGE_STORE": world.path(f"page-{number}"), **variables[source]}
        words = command.replace("APP", CLIENT).replace("/var/run/secrets/entra/token", file).split()
        done = world.run(*words, *(word for key, value in keys.items() for word in ("--set", f"{key}={value}")), **there)
        checks.ends(f"{source}: the command adds the type", done, 0)
        used(source, there)
    for sample in page.code("json", '"clientAssertion"'):
        settings = json.loads(sample.replace('"APP"', f'"{CLIENT}"').replace("http://169.254.169.254", issuer.address))
        name, = settings["types"]["entra-workload"]["clientAssertion"].keys() & {"command", "url", "certificate"}
        if name == "certificate":
            continue
        settings["types"]["entra-workload"] |= keys
        path = world.write(f"page-{name}.json", settings)
        os.chmod(path, 0o600)
        there = {"LODGE_SETTINGS": path, "LODGE_STORE": world.path(f"page-{name}"), "PATH": world.path("bin") + ":" + world.environment["PATH"]}
        used(name, there)


def token_service(world, new_token):
    """The services of Azure Pipelines and of Google's metadata server that issue a JWT. Each checks what its documentation requires."""
    def respond(handler):
        url, fields = urllib.parse.urlsplit(handler.path), handler.headers
        query = urllib.parse.parse_qs(url.query)
        pipelines = handler.command == "POST" and fields["Authorization"] == "Bearer " + REQUEST_TOKEN and fields["X-TFS-FedAuthRedirect"] == "Suppress" \
            and query == {"api-version": ["7.1"], "serviceConnectionId": ["CONNECTION"]} and fields["Content-Type"] == "application/json"
        google = handler.command == "GET" and fields["Metadata-Flavor"] == "Google" and url.path.endswith("/service-accounts/default/identity") \
            and query == {"audience": [AUDIENCE]}
        if pipelines:
            return handler.send(200, {"oidcToken": new_token()})
        return handler.send(200 if google else 403, new_token().encode() if google else b"")

    return Service(world, respond)


def equal(checks, sentence, found, expected):
    checks.check(sentence, found == expected, f"{found!r}, expected {expected!r}")


def settings(provider, assertion, **keys):
    graph = provider["settings"]["types"]["local"]["graphAPI"]
    return {"types": {"ci": {
        "authority": provider["authority"], "clientId": CLIENT, "caFile": provider["caFile"], "scopes": [SCOPE],
        "grant": "clientCredentials", "clientCapabilities": ["cp1"], "graphAPI": graph,
        "clientAssertion": assertion, **keys}}}


def compare(checks, world, provider, python, file):
    """The fields of lodge's token request and of azure-identity's are the same, and the provider accepts both."""
    authority, tenant = provider["authority"].rsplit("/", 1)
    environment = {**world.environment, "REQUESTS_CA_BUNDLE": provider["caFile"], "SSL_CERT_FILE": provider["caFile"]}
    done = subprocess.run(
        [python, "-W", "ignore", os.path.join(world.here, "peers", "clients", "workload_client.py"), authority, tenant, CLIENT,
         file, SCOPE], env=environment, capture_output=True, text=True, timeout=4 * LIMIT, stdin=subprocess.DEVNULL)
    theirs = json.loads(done.stdout) if done.returncode == 0 else {}
    checks.check("the provider accepts azure-identity's request", theirs.get("token"), (done.stdout + done.stderr)[-2000:])
    recorder = Recorder(world, provider)
    world.use_settings(settings(provider, {"file": file}, authority=recorder.address + "/" + tenant))
    checks.ends("lodge signs in with the assertion of the file", world.run("sign-in", "ci"), 0,
                "Signed in to ci")
    if not theirs.get("forms") or not recorder.forms:
        return checks.check("both clients sent a token request", False, f"{theirs} {recorder.forms}")
    their, own = theirs["forms"][-1], recorder.forms[-1]
    # MSAL asks for the identifier of a user's account, which an application does not have.
    equal(checks, "lodge sends the fields of azure-identity", sorted(own), sorted(set(their) - {"client_info"}))
    for name in ("client_id", "client_assertion", "client_assertion_type", "grant_type", "scope"):
        equal(checks, f"{name} is the same", own.get(name), their.get(name))
    equal(checks, "the declared capabilities are the same", json.loads(own["claims"]), json.loads(their["claims"].lower()))


def github(checks, world, provider, tokens):
    """The token service of GitHub Actions, with a separate account."""
    world.use_settings(settings(provider, {"githubActions": {}}))
    there = {"LODGE_STORE": world.path("store-github"), "ACTIONS_ID_TOKEN_REQUEST_URL": tokens,
             "ACTIONS_ID_TOKEN_REQUEST_TOKEN": REQUEST_TOKEN}
    outcomes = [world.run(*words, **there) for words in (
        ("sign-in", "ci", "--debug"), ("search", "ada"), ("status", "--verbose"), ("doctor", "--debug"))]
    for outcome in outcomes:
        checks.ends(f"{outcome.words[0]} of a job", outcome, 0)
        shown = outcome.out + outcome.err
        checks.check(f"{outcome.words[0]} shows no assertion and no request token",
                     "eyJ" not in shown and REQUEST_TOKEN not in shown, shown[-2000:])
    doctor = outcomes[-1]
    checks.check("doctor shows issuer, subject and audience",
                 all(word in doctor.out for word in ("/github", "repo:contoso/app:ref:refs/heads/main", AUDIENCE)), doctor)
    without = world.run("sign-in", "ci", LODGE_STORE=world.path("store-none"))
    checks.ends("without the permission of the job, the error names it", without, 8, "ACTIONS_ID_TOKEN_REQUEST_URL", "id-token: write")


def replaced(checks, world, provider, file, new_token):
    """A file that is replaced between two requests is read again."""
    recorder = Recorder(world, provider)
    tenant = provider["authority"].rsplit("/", 1)[1]
    world.use_settings(settings(provider, {"file": file}, authority=recorder.address + "/" + tenant))
    there = {"LODGE_STORE": world.path("store-replaced")}
    checks.ends("the first request", world.run("sign-in", "ci", **there), 0)
    second = new_token()
    with open(file + ".new", "w", encoding="utf-8") as new:
        new.write(second)
    os.replace(file + ".new", file)
    checks.ends("the second request", world.run("accounts", "refresh", **there), 0)
    equal(checks, "it has the assertion of the new file", recorder.forms[-1]["client_assertion"], second)


def rejected(checks, world, provider, file, new_token):
    """Errors before and after the request show the values to compare, and never the assertion."""
    world.use_settings(settings(provider, {"file": file}))
    there = {"LODGE_STORE": world.path("store-rejected")}
    other = new_token("api://other")
    world.write("token", other)
    outcome = world.run("sign-in", "ci", **there)
    checks.ends("another audience is rejected by the provider", outcome, 8, "AADSTS700212", "api://other", "/github")
    checks.check("the error does not show the assertion", other not in outcome.err, outcome)
    for text, found in (("", "nothing"), ("not-a-jwt", "not a JWT"), ("x" * 1_000_000, "65536 bytes")):
        world.write("token", text)
        outcome = world.run("sign-in", "ci", **there)
        checks.ends(f"a file with {found}", outcome, 8, file, found)
        checks.check(f"a file with {found} is not shown", not text or text[:40] not in outcome.err, outcome.err[:500])


class Recorder(Service):
    """An authority on plain loopback that records token requests and passes them to the provider."""

    def __init__(self, world, provider):
        self.forms = []
        self.provider = provider
        self.tenant = provider["authority"].rsplit("/", 1)[1]
        self.context = ssl.create_default_context(cafile=provider["caFile"])
        super().__init__(world, self.respond)

    def respond(self, handler):
        if handler.command == "GET":
            base = f"{self.address}/{self.tenant}"
            return handler.send(200, {
                "issuer": f"{base}/v2.0", "token_endpoint": f"{base}/oauth2/v2.0/token",
                "authorization_endpoint": f"{base}/oauth2/v2.0/authorize", "jwks_uri": f"{base}/keys",
                "token_endpoint_auth_methods_supported": ["private_key_jwt"]})
        self.forms.append(handler.form)
        request = urllib.request.Request(
            self.provider["authority"] + "/oauth2/v2.0/token", urllib.parse.urlencode(handler.form).encode())
        try:
            with urllib.request.urlopen(request, context=self.context, timeout=LIMIT) as response:
                handler.send(response.status, response.read())
        except urllib.error.HTTPError as error:
            handler.send(error.code, error.read())
