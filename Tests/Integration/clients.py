"""Unmodified Python clients with `lodge serve --tls --approve`: MSAL, Authlib, msgraph-sdk and scim2-client."""

import concurrent.futures
import json
import os
import subprocess
import sys

import web
from world import LIMIT, PATIENT, address_shown

SCRIPTS = {"msal_client": "MSAL", "authlib_client": "Authlib", "graph_client": "msgraph-sdk", "scim_client": "scim2-client"}


def run(checks, world):
    python = world.python("clients")
    running = world.start("serve", "--tls", "--approve", "--output", "json")
    shown = running.wait_for(lambda running: running.out if running.out.endswith("}\n") else None)
    if not shown:
        raise OSError(f"serve did not start: {running.err}")
    provider = json.loads(shown)
    description = world.write("provider.json", shown)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda script: run_script(world, python, provider, description, script), SCRIPTS))
    for script, done in zip(SCRIPTS, results):
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        for line in lines:
            checks.check(f"{SCRIPTS[script]}: {line['sentence']}", line["holds"], line["detail"])
        checks.check(f"{SCRIPTS[script]}: the script completes", done.returncode == 0 and lines, done.stderr[-3000:])
    with_certificate(checks, world, provider, running)


def run_script(world, python, provider, description, script):
    environment = {**world.environment, "REQUESTS_CA_BUNDLE": provider["caFile"], "SSL_CERT_FILE": provider["caFile"]}
    return subprocess.run(
        [python, "-W", "ignore", os.path.join(world.here, "peers", "clients", script + ".py"), description],
        env=environment, capture_output=True, text=True, timeout=4 * LIMIT, stdin=subprocess.DEVNULL)


def sign_in(world, provider, **environment):
    """Signs in with a browser that trusts the provider."""
    waiting = world.start("sign-in", "--no-browser", *PATIENT, **environment)
    url = address_shown(waiting)
    if url:
        web.send(web.send(url, ca_file=provider["caFile"]).fields["Location"])
    return waiting.finish()


def with_certificate(checks, world, provider, running):
    """lodge as a client of the provider, and Python's strict check of the certificate."""
    world.use_settings(provider["settings"])
    checks.ends("lodge signs in over HTTPS with the printed settings", sign_in(world, provider), 0, "Signed in to local as")
    checks.ends("lodge searches", world.run("search", "ada"), 0)
    entra = {"types": {"entra": {
        "authority": provider["authority"], "clientId": provider["clients"][0]["id"], "caFile": provider["caFile"],
        "redirectUri": "http://localhost/callback", "scopes": ["openid", "profile", "offline_access", "User.Read"],
        "graphAPI": provider["settings"]["types"]["local"]["graphAPI"]}}}
    there = {"LODGE_SETTINGS": world.write("entra.json", entra), "LODGE_STORE": world.path("store-entra")}
    checks.ends("lodge signs in with the authority of the tenant", sign_in(world, provider, **there), 0,
                "Signed in to entra as")
    look = """if True:
        import socket, ssl, sys
        context = ssl.create_default_context(cafile=sys.argv[1])
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        for name in ("localhost", "127.0.0.1", "::1"):
            with socket.create_connection(("127.0.0.1", int(sys.argv[2]))) as plain:
                context.wrap_socket(plain, server_hostname=name).close()
        """
    port = provider["issuer"].rsplit(":", 1)[1]
    done = subprocess.run([sys.executable, "-c", look, provider["caFile"], port], capture_output=True, text=True,
                          timeout=LIMIT)
    checks.check("the certificate is for localhost, 127.0.0.1 and ::1, and conforms to RFC 5280", done.returncode == 0,
                 done.stderr)
    running.stop()
    checks.check("serve deletes the CA file when it ends", not os.path.exists(provider["caFile"]))
