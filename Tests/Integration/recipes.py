"""The recipes for the command: every block of shell commands, the steps of the CI systems and the service of systemd, run as printed."""

import configparser
import json
import os
import re
import shlex
import shutil
import subprocess

import elsewhere
from printed import SECRET, Desk, Page
from provider import Provider
from world import LIMIT

# The end of the block that creates a store for CI.
CREATED = "lodge sign-in work\ntar -cf ci-store.tar ci-store"


def run(checks, world):
    desk, page = Desk(world), Page("Recipes")
    # No machine of the checks runs systemd, and the blocks with a store run below.
    others = [page.shell("systemctl"), page.shell(CREATED), page.shell("tar -xf"), page.shell("--settings settings.json"),
              # The topic certificates runs these.
              page.shell("openssl req"), page.shell("entra-workload"),
              # The function platforms runs these.
              *[page.shell(text) for text in ("sign-in graph-vm", "sign-in compute", "sign-in staff")]]
    blocks = [text for language, text in page.blocks if language == "sh" and text not in others]
    checks.check("the page has the recipes of the providers", len(blocks) == 4, blocks)
    for block in blocks:
        desk.fresh()
        done = desk.bash(block)
        checks.check(block.splitlines()[0], done.returncode == 0 and "Lovelace" in done.stdout, done)
    plain(checks, desk, page)
    platforms(checks, world, desk, page)
    github_actions(checks, desk, page)
    gitlab_ci(checks, desk, page)
    own_account(checks, desk, page)
    timer(checks, desk, page)


def plain(checks, desk, page):
    desk.fresh()
    sample, = page.code("json", '"plain"')
    desk.write("work/settings.json", elsewhere.local(sample, desk.issuer).replace("graph.microsoft.com", desk.issuer.split("://")[1]))
    done = desk.bash(page.shell("--settings settings.json"))
    checks.check("OAuth 2 without OpenID Connect: the request has a token", done.returncode == 0 and "Lovelace" in done.stdout, done)


def platforms(checks, world, desk, page):
    """The recipes of a managed identity, of Google Compute and of a service account, with the services of the local provider."""
    desk.fresh()
    key = subprocess.run(["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"], capture_output=True, text=True, timeout=LIMIT)
    content = {"type": "service_account", "client_email": "app@local.iam.gserviceaccount.com", "private_key": key.stdout, "private_key_id": "k1"}
    provider = Provider(world, "--service-account", desk.write("work/serve.json", content))
    host = provider.issuer.split("://")[1]
    file = desk.write("work/key.json", {**content, "token_uri": provider.issuer + "/google/token"})
    local = {
        "graph-vm": {"graphAPI": provider.issuer + "/", "scopes": ["https://graph.microsoft.com/.default"]}, "compute": {"resourceHosts": [host]},
        "staff": {"directoryBase": provider.issuer + "/admin/directory/v1", "knownAuthorities": ["127.0.0.1"]}}
    there = {"LOCAL_PROVIDER": provider.issuer, "AZURE_POD_IDENTITY_AUTHORITY_HOST": provider.issuer, "GCE_METADATA_HOST": host}
    for name, keys in local.items():
        sample, = page.code("json", f'"{name}"')
        sample = sample.replace("/etc/lodge/key.json", file).replace("admin@example.com", "ada@contoso.example")
        settings = json.loads(sample)
        settings["types"][name] |= keys
        block = page.shell(f"sign-in {name}")
        desk.write("work/" + re.search(r"--settings (\S+)", block)[1], settings)
        done = desk.bash(block, **there)
        found = "token_endpoint" if name == "compute" else "Lovelace"
        checks.check(f"{name}: the recipe signs in and uses the token", done.returncode == 0 and found in done.stdout, done)
        done = desk.bash(f"lodge --settings {re.search(r'--settings (.*)', block)[1].split()[0]} providers check {name}", **there)
        checks.check(f"{name}: providers check shows the source", done.returncode == 0 and "responds" in done.stdout, done)


def github_actions(checks, desk, page):
    """Runs the steps as the runner does: each in a new shell, with the variables of the job."""
    job, = page.code("yaml", "steps:")
    desk.fresh()
    variables = {}
    for name, value in re.findall(r"^      ([A-Z_]+): (.*)$", job, re.M):
        variables[name] = value.replace("${{ runner.temp }}", desk.home).replace("${{ secrets.CLIENT_SECRET }}", SECRET)
    steps = [re.sub(r"^ {10}", "", step, flags=re.M) for step in re.findall(r"^        run: \|\n((?: {10}.*\n)+)", job, re.M)]
    checks.check("GitHub Actions: the job has three variables and three steps",
                 set(variables) == {"LODGE_NO_INPUT", "LODGE_STORE", "CLIENT_SECRET"} and len(steps) == 3
                 and not any("${{" in value for value in variables.values()), job)
    ci(checks, desk, "GitHub Actions", steps, variables)


