"""Authlib: authorization code, refresh, introspection, revocation, registration and a pushed request."""

import requests
from authlib.common.security import generate_token
from authlib.integrations.requests_client import OAuth2Session

from script import REDIRECT, check, confidential, provider, public, refused, visit

metadata = requests.get(provider["issuer"] + "/.well-known/openid-configuration", timeout=20).json()
SCOPE = "openid profile offline_access User.Read"


def session(client_id=confidential["id"], secret=confidential["secret"], **options):
    return OAuth2Session(client_id, secret, scope=SCOPE, redirect_uri=REDIRECT, code_challenge_method="S256", **options)


def sign_in(client, **parameters):
    verifier = generate_token(48)
    url, state = client.create_authorization_url(
        metadata["authorization_endpoint"], code_verifier=verifier, **parameters)
    answer, location = visit(url)
    if "error" in answer:
        raise ValueError(f'{answer["error"]}: {answer.get("error_description")}')
    check("the response names the issuer", answer.get("iss") == metadata["issuer"], answer) if not parameters else None
    return client.fetch_token(metadata["token_endpoint"], authorization_response=location, state=state,
                              code_verifier=verifier)


def visit_without_pkce():
    plain = OAuth2Session(public["id"], scope=SCOPE, redirect_uri=REDIRECT)
    answer, _ = visit(plain.create_authorization_url(metadata["authorization_endpoint"])[0])
    raise ValueError(answer["error"])


def active(client, token):
    return client.introspect_token(metadata["introspection_endpoint"], token=token).json()


for method in ("client_secret_basic", "client_secret_post"):
    client = session(token_endpoint_auth_method=method)
    token = sign_in(client)
    check(f"signs in with {method}", token.get("access_token") and token.get("id_token"), token)
user = client.get(metadata["userinfo_endpoint"]).json()
check("userinfo returns the user", user.get("preferred_username") == provider["user"], user)
state = active(client, token["access_token"])
check("introspection: active, with the user and the scope",
      state.get("active") is True and state.get("username") == provider["user"]
      and "User.Read" in state.get("scope", "").split(), state)
old = dict(token)
token = client.refresh_token(metadata["token_endpoint"])
check("refreshes, and the refresh token rotates", token["refresh_token"] != old["refresh_token"], token)
client.revoke_token(metadata["revocation_endpoint"], token=token["refresh_token"])
check("after the revocation no token is active", not active(client, token["access_token"]).get("active")
      and not active(client, token["refresh_token"]).get("active"))
refused("refused: a refresh after the revocation", lambda: client.refresh_token(
    metadata["token_endpoint"], refresh_token=token["refresh_token"]), "invalid_grant")
check("introspection of an unknown token: not active", active(client, "unknown") == {"active": False})
wrong = session(secret="wrong").introspect_token(metadata["introspection_endpoint"], token="unknown")
check("refused: introspection with a wrong secret", wrong.status_code == 401, wrong.text)
refused("refused: a wrong secret", lambda: sign_in(session(secret="wrong"), prompt="login"), "invalid_client")
refused("refused: an unknown user", lambda: sign_in(client, login_hint="nobody@nowhere.example"), "access_denied")
refused("refused: a request without PKCE", visit_without_pkce, "invalid_request")


registration = requests.post(metadata["registration_endpoint"], timeout=20, json={
    "client_name": "a registered application", "redirect_uris": ["https://app.example/callback"],
    "grant_types": ["authorization_code", "refresh_token"], "token_endpoint_auth_method": "client_secret_basic"})
client_data = registration.json()
check("registers a client", registration.status_code == 201 and client_data.get("client_secret"), registration.text)
registered = OAuth2Session(client_data["client_id"], client_data["client_secret"], scope=SCOPE,
                           redirect_uri="https://app.example/callback", code_challenge_method="S256")
check("the registered client signs in", sign_in(registered, prompt="consent").get("access_token"))
wrong = requests.post(metadata["registration_endpoint"], timeout=20, json={"redirect_uris": ["http://app.example/"]})
check("refused: a registration with http to another host", wrong.json().get("error") == "invalid_redirect_uri", wrong.text)

verifier = generate_token(48)
url, state = client.create_authorization_url(metadata["authorization_endpoint"], code_verifier=verifier)
pushed = requests.post(metadata["pushed_authorization_request_endpoint"], url.split("?", 1)[1], timeout=20,
                       headers={"Content-Type": "application/x-www-form-urlencoded"},
                       auth=(confidential["id"], confidential["secret"]))
check("pushes a request", pushed.status_code == 201, pushed.text)
short = f'{metadata["authorization_endpoint"]}?client_id={confidential["id"]}&request_uri={pushed.json()["request_uri"]}'
_, location = visit(short)
check("signs in with the pushed request", client.fetch_token(
    metadata["token_endpoint"], authorization_response=location, state=state, code_verifier=verifier)["access_token"])
refused("refused: a request_uri that was used", lambda: visit(short), "HTTP 400")
bearer = {"Authorization": "Bearer " + client_data["registration_access_token"]}
deleted = requests.delete(client_data["registration_client_uri"], headers=bearer, timeout=20)
check("deletes the registered client", deleted.status_code == 204, deleted.text)
refused("refused: the deleted client", lambda: sign_in(registered, prompt="consent"), "HTTP 400")
