"""The key of a client certificate in a TPM, here a software TPM, and the errors of keys in devices."""

import base64
import json
import re
import shlex
import socket
import subprocess

from certificates import Recorder, account_type, part
from printed import Page
from world import LIMIT, Running, eventually, free_port

HANDLE = "handle:0x81000001"
PIN = "open sesame"


def adjacent_ports():
    """Returns the first of two free ports: clients of swtpm expect its control channel on the next port."""
    while True:
        port = free_port()
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port + 1))
                return port
            except OSError:
                continue


class SoftwareTPM:
    """swtpm on loopback. It has no resource manager: one connection at a time, and memory for three loaded keys."""

    def __init__(self, world):
        self.world = world
        port = adjacent_ports()
        self.running = Running(
            ["swtpm", "socket", "--tpm2", "--tpmstate", f"dir={world.make('tpm')}", "--server",
             f"type=tcp,port={port},disconnect", "--ctrl", f"type=tcp,port={port + 1}", "--flags", "not-need-init,startup-clear"],
            world.environment, world.make("outputs"), world.folder)
        world.closers.append(self.running.stop)
        connection = f"swtpm:host=127.0.0.1,port={port}"
        self.environment = {"TPM2OPENSSL_TCTI": connection, "TPM2TOOLS_TCTI": connection, "PIN": PIN}
        if not eventually(lambda: self.shell("tpm2_getcap properties-fixed").returncode == 0):
            raise OSError(f"the TPM did not start: {self.running.err}")
        # Otherwise three wrong passwords would lock the keys.
        self.shell("tpm2_dictionarylockout --setup-parameters --max-tries 1000 --recovery-time 1 --lockout-recovery-time 1")

    def shell(self, text):
        """Runs a command, and frees the memory of loaded keys."""
        done = subprocess.run(
            ["bash", "-c", text], cwd=self.world.folder, env={**self.world.environment, **self.environment}, capture_output=True,
            text=True, timeout=LIMIT, stdin=subprocess.DEVNULL)
        if "tpm2_" in text:
            subprocess.run(["tpm2_flushcontext", "--transient-object"], env={**self.world.environment, **self.environment},
                           capture_output=True, timeout=LIMIT)
        return done


def run(checks, world):
    for package in ("swtpm", "tpm2-openssl", "tpm2-tools"):
        world.require(package)
    tpm = SoftwareTPM(world)
    page = Page("WorkloadIdentity")
    for line in (page.shell("tpm2_create ") + page.shell("openssl req -provider")).splitlines():
        done = tpm.shell(line.strip())
        checks.check(f"the page creates the key and its certificate: {line.strip()[:60]}", done.returncode == 0, done)
    certificate = world.path("app.crt")
    running = world.start("serve", "--tls", "--output", "json", "--client-certificate", "app=" + certificate)
    shown = running.wait_for(lambda running: running.out if running.out.endswith("}\n") else None)
    if not shown:
        raise OSError(f"serve did not start: {running.err}")
    provider = json.loads(shown)
    added(checks, world, tpm, page, provider)
    signed(checks, world, tpm, certificate)
    accepted(checks, world, tpm, certificate, provider)
    rejected(checks, world, tpm, certificate, provider)


def keys(provider):
    return {"caFile": provider["caFile"], "graphAPI": provider["settings"]["types"]["local"]["graphAPI"]}


def added(checks, world, tpm, page, provider):
    """Runs the commands of the page with the local provider."""
    there = {**tpm.environment, "LODGE_SETTINGS": world.path("page.json"), "LODGE_STORE": world.path("page")}
    world.write("addresses.txt", "ada@contoso.example\n")
    for line in page.shell("--key handle:").splitlines():
        words = shlex.split(line.replace("TENANT", provider["tenant"]).replace("--client-id APP", "--client-id app"))[1:]
        if words[1] == "add":
            for name, value in {"authority": provider["authority"], **keys(provider)}.items():
                words += ["--set", f"{name}={value}"]
        done = world.run(*words, **there)
        checks.check(f"the page: {line.strip()[:70]}", done.status == 0 and (words[0] != "lookup" or "Lovelace" in done.out), done)
    with open(world.path("page.json"), encoding="utf-8") as file:
        text = file.read()
    checks.check("the settings have the URI, and no password", f'"{HANDLE}"' in text and PIN not in text, text)
    for words in (("providers", "check", "entra-workload"), ("doctor", "--offline")):
        done = world.run(*words, **there)
        checks.check(f"{words[0]} shows where the key is", f"{HANDLE} in the TPM" in re.sub(r"\s+", " ", done.out), done)
    # The TPM has one connection, so the processes wait for each other.
    commands = [world.start("token", "--refresh", **there) for _ in range(4)]
    outcomes = [command.finish() for command in commands]
    checks.check("four processes sign at the same time", all(done.status == 0 for done in outcomes), [str(done) for done in outcomes])


