"""The migration guides for the command: every block of shell commands, and the commands of every row, run exactly as printed. Then the files
of the other commands are imported."""

import json
import os
import re
import shutil
import subprocess

from elsewhere import use_local_provider
from printed import Desk, Page, run_rows
from world import LIMIT, eventually

# The beginnings of commands that this topic does not run.
NOT_RUN = {
    "lodge request GET /groups": "the local directory has no list of groups",
    "lodge request PATCH": "the local directory is read-only",
    "lodge config set": "the key moves to a keyring, which the topic keyring checks"}


def run(checks, world):
    desk = Desk(world)
    guides = {name: Page(name) for name in (
        "MigratingFromMGC", "MigratingFromAzureCLI", "MigratingFromM365", "MigratingFromPizauth", "MigratingFromOama",
        "MigratingFromOIDCAgent")}
    for page in guides.values():
        # The first block of the page is the set-up for its rows.
        run_rows(checks, desk, page, next(text for language, text in page.blocks if language == "sh"), NOT_RUN)
    printed = "".join(page.text for page in guides.values())
    checks.check("every command that does not run is in a guide", all(f"`{command} " in printed for command in NOT_RUN), NOT_RUN)
    msal(checks, desk, guides["MigratingFromAzureCLI"], ".azure/msal_token_cache.json", "04b07795-8ddb-461a-bbee-02f9e1bf7b46")
    msal(checks, desk, guides["MigratingFromM365"], ".cli-m365-msal.json", "ID")
    configuration(checks, desk, guides["MigratingFromPizauth"], "text", ".config/pizauth.conf", "officesmtp")
    configuration(checks, desk, guides["MigratingFromOama"], "yaml", ".config/oama/config.yaml", "microsoft")
    oama_credentials(checks, desk, guides["MigratingFromOama"])
    oidc_agent(checks, desk, guides["MigratingFromOIDCAgent"])


def msal(checks, desk, page, file, client):
    """Imports a token cache with a refresh token of the local provider. Its access token is for another API."""
    desk.fresh()
    common = {"home_account_id": "user.tenant", "environment": "localhost", "client_id": client}
    resource = "https://management.core.windows.net//.default"
    desk.write(file, {
        "RefreshToken": {"user.tenant-localhost-refreshtoken-1--": {
            **common, "credential_type": "RefreshToken", "secret": desk.refresh_token(client), "family_id": "1",
            "target": f"{resource} offline_access openid profile"}},
        "AccessToken": {"user.tenant-localhost-accesstoken": {
            **common, "credential_type": "AccessToken", "secret": "another-api", "realm": "tenant", "target": resource, "token_type": "Bearer",
            "cached_at": "1790000000", "expires_on": "4000000000"}},
        "Account": {"user.tenant-localhost-tenant": {
            "home_account_id": "user.tenant", "environment": "localhost", "realm": "tenant", "username": "ada@contoso.example",
            "authority_type": "MSSTS"}},
        "AppMetadata": {}})
    done = desk.bash(page.shell("lodge accounts import"))
    token = desk.bash("lodge token --scope https://graph.microsoft.com/.default")
    checks.check(f"{page.name}: the account of ~/{file} is imported, and gets a token for this API", done.returncode == 0
                 and "Lovelace" in done.stdout and token.stdout.strip() not in ("", "another-api"), f"{done}\n{token}")


def configuration(checks, desk, page, language, file, name):
    """Imports the sample configuration of a guide, and signs in with the account type that lodge prints."""
    desk.fresh()
    desk.bash("lodge providers add other --issuer https://id.example --client-id OTHER")
    sample, = page.code(language)
    desk.write(file, sample)
    command = page.shell("lodge accounts import ~/.config")
    told, record = desk.bash(command), desk.bash(command.strip() + " --output json")
    checks.check(f"{page.name}: the import ends with 3, as the guide says", told.returncode == 3 and "ends with 3" in page.text, told)
    reason = json.loads(record.stdout or "[{}]")[0].get("reason", "")
    types = json.loads("{" + reason.partition("sign in: ")[2] + "}")
    scopes = re.findall(r"https://outlook[\w.]+/[\w.]+", sample)
    printed = types.get(name, {})
    checks.check(f"{page.name}: it prints the client and the scopes of the sample", printed.get("clientId") == "ID"
                 and set(scopes) < set(printed.get("scopes", [])), record)
    settings = desk.write("printed.json", {"types": types})
    shown = desk.bash(f"lodge --settings {settings} providers show {name} --output json")
    checks.check(f"{page.name}: lodge reads the printed type", json.loads(shown.stdout or "{}").get("clientId") == "ID", shown)
    use_local_provider(settings, desk.issuer)
    done = desk.bash(f"export LODGE_SETTINGS={settings}\nlodge sign-in {name}\nlodge token")
    checks.check(f"{page.name}: a sign-in to the printed type gets a token", done.returncode == 0 and done.stdout.strip(), done)


