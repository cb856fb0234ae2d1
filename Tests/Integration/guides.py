"""The programs of the README, of the migration guides and of the recipes, exactly as printed, in a package that depends on this one by path. Each
program runs with the printed settings, of which only the hosts are replaced, against the local provider, and prints the printed output."""

import base64
import hashlib
import http.server
import json
import os
import plistlib
import pty
import re
import subprocess
import threading
import time
import urllib.parse

from checks import say
from provider import Provider
from world import LIMIT, free_port, stop
import web

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STORE = os.path.join("Sources", "OAuth2AccountStore", "OAuth2AccountStore.docc")
GUIDES = ["README.md", *(os.path.join(STORE, name + ".md") for name in (
    "MigratingFromNXOAuth2Client", "MigratingFromMSAL", "MigratingFromAppAuth", "Recipes", "ServerWithManyUsers")),
    os.path.join("Sources", "OAuth2AccountStoreTesting", "OAuth2AccountStoreTesting.docc", "TestingYourProgram.md")]
TESTS = {"Recipes-Aunittest": "WebsiteTests", "TestingYourProgram-Overview": "ProgramTests"}
WEBSITE = "Recipes-AserverasaSwiftpackage"
# PostgreSQL runs the storage of this one: the topic postgresql.
ONLY_BUILT = {"ServerWithManyUsers-Severalworkers"}
SECRET = "not-a-secret"
BUILT = []

# An application can have modules with these names.
APPLICATION = {
    "Sources/Platform/Platform.swift": "public struct Platform {\n    public init() {}\n    public let name = \"application\"\n}\n",
    "Sources/CSQLite/module.modulemap": "module CSQLite {\n    header \"shim.h\"\n    link \"sqlite3\"\n}\n",
    "Sources/CSQLite/shim.h": "#include <sqlite3.h>\n",
    "Sources/Application/main.swift": """import CSQLite
import DirectorySearch
import FleetStorage
import OAuth2AccountStore
import Platform

print(Platform().name, sqlite3_libversion_number() > 3_000_000, AccountStore.maximumRefreshesInFlight)
""",
}


def target(folder):
    """Returns the name of the target for the program of a folder: a module name."""
    return "Website" if folder == WEBSITE else TESTS.get(folder) or re.sub(r"[^A-Za-z0-9]", "", folder)


def prepare(arguments):
    """Writes and builds the package. The compiler would delay the checks that measure time."""
    place = os.path.join(arguments.folder, "guides")
    blocks, package = os.path.join(place, "blocks"), os.path.join(place, "website")
    subprocess.run([os.path.join(ROOT, ".ci", "swift-blocks"), blocks, *GUIDES], cwd=ROOT, check=True)
    # Next to the package, as the printed manifest has it.
    os.symlink(ROOT, os.path.join(place, "lodge"))

    def write(path, text):
        file = os.path.join(package, path)
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(file, "w", encoding="utf-8") as stream:
            stream.write(text)

    programs = sorted(name for name in os.listdir(blocks) if os.path.exists(os.path.join(blocks, name, "main.swift")))
    for folder in programs:
        with open(os.path.join(blocks, folder, "main.swift"), encoding="utf-8") as file:
            source = file.read()
        if folder in TESTS:
            write(f"Tests/{target(folder)}/{target(folder)}.swift", source)
        else:
            write(f"Sources/{target(folder)}/main.swift", source)
    for path, text in APPLICATION.items():
        write(path, text)
    with open(os.path.join(blocks, WEBSITE, "Package.swift"), encoding="utf-8") as file:
        manifest = file.read()
    products = ", ".join(f'.product(name: "{name}", package: "lodge")' for name in ("DirectorySearch", "FleetStorage", "OAuth2AccountStore"))
    others = [f'.executableTarget(name: "{target(folder)}", dependencies: [{products}]),'
              for folder in programs if folder not in TESTS and folder != WEBSITE]
    manifest += "\n".join([
        "package.targets += [", *others, '.target(name: "Platform"), .systemLibrary(name: "CSQLite"),',
        f'.executableTarget(name: "Application", dependencies: ["Platform", "CSQLite", {products}]),',
        f'.testTarget(name: "ProgramTests", dependencies: [.product(name: "OAuth2AccountStoreTesting", package: "lodge"), {products}]),', "]"])
    write("Package.swift", manifest + "\n")
    start = time.monotonic()
    done = subprocess.run(
        ["swift", "build", "--build-tests", "--quiet", "-Xswiftc", "-warnings-as-errors"], cwd=package,
        stdin=subprocess.DEVNULL, capture_output=True, text=True)
    say(f"-- guides: built in {time.monotonic() - start:.1f} s")
    BUILT.append((blocks, package, programs, done))


