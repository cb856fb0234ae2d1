"""MSAL and azure-identity authenticate with the same certificates as lodge, used without changes.

certificate_client.py DESCRIPTION: reads the authority, the tenant and the files from a JSON file. Prints one JSON object per client with
the form of its token request and the decoded assertion, or the error."""

import base64
import json
import sys
import urllib.parse

import msal
import requests
from azure.core.exceptions import ClientAuthenticationError
from azure.identity import CertificateCredential

SCOPE = "https://graph.microsoft.com/.default"
forms = []
send = requests.Session.send


def record(session, request, **options):
    if request.method == "POST":
        body = request.body.decode() if isinstance(request.body, bytes) else request.body
        forms.append(dict(urllib.parse.parse_qsl(body)))
    return send(session, request, **options)


def part(text):
    return json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))


def run(name, client):
    forms.clear()
    try:
        token, error = client(), None
    except (ClientAuthenticationError, ValueError) as problem:
        token, error = None, str(problem)
    form = forms[-1] if forms else {}
    header, claims, _ = (form.get("client_assertion") or "e30.e30.").split(".")
    print(json.dumps({"name": name, "token": token, "error": error, "form": form, "header": part(header), "claims": part(claims)}))


def with_msal(identifier, credential):
    def client():
        app = msal.ConfidentialClientApplication(
            identifier, authority=given["authority"], client_credential=credential, instance_discovery=False)
        found = app.acquire_token_for_client([SCOPE])
        if "access_token" not in found:
            raise ValueError(found.get("error_description"))
        return found["access_token"]
    return client


def with_azure(identifier, path, **options):
    host = urllib.parse.urlsplit(given["authority"])
    return lambda: CertificateCredential(
        given["tenant"], identifier, path, authority=f"{host.scheme}://{host.netloc}", disable_instance_discovery=True,
        **options).get_token(SCOPE).token


requests.Session.send = record
with open(sys.argv[1], encoding="utf-8") as file:
    given = json.load(file)
files, password = given["files"], given["password"]
with open(files["chain.pem"], encoding="ascii") as file:
    text = file.read()
key = text[text.index("-----BEGIN PRIVATE KEY"):text.index("-----END PRIVATE KEY-----") + 26]
chain = text.replace(key, "")
with open(files["thumbprints.json"], encoding="ascii") as file:
    # Without a thumbprint, MSAL sends only the first certificate.
    thumbprint = json.load(file)["chain.pem"]["sha1"]
run("MSAL, PKCS #12", with_msal("app", {"private_key_pfx_path": files["app.pfx"], "passphrase": password}))
run("MSAL, chain", with_msal("chained", {"private_key": key, "thumbprint": thumbprint, "public_certificate": chain}))
run("MSAL, foreign certificate", with_msal("app", {"private_key_pfx_path": files["chain.pfx"], "passphrase": password}))
run("azure-identity, PEM", with_azure("app", files["app.pem"]))
run("azure-identity, PKCS #12", with_azure("app", files["app.pfx"], password=password))
run("azure-identity, chain", with_azure("chained", files["chain.pem"], send_certificate_chain=True))