def oama_credentials(checks, desk, page):
    """Imports the credentials that oama encrypted with GPG, and those in a keyring."""
    desk.fresh()
    desk.bash(page.shell("lodge sign-in microsoft").partition("lodge sign-in")[0])
    credentials = json.dumps({
        "email": "ada@contoso.example", "service": "own", "scope": "openid profile offline_access", "refresh_token": desk.refresh_token(),
        "access_token": "old", "token_type": "Bearer", "exp_date": "2026-01-01 00:00:00 UTC", "expires_in": 3599})
    # The keyring of the desktop. The topic keyring has a real one, for the key of a store.
    desk.write("bin/secret-tool", f"#!/bin/sh\n[ \"$*\" = 'lookup oama ada@contoso.example' ] && cat <<'E'\n{credentials}\nE\n")
    os.chmod(os.path.join(desk.home, "bin", "secret-tool"), 0o700)
    done = desk.bash("PATH=$HOME/bin:$PATH\n" + page.shell("secret-tool lookup"))
    checks.check(f"{page.name}: the credentials of the keyring are imported", done.returncode == 0 and done.stdout.splitlines()[-1:], done)
    if not shutil.which("gpg"):
        return print("skipped: the import of encrypted credentials, because gpg is not installed", flush=True)
    desk.bash("lodge sign-out --all --local")
    credentials = json.dumps({**json.loads(credentials), "refresh_token": desk.refresh_token()})
    folder = os.path.join(desk.home, ".gnupg")
    desk.write(".gnupg/passphrase", "a passphrase\n")
    desk.write(".gnupg/gpg.conf", f"batch\nquiet\npinentry-mode loopback\npassphrase-file {folder}/passphrase\n")
    os.chmod(folder, 0o700)
    desk.write("plain", credentials)
    environment = dict(desk.environment)
    desk.world.closers.append(lambda: subprocess.run(["gpgconf", "--kill", "gpg-agent"], env=environment, check=False, timeout=LIMIT))
    state = ".local/state/oama"
    made = desk.bash(f"mkdir -p ~/{state} && gpg --symmetric --output ~/{state}/ada@contoso.example.oauth ~/plain")
    done = desk.bash(page.shell("gpg --decrypt"))
    checks.check(f"{page.name}: the encrypted credentials are imported, and get a token", made.returncode == 0 and done.returncode == 0
                 and done.stdout.splitlines()[-1:] not in ([], ["old"]), f"{made}\n{done}")


def oidc_agent(checks, desk, page):
    """Imports an account that oidc-gen created and oidc-agent used. Then compares the options of the guide with the installed version."""
    desk.fresh()
    if not shutil.which("oidc-gen"):
        return print("skipped: the account of oidc-agent, because oidc-gen is not installed", flush=True)
    socket = os.path.join(desk.world.make("oidc-agent"), "socket")
    agent = subprocess.Popen(
        ["oidc-agent", "--console", f"--socket-path={socket}"], env=desk.environment, cwd=desk.home, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def stop():
        agent.terminate()
        agent.wait(LIMIT)
    desk.world.closers.append(stop)
    if not checks.check("oidc-agent starts", eventually(lambda: os.path.exists(socket) or agent.poll() is not None) and agent.poll() is None,
                        agent.poll()):
        return
    desk.environment["OIDC_SOCK"] = socket
    password = desk.write("password", "a password\n")
    desk.write(".oidc-agent/issuer.config", "")
    made = desk.bash(
        f"oidc-gen work --issuer {desk.issuer} --client-id ID --client-secret '' --redirect-uri http://localhost:4242 --flow=refresh"
        f" --scope 'openid profile offline_access' --cp {desk.certificate} --rt-env --pw-file={password} --prompt=none --confirm-default",
        OIDC_REFRESH_TOKEN=desk.refresh_token())
    used = desk.bash("oidc-token work")
    if not checks.check("oidc-gen creates an account, and oidc-token prints its token", made.returncode == 0 and used.stdout.strip(),
                        f"{made}\n{used}"):
        return
    shown = desk.bash(f"oidc-gen --print=work --pw-file={password}")
    sample, = page.code("json")
    checks.check(f"{page.name}: the sample has the members of the file", set(json.loads(sample)) <= set(json.loads(shown.stdout)), shown)
    # oidc-gen prompts for the password.
    program = shutil.which("oidc-gen")
    desk.write("bin/oidc-gen", f"#!/bin/sh\nexec {program} \"$@\" --pw-file={password}\n")
    os.chmod(os.path.join(desk.home, "bin", "oidc-gen"), 0o700)
    done = desk.bash("PATH=$HOME/bin:$PATH\n" + page.shell("oidc-gen --print=work |"))
    checks.check(f"{page.name}: the account is imported, and gets a token", done.returncode == 0
                 and done.stdout.splitlines()[-1:] not in ([], [used.stdout.strip()]), done)
    options = set()
    for row in page.rows:
        for span in page.spans(row[0]):
            options |= {(span.split()[0], option) for option in re.findall(r"--[a-z-]+", span) if span.startswith("oidc-")}
    help_ = {name: subprocess.run([name, "--help"], env=desk.environment, capture_output=True, text=True, timeout=LIMIT).stdout
             for name in {name for name, _ in options}}
    unknown = [f"{name} {option}" for name, option in sorted(options) if not re.search(rf"{option}\b", help_[name])]
    checks.check(f"{page.name}: {len(options)} options are those of oidc-agent", len(options) > 20 and not unknown, unknown)