def gitlab_ci(checks, desk, page):
    """Runs the lines as the runner does: one shell for the script, and another one for after_script."""
    job, = page.code("yaml", "after_script:")
    desk.fresh()
    variables = {"CI_PROJECT_DIR": os.path.join(desk.home, "work"), "CLIENT_SECRET": SECRET}
    for name, value in re.findall(r"^    ([A-Z_]+): (.*)$", job, re.M):
        variables[name] = value.strip('"').replace("$CI_PROJECT_DIR", variables["CI_PROJECT_DIR"])
    script, after = job.split("  script:\n", 1)[1].split("  after_script:\n")
    steps = [re.sub(r"^    - ", "", lines, flags=re.M) for lines in (script, after)]
    checks.check("GitLab CI: the job has variables, a script and an end",
                 "LODGE_STORE" in variables and all("    - " not in step for step in steps), job)
    ci(checks, desk, "GitLab CI", steps, variables)


def ci(checks, desk, name, steps, variables):
    for step in steps:
        done = desk.bash(step, **variables)
        first = step.splitlines()[0].rstrip(" \\")
        if not checks.check(f"{name}: {first[:60]}", done.returncode == 0 and SECRET not in done.stderr, done):
            return
    with open(os.path.join(desk.home, "work", "users.csv"), encoding="utf-8") as file:
        users = file.read()
    checks.check(f"{name}: the job looks up the users", "Ada Lovelace" in users, users)
    left = desk.bash("lodge accounts --output json", **variables)
    checks.check(f"{name}: no account remains", json.loads(left.stdout) == [], left)


def own_account(checks, desk, page):
    """Creates the store on one machine, and runs the job twice on others, which have only the archive that the job before saved."""
    desk.fresh()
    made = desk.bash(page.shell(CREATED))
    if not checks.check("your own account in CI: a store with a passphrase", made.returncode == 0, made):
        return
    job = page.shell("tar -xf")
    for number in ("first", "second"):
        before = os.path.join(desk.home, "work")
        desk.fresh()
        for file in ("settings.json", "passphrase", "ci-store.tar"):
            shutil.copy2(os.path.join(before, file), os.path.join(desk.home, "work"))
        # The token of the job before has expired.
        done = desk.bash(job.replace("lodge search", "lodge token --refresh > token; lodge search", 1))
        users = os.path.join(desk.home, "work", "users.csv")
        found = open(users, encoding="utf-8").read() if os.path.exists(users) else ""
        checks.check(f"your own account in CI: the {number} job", done.returncode == 0 and "Ada Lovelace" in found, done)
    refused = desk.bash("echo another passphrase-of-the-same-length > passphrase; " + job)
    checks.check("your own account in CI: the archive is useless without the passphrase", refused.returncode == 9, refused)


def timer(checks, desk, page):
    """Runs the command of the service. systemd checks both files, if it is installed."""
    desk.fresh()
    desk.bash("lodge providers add work --issuer https://id.example --client-id ID && lodge sign-in work")
    service, = page.code("ini", "[Service]")
    schedule, = page.code("ini", "[Timer]")
    checks.check("the timer starts the service", "`~/.config/systemd/user/lodge-refresh.service`" in page.text
                 and "`~/.config/systemd/user/lodge-refresh.timer`" in page.text and "lodge-refresh.timer" in page.shell("systemctl"))
    reader = configparser.ConfigParser(interpolation=None)
    reader.optionxform = str
    reader.read_string(service)
    words = shlex.split(reader["Service"]["ExecStart"])
    checks.check("the service has the full path of lodge", words[0] == "/usr/local/bin/lodge", words)
    done = desk.bash(shlex.join(["lodge", *words[1:]]))
    checks.check("the service refreshes all accounts", done.returncode == 0, done)
    if not shutil.which("systemd-analyze"):
        return print("skipped: the files of systemd, because it is not installed", flush=True)
    files = [desk.write("units/lodge-refresh.service", service.replace(words[0], os.path.join(desk.world.path("bin"), "lodge"))),
             desk.write("units/lodge-refresh.timer", schedule)]
    verified = subprocess.run(["systemd-analyze", "verify", "--user", *files], env={**desk.environment, "XDG_RUNTIME_DIR": desk.home},
                              capture_output=True, text=True, timeout=LIMIT, stdin=subprocess.DEVNULL)
    about = [line for line in verified.stderr.splitlines() if "lodge-refresh" in line]
    checks.check("systemd accepts the service and the timer", verified.returncode == 0 and not about, verified)
