"""Glewlwyd, an independent OAuth 2 and OpenID Connect server, on loopback."""

import base64
import datetime
import hashlib
import json
import os
import secrets
import subprocess
import time
import urllib.parse

import web
from world import LIMIT, free_port

SCOPES = ["openid", "profile", "offline_access", "User.Read"]


class Glewlwyd:
    def __init__(self, world, access_ttl=8, tls=False, name="glewlwyd", algorithm=None, **variables):
        """`algorithm` is the signature algorithm of ID tokens (default: RS256). `variables` are variables of start.sh."""
        self.world = world
        self.folder = world.path(name + ("-tls" if tls else ""))
        self.scripts = os.path.join(world.peers, "glewlwyd")
        # It compares the whole redirect URI, including the port.
        self.redirect_port = free_port()
        environment = {**os.environ, "ACCESS_TTL": str(access_ttl), "TLS": "1" if tls else "0",
                       "REDIRECT_URIS": f"http://127.0.0.1:{self.redirect_port}/callback", **variables}
        if algorithm:
            make_key(world.make(os.path.basename(self.folder)), algorithm)
        world.closers.append(self.stop)
        done = subprocess.run(
            ["bash", os.path.join(self.scripts, "start.sh"), self.folder, str(free_port())], env=environment,
            capture_output=True, timeout=300)
        if done.returncode != 0:
            raise OSError(f"glewlwyd did not start: {done.stderr.decode()}")
        self.facts = json.loads(done.stdout)
        self.issuer = self.facts["issuer"]
        self.endpoints = self.facts["endpoints"]
        self.ca_file = self.facts["ca_file"]

    def stop(self):
        subprocess.run(["bash", os.path.join(self.scripts, "stop.sh"), self.folder], capture_output=True, timeout=LIMIT)

    def type(self, client="public-cli", **members):
        """Returns an account type for the settings."""
        return {"issuer": self.issuer, "clientId": client,
                "redirectUri": f"http://127.0.0.1:{self.redirect_port}/callback", "scopes": SCOPES, **members}

    def secret(self, client):
        return next(c["client_secret"] for c in self.facts["clients"] if c["client_id"] == client)

    @property
    def as_browser(self):
        """Variables that replace the browser by a sign-in with curl."""
        return {"BROWSER": os.path.join(self.scripts, "approve.sh"), "GLEWLWYD_DIR": self.folder}

    def approve_device(self, code):
        """Approves the request like a user on another device."""
        return subprocess.run(["bash", os.path.join(self.scripts, "approve-device.sh"), self.folder, code],
                              capture_output=True, timeout=LIMIT)

    def approve(self, url):
        """Signs in and consents with curl, and requests the redirect URL."""
        return subprocess.run(
            ["bash", os.path.join(self.scripts, "approve.sh"), "-d", self.folder, url], capture_output=True, timeout=LIMIT)

    def redirect(self, url):
        """Signs in and consents with curl. Returns the redirect URL without requesting it."""
        done = subprocess.run(
            ["bash", os.path.join(self.scripts, "approve.sh"), "-n", "-d", self.folder, url], capture_output=True,
            timeout=LIMIT)
        return done.stdout.decode().strip()

    def user_info(self, token):
        return web.send(self.endpoints["userinfo_endpoint"], bearer=token, ca_file=self.ca_file)

    def is_active(self, token):
        """Returns the introspection result of the server (RFC 7662)."""
        client = "confidential-basic"
        answer = web.send(self.endpoints["introspection_endpoint"], form={"token": token},
                          basic=(client, self.secret(client)), ca_file=self.ca_file)
        return answer.json["active"] if answer.status == 200 and answer.json else f"introspection: {answer}"

    def refresh(self, refresh_token, client="public-cli"):
        """Sends a refresh without lodge, to check whether the server still accepts a token."""
        return web.send(self.endpoints["token_endpoint"], ca_file=self.ca_file, form={
            "grant_type": "refresh_token", "refresh_token": refresh_token, "client_id": client})

    def grant_past_the_program(self):
        """Gets tokens for another program. Returns the token response."""
        verifier = secrets.token_urlsafe(48)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        back = {"client_id": "public-cli", "redirect_uri": f"http://127.0.0.1:{self.redirect_port}/callback"}
        question = {**back, "response_type": "code", "scope": " ".join(SCOPES), "state": secrets.token_urlsafe(16),
                    "nonce": secrets.token_urlsafe(16), "code_challenge": challenge, "code_challenge_method": "S256"}
        redirect = self.redirect(self.endpoints["authorization_endpoint"] + "?" + urllib.parse.urlencode(question))
        code = urllib.parse.parse_qs(urllib.parse.urlsplit(redirect).query)["code"][0]
        return web.send(self.endpoints["token_endpoint"], ca_file=self.ca_file, form={
            **back, "grant_type": "authorization_code", "code": code, "code_verifier": verifier})

    def refresh_tokens_given(self):
        """Returns the number of refresh tokens in the server's log: one for each sign-in and each refresh."""
        with open(os.path.join(self.folder, "glewlwyd.log"), encoding="utf-8", errors="replace") as log:
            return log.read().count("Refresh token generated for client")


def make_key(folder, algorithm):
    """Creates the signing key of a server before its first start. start.sh signs with the key of this name."""
    kind = {"RS256": "RSA2048", "ES256": "EC256"}[algorithm]
    subprocess.run(["rnbyc", "-j", "-g", kind, "-k", "rsa-1", "-a", algorithm, "-p", "/dev/null", "-n", "0", "-o",
                    os.path.join(folder, "jwks.json")], check=True, capture_output=True, timeout=LIMIT)


def claims_of(token):
    """Returns the header and the claims of a JWT without verification."""
    return tuple(json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))) for part in token.split(".")[:2])


def wait_until_expired(moment, margin=0.3):
    """Waits until an RFC 3339 time has passed."""
    left = datetime.datetime.fromisoformat(moment.replace("Z", "+00:00")).timestamp() - time.time()
    time.sleep(max(0, left) + margin)