def signed(checks, world, tpm, certificate):
    """OpenSSL verifies the signatures with the certificate."""
    recorder = Recorder(world)
    pss = ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:digest"]
    public = world.write("app.public", tpm.shell("openssl x509 -in app.crt -noout -pubkey").stdout)
    for algorithm, options, path in (("PS256", pss, "tenant"), ("RS256", [], "adfs")):
        name = algorithm.lower()
        # AD FS has RS256 without a setting.
        types = {name: account_type(f"{recorder.origin}/{path}", "app", credential(certificate))}
        recorder.endpoint = f"{recorder.origin}/{path}/oauth2/token"
        done, _ = sign_in(world, tpm, types, name)
        checks.ends(f"{algorithm}: lodge signs in", done, 0)
        assertion = (recorder.forms[-1] if recorder.forms else {}).get("client_assertion", "e30.e30.")
        content, _, signature = assertion.rpartition(".")
        checks.check(f"{algorithm} is in the header", part(content.split(".")[0]).get("alg") == algorithm, assertion)
        with open(world.path("signature"), "wb") as file:
            file.write(bytes_of(signature))
        world.write("content", content)
        done = subprocess.run(
            ["openssl", "dgst", "-sha256", "-verify", public, *options, "-signature", world.path("signature"), world.path("content")],
            capture_output=True, text=True, timeout=LIMIT)
        checks.check(f"openssl verifies the {algorithm} signature", done.returncode == 0, done)


def bytes_of(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def credential(certificate, key=HANDLE, **members):
    return {"certificate": certificate, "key": key, "password": {"environment": "PIN"}, **members}


def sign_in(world, tpm, types, name, **environment):
    settings = world.write(f"settings-{name}.json", {"types": types})
    there = {**tpm.environment, "LODGE_SETTINGS": settings, "LODGE_STORE": world.path(f"store-{name}"), **environment}
    return world.run("sign-in", name, "--client-credentials", **there), there


def accepted(checks, world, tpm, certificate, provider):
    for name, members in (("pss", {}), ("pkcs", {"algorithm": "RS256"})):
        types = {name: account_type(provider["authority"], "app", credential(certificate, **members), **keys(provider))}
        done, there = sign_in(world, tpm, types, name)
        checks.ends(f"the provider accepts the assertion of the TPM: {name}", done, 0)
        checks.ends(f"{name}: a refresh signs a new assertion", world.run("token", "--refresh", **there), 0)


def rejected(checks, world, tpm, certificate, provider):
    done = tpm.shell("openssl req -x509 -newkey rsa:2048 -noenc -keyout other.key -out other.crt -days 365 -subj /CN=other")
    checks.check("openssl creates another certificate", done.returncode == 0, done)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        absent = f"swtpm:host=127.0.0.1,port={unused.getsockname()[1]}"
        for name, members, environment, reason, hint in (
                ("password", {}, {"PIN": "wrong"}, "found a password that the TPM refuses", "correct password"),
                ("no-password", {"password": ""}, {}, "found a password that the TPM refuses", "correct password"),
                ("handle", {"key": "handle:0x81000002"}, {}, "handle:0x81000002: expected the RSA key of the certificate, found no key",
                 "tpm2_getcap handles-persistent"),
                ("other", {"certificate": world.path("other.crt")}, {}, "the key of another certificate", "must be a pair"),
                ("no-provider", {}, {"OPENSSL_MODULES": world.folder}, "no provider tpm2", "tpm2-openssl"),
                ("no-tpm", {}, {"TPM2OPENSSL_TCTI": absent}, "a TPM that does not respond", "/dev/tpmrm0"),
                ("token", {"key": "pkcs11:token=work;object=app"}, {"OPENSSL_MODULES": world.folder}, "no provider pkcs11",
                 "pkcs11-provider")):
            types = {name: account_type(provider["authority"], "app", {**credential(certificate), **members}, **keys(provider))}
            done, _ = sign_in(world, tpm, types, name, **environment)
            text = re.sub(r"\s+", " ", done.err)
            checks.check(f"{name}: exit status 8, the reason and a hint", done.status == 8 and reason in text and hint in text, done)
            lines = [line.split(":")[0] for line in done.err.splitlines() if not line.startswith(" ")]
            checks.check(f"{name}: one message and one hint", lines == ["lodge", "hint"], done)
            checks.check(f"{name}: no password", PIN not in done.err and "sign in again" not in done.err, done)
    types = {"missing": account_type(provider["authority"], "app", {"certificate": certificate, "key": HANDLE}, **keys(provider))}
    done, _ = sign_in(world, tpm, types, "missing")
    checks.check("without a password, the hint names password", done.status == 8 and "add password" in done.err, done)