class API(http.server.ThreadingHTTPServer):
    """An API in the form of GitHub. It asks the provider about the token of each request."""
    daemon_threads = True

    def __init__(self, world, issuer):
        super().__init__(("127.0.0.1", 0), self.Handler)
        self.issuer, self.scopes = issuer, {}
        self.host = f"127.0.0.1:{self.server_port}"
        self.base = f"http://{self.host}"
        threading.Thread(target=self.serve_forever, daemon=True).start()
        world.closers.append(self.close)

    def close(self):
        self.shutdown()
        self.server_close()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            token = (self.headers["Authorization"] or "").removeprefix("Bearer ")
            facts = web.send(self.server.issuer + "/introspect", form={"token": token}, basic=("website", SECRET)).json
            active = bool(facts and facts["active"])
            self.server.scopes[self.path] = set(facts["scope"].split()) if active else None
            name = facts.get("username", "") if active else ""
            body = json.dumps({"id": int(hashlib.sha256(name.encode()).hexdigest()[:8], 16), "login": name.split("@")[0],
                               "name": "Ada Lovelace" if name.startswith("ada@") else name}).encode()
            self.send_response(200 if active else 401)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format, *words):
            pass


class Guides:
    """The printed blocks, and the provider that replaces the printed hosts."""

    def __init__(self, world, blocks, package):
        self.world, self.blocks = world, blocks
        self.binaries = subprocess.run(["swift", "build", "--show-bin-path"], cwd=package, capture_output=True, text=True).stdout.strip()
        self.printed = {name: self.read(name, "settings.json") for name in os.listdir(blocks)
                        if os.path.exists(os.path.join(blocks, name, "settings.json"))}
        types = [entry for settings in self.printed.values() for entry in self.types(settings).values()]
        clients = {entry["clientId"]: SECRET if entry.get("clientSecret") or entry.get("secret") else None for entry in types}
        words = []
        for client, secret in clients.items():
            words += ["--client", client + (f":{secret}" if secret else "")]
        for uri in {self.full(entry)["redirectUri"] for entry in types}:
            words += [] if uri.startswith("http:") else ["--redirect-uri", uri]
        for scope in {scope for entry in types for scope in self.scopes(self.full(entry))}:
            words += ["--scope", scope]
        self.issuer = Provider(world, *words).issuer
        self.api = API(world, self.issuer)
        # The printed beginnings of URLs, and what the test has there.
        self.urls = {
            "https://github.com/login/oauth/authorize": self.issuer + "/authorize",
            "https://github.com/login/oauth/access_token": self.issuer + "/token",
            "https://github.com/login/device/code": self.issuer + "/device_authorization",
            "https://contoso.b2clogin.com/contoso.onmicrosoft.com": self.issuer + "/contoso.example",
            "https://id.example/realms/staff": self.issuer, "https://api.github.com": self.api.base, "https://api.example": self.api.base,
            "http://127.0.0.1:8400": f"http://127.0.0.1:{free_port()}"}
        for host in ("login.microsoftonline.com", "graph.microsoft.com", "gitlab.com", "accounts.google.com", "id.example", "auth.example",
                     "issuer.example"):
            self.urls["https://" + host] = self.issuer
        self.hosts = dict.fromkeys(("api.github.com", "api.example", "tasks.contoso.com", "people.googleapis.com", "www.googleapis.com"),
                                   self.api.host)

    def read(self, folder, name):
        with open(os.path.join(self.blocks, folder, name), encoding="utf-8") as file:
            return json.load(file) if name.endswith(".json") else file.read()

    @staticmethod
    def types(settings):
        """Returns the account types of settings, with or without `types`. An archive of accounts does not have any."""
        return settings.get("types") or ({"myGraphService": settings} if "clientId" in settings else {})

    @staticmethod
    def full(entry):
        """Returns an entry with the values of its preset."""
        if "provider" not in entry:
            return entry
        with open(os.path.join(ROOT, "Sources", "ProviderSettings", "Presets", entry["provider"] + ".json"), encoding="utf-8") as file:
            text = json.dumps(json.load(file)["type"])
        for name in ("host", "realm"):
            text = text.replace("{%s}" % name, entry.get(name, ""))
        return {**json.loads(text), **entry}

    @staticmethod
    def scopes(entry):
        scopes = entry.get("scopes", [])
        known = {"openid", "profile", "email", "offline_access", "User.Read", "User.ReadBasic.All"}
        return set(scopes.split() if isinstance(scopes, str) else scopes) - known

    def local(self, value):
        """Returns a value of the settings with the hosts of the test."""
        if isinstance(value, dict):
            return {key: self.local(one) for key, one in value.items()}
        if isinstance(value, list):
            return [self.local(one) for one in value]
        if not isinstance(value, str):
            return value
        for beginning in sorted(self.urls, key=len, reverse=True):
            if value.startswith(beginning):
                return self.urls[beginning] + value[len(beginning):]
        return self.hosts.get(value, value)

    def settings(self, folder):
        """Returns the printed settings with the hosts of the test: a host that is in a preset becomes a key of the entry."""
        settings = self.printed[folder]

        def entry(printed):
            full = self.full(printed)
            hosts = {key: value for key, value in full.items() if self.local(value) != value}
            return self.local({**printed, **hosts})
        return {**settings, "types": {name: entry(one) for name, one in settings["types"].items()}} if "types" in settings else entry(settings)

    def home(self, folder, settings=None, name=None):
        """Returns the working folder of a program, with its settings and secrets. It is the home folder too, so it has the accounts."""
        place = self.world.make("guide-" + (name or target(folder)))
        with open(os.path.join(place, "settings.json"), "w", encoding="utf-8") as file:
            json.dump(self.settings(settings or folder), file)
        with open(os.path.join(place, "google-secret.txt"), "w", encoding="ascii") as file:
            file.write(SECRET + "\n")
        return place

    def start(self, folder, place, *words, **environment):
        return Program([os.path.join(self.binaries, target(folder)), *words], place,
                       {**self.world.environment, "HOME": place, "GITHUB_CLIENT_SECRET": SECRET, "WEBSITE_CLIENT_SECRET": SECRET, **environment},
                       self.world)

    def run(self, folder, *words, settings=None, name=None, person=None, **environment):
        """Runs a program until its end. Acts as the user of each page that it shows."""
        if person:
            environment["PERSON_NAME"] = person
        program = self.start(folder, self.home(folder, settings, name), *words, **environment)
        while (line := program.line()) is not None:
            if line.startswith("open "):
                program.write(web.decide(line.removeprefix("open "), person=person))
        return program.finish()

    def output(self, folder):
        return self.read(folder, "output.txt").splitlines()

    def tokens(self, client, scope):
        """Signs a user in, as another library did before. Returns the token response."""
        verifier = "a" * 43
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
        uri = "http://127.0.0.1:1/callback"
        redirect = web.decide(self.issuer + "/authorize?" + urllib.parse.urlencode({
            "response_type": "code", "client_id": client, "redirect_uri": uri, "scope": scope, "code_challenge": challenge,
            "code_challenge_method": "S256"}))
        code = urllib.parse.parse_qs(urllib.parse.urlsplit(redirect).query)["code"][0]
        return web.send(self.issuer + "/token", form={
            "grant_type": "authorization_code", "client_id": client, "code": code, "redirect_uri": uri, "code_verifier": verifier}).json


