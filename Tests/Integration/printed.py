"""The commands of a page of the documentation, run exactly as the page prints them."""

import json
import os
import re
import subprocess

import elsewhere
from provider import Provider
from world import LIMIT

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SECRET = "not-a-secret"
# The placeholders of the pages for a public and a confidential client, and the client of az.
CLIENTS = ("ID", f"APP:{SECRET}", "04b07795-8ddb-461a-bbee-02f9e1bf7b46")
# A row after one of these commands begins with the set-up of the page.
CHANGES = re.compile(r"lodge (sign-out|accounts rename|config set|sign-in .*--(name|with-token))")


class Page:
    """A page of Documentation.docc: its blocks of code, and the rows of its tables."""

    def __init__(self, name):
        self.name = name
        with open(os.path.join(ROOT, "Documentation.docc", name + ".md"), encoding="utf-8") as file:
            self.text = file.read()
        self.blocks = re.findall(r"^```(\w+)\n(.*?)^```$", self.text, re.M | re.S)
        self.rows = []
        for line in self.text.splitlines():
            if line.startswith("|") and not line.startswith("|---"):
                self.rows.append([cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
        # The line above |---|.
        lines = self.text.splitlines()
        heads = {lines[number - 1] for number, line in enumerate(lines) if line.startswith("|---")}
        self.rows = [row for row in self.rows if f"| {' | '.join(row)} |" not in heads]

    def shell(self, start):
        """Returns the block of shell commands that contains a command."""
        found = [text for language, text in self.blocks if language == "sh" and start in text]
        if not found:
            raise ValueError(f"{self.name} has no block with {start}")
        return found[0]

    def code(self, language, start=""):
        """Returns the blocks of code in a language, or only those with this content."""
        return [text for found, text in self.blocks if found == language and start in text]

    @staticmethod
    def spans(cell):
        return re.findall(r"`([^`]+)`", cell)


class Desk:
    """The home folder of a reader whose provider is the local provider."""

    def __init__(self, world):
        self.world = world
        words = [word for client in CLIENTS for word in ("--client", client)]
        redirects = ("--redirect-uri", "http://localhost:4242")
        self.provider = Provider(world, "--tls", "--approve", *words, *redirects)
        local = self.provider.settings["types"]["local"]
        self.issuer, self.certificate = local["issuer"], local["caFile"]
        world.write("lodge", f'#!/bin/sh\nexec python3 {os.path.join(world.here, "elsewhere.py")} "$@"\n')
        os.chmod(world.path("lodge"), 0o700)
        os.rename(world.path("lodge"), os.path.join(world.make("bin"), "lodge"))
        self.number = 0
        self.fresh()

    def fresh(self):
        """Begins in an empty home folder."""
        self.number += 1
        self.sit(self.world.make(f"home-{self.number}"))
        self.write("work/secret.txt", SECRET + "\n")
        self.write("work/token.txt", "unused\n")
        self.write("work/addresses.txt", "ada@contoso.example\n")

    def sit(self, home):
        """Uses a home folder."""
        self.home = home
        self.environment = {
            **self.world.environment, "HOME": self.home, "PATH": self.world.path("bin") + ":" + self.world.environment["PATH"],
            "LODGE_PROGRAM": self.world.program, "LOCAL_PROVIDER": self.issuer, "LODGE_CA_FILE": self.certificate,
            # The user's browser is a Python program.
            "SSL_CERT_FILE": self.certificate, "AZURE_CLIENT_SECRET": SECRET, "CLIENT_SECRET": SECRET}
        del self.environment["LODGE_STORE"]

    def write(self, path, content):
        """Writes a file of the home folder that only the user can read."""
        path = os.path.join(self.home, path)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        os.chmod(path, 0o600)
        return path

    def bash(self, script, **environment):
        """Runs a script in the folder `work` of the home folder. It ends at the first error."""
        return subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", script], env={**self.environment, **environment}, cwd=os.path.join(self.home, "work"),
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT)

    def refresh_token(self, client="ID"):
        """Signs in elsewhere, and returns the refresh token of the new account."""
        self.number += 1
        there = {"HOME": self.world.make(f"home-{self.number}")}
        done = self.bash(
            f"lodge providers add other --issuer https://id.example --client-id {client} --scope '{' '.join(elsewhere.SCOPES)}' >&2;"
            " lodge sign-in other >&2;"
            " lodge accounts export --reveal-secrets", **there)
        if done.returncode:
            raise OSError(f"no sign-in: {done}")
        return json.loads(done.stdout)["accounts"][0]["refreshToken"]


def run_rows(checks, desk, page, set_up, not_run):
    """Runs the commands in the last column of each row. Every other word in code is a key of the settings, a variable or a preset. A row
    without code says that there is no equivalent. `not_run` has the beginnings of the commands that the topic does not run."""
    words = known_words(desk)
    ready = None
    for row in page.rows:
        spans = page.spans(row[-1])
        commands = [span for span in spans if span.startswith("lodge ") and not span.startswith(tuple(not_run))]
        if not spans:
            checks.check(f"{page.name}: {row[0]}: the row says that there is no equivalent",
                         row[-1].startswith(("No equivalent", "Not needed")) or "<doc:" in row[-1], row)
        unknown = [span for span in spans if not span.startswith("lodge ") and span not in words and span not in EXPLANATIONS]
        if unknown:
            checks.check(f"{page.name}: {row[0]}: every key, variable and option exists", False, unknown)
        if not commands:
            continue
        if commands[0].startswith("lodge providers add"):
            desk.fresh()
        elif ready:
            desk.sit(ready)
        else:
            desk.fresh()
            done = desk.bash(set_up)
            if not checks.check(f"{page.name}: the set-up succeeds before: {row[0]}", done.returncode == 0, done):
                return
            ready = desk.home
        for command in commands:
            if "response.json" in command:
                desk.write("work/response.json", {
                    "token_type": "Bearer", "access_token": "expired", "expires_in": 0, "refresh_token": desk.refresh_token()})
            if "upload.py" in command:
                desk.write("work/upload.py", "import os\nprint(os.environ['IDENTITY_ENDPOINT'])\n")
            done = desk.bash(command)
            checks.check(f"{page.name}: {command}", done.returncode == 0 and (done.stdout or done.stderr or "refresh" in command), done)
            if CHANGES.match(command) and desk.home == ready:
                ready = None


# Code in the last column that is neither a command nor a word of lodge.
EXPLANATIONS = {'{"environment": NAME}', '{"file": PATH}', "audience", "issuer", "refresh_token"}


def known_words(desk):
    """Returns the keys, the variables, the options and the formats that lodge documents."""
    pages = [("help", topic) for topic in ("settings", "environment", "options", "sign-in", "token", "formats")]
    help_ = "\n".join(desk.world.run(*words).out for words in (*pages, ("providers",)))
    return set(re.findall(r"^ +([A-Za-z][\w-]*)(?=  |$|,)", help_, re.M)) | set(re.findall(r"^([\w-]+)\t", help_, re.M)) \
        | set(re.findall(r"--[a-z-]+", help_))
