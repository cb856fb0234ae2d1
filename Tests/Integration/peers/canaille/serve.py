"""serve.py PORT SECRET REDIRECT: Canaille on loopback, in memory. The user is ada; the clients are `public`, `confidential` and
`directory`."""

import sys
import warnings

warnings.simplefilter("ignore")

from canaille import create_app  # noqa: E402
from canaille.app import models  # noqa: E402
from canaille.oidc.jose import make_default_rsa_jwk  # noqa: E402
from werkzeug.serving import run_simple  # noqa: E402

PORT, SECRET, REDIRECT = int(sys.argv[1]), sys.argv[2], sys.argv[3]
SCOPES = ["openid", "profile", "email"]

app = create_app({
    "SECRET_KEY": "a test on loopback", "SERVER_NAME": f"127.0.0.1:{PORT}", "PREFERRED_URL_SCHEME": "http",
    "CANAILLE": {"DATABASE": "memory", "FORCE_HTTPS": False, "ACL": {"ALL": {
        "PERMISSIONS": ["use_oidc", "manage_users"], "READ": ["user_name", "emails"], "WRITE": []}}},
    "CANAILLE_OIDC": {
        "DYNAMIC_CLIENT_REGISTRATION_OPEN": True,
        "ACTIVE_JWKS": [make_default_rsa_jwk().as_dict(private=True)]}})
with app.app_context(), app.backend.session():
    save = app.backend.instance.save
    save(models.User(
        user_name="ada", formatted_name="Ada Lovelace", given_name="Ada", family_name="Lovelace", password="lovelace",
        emails=["ada@example.com"]))
    for name, secret, method in (("public", None, "none"), ("confidential", SECRET, "client_secret_basic"),
                                 ("directory", SECRET, "client_secret_basic")):
        client = models.Client(
            client_id=name, client_name=name, client_secret=secret, token_endpoint_auth_method=method,
            redirect_uris=[REDIRECT], scope=SCOPES, response_types=["code"],
            grant_types=["authorization_code", "refresh_token"])
        save(client)
        client.audience = [client]
        save(client)
run_simple("127.0.0.1", PORT, app, threaded=True)