class Program:
    """A program in a terminal, because in a pipe it would print the URL of a page only at its end. Its input is a pipe."""

    def __init__(self, words, place, environment, world):
        self.errors = os.path.join(place, "errors.txt")
        terminal, side = pty.openpty()
        with open(self.errors, "wb") as errors:
            self.process = subprocess.Popen(
                words, cwd=place, env=environment, stdin=subprocess.PIPE, stdout=side, stderr=errors, start_new_session=True)
        os.close(side)
        self.output, self.lines = os.fdopen(terminal, "rb", buffering=0), []
        self.rest = b""
        self.timer = threading.Timer(LIMIT, self.process.kill)
        self.timer.daemon = True
        self.timer.start()
        world.closers.append(self.close)

    def close(self):
        self.timer.cancel()
        if self.process.poll() is None:
            stop(self.process)

    def line(self):
        """Returns the next line of the output, or None at its end."""
        while b"\n" not in self.rest:
            try:
                more = self.output.read(65536)
            except OSError:  # The end of a terminal on Linux.
                more = b""
            if not more:
                return None
            self.rest += more
        line, self.rest = self.rest.split(b"\n", 1)
        self.lines.append(line.decode("utf-8", "replace").rstrip("\r"))
        return self.lines[-1]

    def write(self, text):
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()

    def finish(self):
        self.process.stdin.close()
        while self.line() is not None:
            pass
        self.process.wait()
        self.timer.cancel()
        self.output.close()
        return self

    def __str__(self):
        with open(self.errors, encoding="utf-8", errors="replace") as file:
            return f"ended with {self.process.returncode}\noutput: {self.lines}\nstandard error: {file.read()[-3000:]}"


