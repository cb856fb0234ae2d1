"""MSAL for Python: the flows of a public and of a confidential client."""

import datetime
import threading
import webbrowser

import msal
import requests
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from script import REDIRECT, check, confidential, provider, public, refused, visit

AUTHORITY = {"authority": provider["authority"], "instance_discovery": False}
SCOPES = ["User.Read", "User.ReadBasic.All"]
DEFAULT = ["https://graph.microsoft.com/.default"]


class Browser(webbrowser.BaseBrowser):
    """Opens the sign-in page and posts the form of its response to the application's listener."""

    def open(self, url, new=0, autoraise=True):
        def act():
            fields, action = visit(url)
            requests.post(action, data=fields, timeout=20)
        threading.Thread(target=act).start()
        return True


def public_client():
    app = msal.PublicClientApplication(public["id"], **AUTHORITY)
    webbrowser.register("stand-in", None, Browser(), preferred=True)
    result = app.acquire_token_interactive(SCOPES, timeout=30, login_hint=provider["user"])
    claims = result.get("id_token_claims", {})
    check("acquire_token_interactive signs in", "access_token" in result, result)
    check("the ID token has the tenant, the object and the user name",
          claims.get("tid") == provider["tenant"] and claims.get("oid")
          and claims.get("preferred_username") == provider["user"]
          and claims.get("iss") == provider["authority"] + "/v2.0", claims)
    accounts = app.get_accounts()
    check("the ID of the account consists of object and tenant",
          [a["home_account_id"] for a in accounts] == [f'{claims.get("oid")}.{provider["tenant"]}'], accounts)
    cached = app.acquire_token_silent(SCOPES, account=accounts[0])
    check("acquire_token_silent returns the cached token",
          cached["access_token"] == result["access_token"] and cached["token_source"] == "cache", cached)
    fresh = app.acquire_token_silent(SCOPES, account=accounts[0], force_refresh=True)
    check("acquire_token_silent refreshes",
          fresh["access_token"] != result["access_token"] and fresh["token_source"] == "identity_provider", fresh)
    full = app.acquire_token_silent(["https://graph.microsoft.com/User.Read"], account=accounts[0])
    check("a scope with its resource is the same scope", full and "access_token" in full, full)
    refresh_token = app.token_cache.find(msal.TokenCache.CredentialType.REFRESH_TOKEN)[0]["secret"]
    check("a refresh token can be migrated", "access_token" in app.acquire_token_by_refresh_token(
        refresh_token, scopes=SCOPES))

    flow = app.initiate_device_flow(SCOPES)
    check("a device gets a code and a URL", flow.get("user_code") and "verification_uri" in flow, flow)
    result = app.acquire_token_by_device_flow(flow)
    check("the device signs in", "access_token" in result, result)
    again = app.acquire_token_by_device_flow({**flow, "expires_at": 0})
    check("refused: a device code that was used", again.get("error") == "invalid_grant", again)


def web_client():
    app = msal.ConfidentialClientApplication(confidential["id"], client_credential=confidential["secret"], **AUTHORITY)
    for mode in (None, "form_post"):
        flow = app.initiate_auth_code_flow(SCOPES, redirect_uri=REDIRECT, response_mode=mode)
        answer, _ = visit(flow["auth_uri"])
        result = app.acquire_token_by_auth_code_flow(flow, answer)
        check(f"the code flow of a web application, response mode {mode}", "access_token" in result, result)
    again = app.acquire_token_by_auth_code_flow(flow, answer)
    check("refused: a code that was used", again.get("error") == "invalid_grant", again)
    flow = app.initiate_auth_code_flow(SCOPES, redirect_uri="https://attacker.example/", response_mode=None)
    refused("refused: a redirect URI that is not registered", lambda: visit(flow["auth_uri"]), "HTTP 400")

    result = app.acquire_token_for_client(DEFAULT)
    check("client credentials with a secret", result.get("token_source") == "identity_provider", result)
    result = app.acquire_token_for_client(DEFAULT)
    check("the next call uses the cache", result.get("token_source") == "cache", result)
    wrong = msal.ConfidentialClientApplication(confidential["id"], client_credential="wrong", **AUTHORITY)
    result = wrong.acquire_token_for_client(DEFAULT)
    check("refused: a wrong secret", result.get("error") == "invalid_client", result)
    refused("refused: an unknown tenant", lambda: msal.PublicClientApplication(
        public["id"], authority=provider["issuer"] + "/fabrikam.example", instance_discovery=False)
        .initiate_device_flow(SCOPES), "authority")
    anyone = msal.PublicClientApplication(
        public["id"], authority=provider["issuer"] + "/common", instance_discovery=False)
    result = anyone.acquire_token_by_device_flow(anyone.initiate_device_flow(SCOPES))
    check("the authority common names the tenant in the token",
          result.get("id_token_claims", {}).get("tid") == provider["tenant"], result)
    plain = msal.PublicClientApplication(public["id"], oidc_authority=provider["issuer"] + "/" + provider["tenant"]
                                         + "/v2.0")
    result = plain.acquire_token_by_device_flow(plain.initiate_device_flow(SCOPES))
    check("oidc_authority signs in", "access_token" in result, result)


def certificate_client():
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a client")])
    now = datetime.datetime.now(datetime.timezone.utc)
    certificate = (x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
                   .serial_number(1).not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
                   .sign(key, hashes.SHA256()))
    from authlib.jose import JsonWebKey
    jwk = JsonWebKey.import_key(key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)).as_dict()
    registered = requests.post(provider["issuer"] + "/register", timeout=20, json={
        "client_name": "a service", "grant_types": ["client_credentials"], "response_types": [],
        "token_endpoint_auth_method": "private_key_jwt", "jwks": {"keys": [jwk]}}).json()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                            serialization.NoEncryption()).decode()
    thumbprint = certificate.fingerprint(hashes.SHA1()).hex()
    app = msal.ConfidentialClientApplication(
        registered["client_id"], client_credential={"private_key": pem, "thumbprint": thumbprint}, **AUTHORITY)
    result = app.acquire_token_for_client(DEFAULT)
    check("client credentials with a certificate", "access_token" in result, result)
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode()
    wrong = msal.ConfidentialClientApplication(
        registered["client_id"], client_credential={"private_key": other, "thumbprint": thumbprint}, **AUTHORITY)
    result = wrong.acquire_token_for_client(DEFAULT)
    check("refused: the key of another certificate", result.get("error") == "invalid_client", result)


public_client()
web_client()
certificate_client()