def run(checks, world):
    blocks, package, programs, done = BUILT[0]
    if not checks.check("a package outside of this one builds all programs of the guides, without a warning", done.returncode == 0,
                        (done.stdout + done.stderr)[-5000:]):
        return
    tested = subprocess.run(["swift", "test", "--skip-build", "--disable-xctest", "-Xswiftc", "-warnings-as-errors"],
                            cwd=package, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    passed = re.search(r"Test run with (\d+) tests", tested.stdout + tested.stderr)
    checks.check("its tests are the printed ones, and they pass", tested.returncode == 0 and passed and int(passed[1]) == 8,
                 (tested.stdout + tested.stderr)[-5000:])
    guides, ran = Guides(world, blocks, package), set(ONLY_BUILT)

    def prints(folder, sentence, expected, *words, **options):
        ran.add(folder)
        program = guides.run(folder, *words, **options)
        lines = [line for line in program.lines if not line.startswith(("open ", "event: "))]
        checks.check(sentence, program.process.returncode == 0 and lines == expected, f"expected: {expected}\n{program}")
        return program

    application = guides.start("Application", world.make("application")).finish()
    checks.check("an application can have targets named Platform and CSQLite", application.lines == ["application true 64"], application)
    readme(checks, guides)
    ran.add("README-UsetheSwiftlibraries")

    for folder in ("MigratingFromNXOAuth2Client-PorttheQuickStart", "MigratingFromMSAL-iOS", "MigratingFromMSAL-macOS"):
        prints(folder, f"{folder} prints the printed output", guides.output(folder))
    folder = "MigratingFromMSAL-AzureADB2C"
    prints(folder, "the policies of Azure AD B2C have one account, and separate tokens", guides.output(folder), guides.api.base + "/tasks")
    checks.check("the API gets a token with its scope", any("tasks.read" in scope for scope in guides.api.scopes.get("/tasks") or []),
                 guides.api.scopes)
    folder = "MigratingFromAppAuth-Porttheexample"
    program = prints(folder, "the program of AppAuth prints the printed output", guides.output(folder))
    checks.check("and each event once", [line for line in program.lines if line.startswith("event: ")].count("event: added") == 1
                 and "event: new tokens" in program.lines, program)
    shared_device(checks, guides)
    ran.add("MigratingFromMSAL-Shareddevice")
    ran |= imports(checks, guides, prints)
    folder = "Recipes-Showthesignedinuser"
    for provider, api in (("GitHub", guides.api.base + "/user/repos"), ("GitLab", guides.issuer + "/userinfo"), ("Google", guides.api.base + "/people"),
                          ("Keycloak", guides.api.base + "/keycloak"), ("PlainOAuth2", guides.api.base + "/notes")):
        for browser in (world.environment["BROWSER"], "/nonexistent/browser"):
            again = "" if browser == world.environment["BROWSER"] else " again without a sign-in"
            prints(folder, f"the recipe signs in with the settings of {provider}{again}", guides.output(folder), api, settings=f"Recipes-{provider}",
                   name=provider, BROWSER=browser)
    website(checks, guides)
    many_users(checks, guides)
    ran |= {WEBSITE, "ServerWithManyUsers-Signvisitorsin", *TESTS}
    checks.check("every program of the guides runs", ran == set(programs), ran ^ set(programs))


def readme(checks, guides):
    """The README reads the sample settings, a property list."""
    folder = "README-UsetheSwiftlibraries"
    place = guides.world.make("guide-readme")
    os.makedirs(os.path.join(place, "Settings"), exist_ok=True)
    with open(os.path.join(ROOT, "Settings", "settings.plist"), "rb") as file:
        settings = plistlib.load(file)
    with open(os.path.join(place, "Settings", "settings.plist"), "wb") as file:
        plistlib.dump(guides.local(settings), file)
    program = guides.start(folder, place).finish()
    checks.check("the lines of the README sign in and search",
                 program.process.returncode == 0 and "Ada Lovelace ada@contoso.example" in program.lines, program)


def shared_device(checks, guides):
    folder = "MigratingFromMSAL-Shareddevice"
    lines, ended = [], []
    for person, words in (("ada@contoso.example", []), (None, ["sign-out"]), ("anouk@contoso.example", [])):
        program = guides.run(folder, *words, person=person)
        lines += program.lines
        ended.append(str(program))
    checks.check("a shared device has one user at a time, and the program learns of another one", lines == guides.output(folder), "\n".join(ended))


def imports(checks, guides, prints):
    """Tokens that another library got become accounts, which are refreshed."""
    scope = "openid profile offline_access User.Read"
    client = guides.printed["MigratingFromNXOAuth2Client-PorttheQuickStart"]["clientId"]

    def save(folder, settings, name, content):
        with open(os.path.join(guides.home(folder, settings), name), "w", encoding="utf-8") as file:
            file.write(content)

    folder, settings = "MigratingFromNXOAuth2Client-Importtheaccounts", "MigratingFromNXOAuth2Client-PorttheQuickStart"
    got = guides.tokens(client, scope)
    archive = json.dumps(guides.printed[folder])
    save(folder, settings, "accounts.json", archive.replace("the-refresh-token", got["refresh_token"]))
    prints(folder, "an archive of NXOAuth2Client is imported, and its expired token is refreshed", guides.output(folder), settings=settings)
    checks.check("and the file is removed", not os.path.exists(os.path.join(guides.home(folder, settings), "accounts.json")))

    folder, settings = "MigratingFromMSAL-Importtheaccounts", "MigratingFromMSAL-iOS"
    got = guides.tokens(client, scope)
    common = {"home_account_id": "uid.utid", "environment": "127.0.0.1", "client_id": client}
    save(folder, settings, "msal_cache.json", json.dumps({
        "RefreshToken": {"rt": {**common, "credential_type": "RefreshToken", "secret": got["refresh_token"], "target": scope}},
        "Account": {"a": {**common, "username": "ada@contoso.example", "authority_type": "MSSTS", "realm": "utid"}}}))
    prints(folder, "a cache of MSAL is imported, and a token requested", guides.output(folder), settings=settings)
    prints(folder, "another import adds no account", guides.output(folder), settings=settings)

    folder, settings = "MigratingFromAppAuth-Importtheauthorizationstate", "MigratingFromAppAuth-Porttheexample"
    got = guides.tokens(guides.printed[settings]["types"]["example"]["clientId"], scope)
    program = guides.start(folder, guides.home(folder, settings))
    program.write(got["refresh_token"])
    program.finish()
    checks.check("an authorization state of AppAuth is imported", program.process.returncode == 0 and program.lines == guides.output(folder), program)
    return {folder}


def website(checks, guides):
    """The web server of the recipe: this test is the server that starts it, and two browsers."""
    place = guides.home(WEBSITE)

    def get(path, cookies, query=""):
        done = subprocess.run(
            [os.path.join(guides.binaries, "Website")], cwd=place, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT,
            env={"HOME": place, "PATH": os.environ["PATH"], "PATH_INFO": path, "QUERY_STRING": query, "WEBSITE_CLIENT_SECRET": SECRET,
                 "HTTP_COOKIE": "; ".join(f"{name}={value}" for name, value in cookies.items())})
        head, _, body = done.stdout.replace("\r\n", "\n").partition("\n\n")
        fields = dict(line.split(": ", 1) for line in head.split("\n") if ": " in line)
        if "Set-Cookie" in fields:
            name, value = fields["Set-Cookie"].split(";")[0].split("=", 1)
            cookies[name] = value
        return fields.get("Status", "")[:3], fields, body.strip() + done.stderr

    ada, anouk, redirects = {}, {}, {}
    checks.check("the server greets a visitor", get("/", ada) == ("200", get("/", ada)[1], "Hello. Sign in at /sign-in."), get("/", ada))
    for cookies, person in ((ada, "ada@contoso.example"), (anouk, "anouk@contoso.example")):
        status, fields, body = get("/sign-in", cookies)
        if not checks.check(f"it redirects {person} to the provider", status == "303" and fields["Location"].startswith(guides.issuer), (status, fields, body)):
            return
        redirects[person] = web.decide(fields["Location"], person=person).split("?", 1)
        checks.check("and the provider redirects back", redirects[person][0] == "https://website.example/callback", redirects)
    mine, others = redirects["ada@contoso.example"][1], redirects["anouk@contoso.example"][1]
    checks.check("it refuses a redirect without a sign-in", get("/callback", {}, mine)[0] == "400")
    checks.check("it refuses the redirect of another visitor", get("/callback", ada, others)[0] == "400")
    for cookies, query, name in ((ada, mine, "Ada Lovelace"), (anouk, others, "Anouk Nomail")):
        back = get("/callback", cookies, query)
        checks.check(f"another process finishes the sign-in of {name}", back[0] == "303" and back[1].get("Location") == "/", back)
        page = get("/", cookies)
        checks.check("and greets the user", page[2] == f"Hello {name}", page)
    checks.check("it accepts a redirect once", get("/callback", ada, mine)[0] == "400")
    stolen = {"__Host-session": anouk["__Host-session"].split(".")[0] + ".guess"}
    checks.check("the identifier of an account is not a session", get("/", stolen)[2] == "Hello. Sign in at /sign-in.")
    checks.check("a visitor signs out", get("/sign-out", ada)[0] == "303" and get("/", ada)[2] == "Hello. Sign in at /sign-in."
                 and get("/", anouk)[2] == "Hello Anouk Nomail")


def many_users(checks, guides):
    """The server that runs for a long time. This test is its HTTP framework."""
    folder = "ServerWithManyUsers-Signvisitorsin"
    server = guides.start(folder, guides.home(folder))

    def send(*requests):
        """Sends requests at the same time, and returns the responses by session."""
        for request in requests:
            server.write(" ".join(request))
        answers = {}
        while len(answers) < len(requests) and (line := server.line()) is not None:
            session, _, answer = line.partition(": ")
            answers[session] = answer
        return answers

    people = {"one": "ada@contoso.example", "two": "anouk@contoso.example"}
    pages = send(*((session, "/sign-in") for session in people))
    if not checks.check("the server redirects its visitors to the provider", all(page.startswith("303 ") for page in pages.values()) and len(pages) == 2,
                        (pages, str(server))):
        return
    redirects = {session: web.decide(pages[session][4:], person=person) for session, person in people.items()}
    crossed = send(("one", redirects["two"]), ("three", redirects["one"]))
    checks.check("a visitor cannot finish the sign-in of another one", all(page.startswith("400 ") for page in crossed.values()), crossed)
    welcome = send(*redirects.items())
    if not checks.check("each visitor finishes one sign-in, and gets a new session", set(welcome) == set(people)
                        and all(page.startswith("303 / ") for page in welcome.values()), welcome):
        return
    ada, anouk = welcome["one"].split()[-1], welcome["two"].split()[-1]
    greetings = send((ada, "/"), (anouk, "/"), ("one", "/"), ("three", "/"))
    checks.check("each visitor has an account", greetings == {
        ada: "200 Hello Ada Lovelace", anouk: "200 Hello Anouk Nomail", "one": "200 Hello visitor", "three": "200 Hello visitor"}, greetings)
    crowd = send(*((f"visitor{number}", "/sign-in") for number in range(201)))
    statuses = sorted(answer[:3] for answer in crowd.values())
    if not checks.check("200 visitors sign in at the same time, and the next one is told to wait", statuses == ["303"] * 200 + ["503"], statuses):
        return
    session, page = next((one, page) for one, page in crowd.items() if page.startswith("303"))
    late = send((session, web.decide(page[4:], person="ada@contoso.example")))
    checks.check("no sign-in has ended another one", set(late) == {session} and late[session].startswith("303 / "), late)
    send((anouk, "/sign-out"))
    checks.check("a visitor signs out", send((ada, "/"), (anouk, "/")) == {ada: "200 Hello Ada Lovelace", anouk: "200 Hello visitor"})
    ended = server.finish()
    checks.check("the server ends with its input", ended.process.returncode == 0, ended)
