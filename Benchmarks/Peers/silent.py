# silent.py COUNT: prints the seconds that MSAL needs to return a fresh token of one of COUNT accounts in memory.
import base64
import json
import sys
import time

import msal

authority = "https://login.microsoftonline.com/common"
scopes = ["User.ReadBasic.All"]
cache = msal.TokenCache()


def part(value):
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


for number in range(int(sys.argv[1])):
    claims = {
        "sub": f"s{number}", "preferred_username": f"ada{number}", "aud": "benchmark", "exp": 4102444800, "iat": 1,
        "iss": "i"}
    cache.add({
        "client_id": "benchmark", "scope": scopes, "token_endpoint": authority + "/oauth2/v2.0/token",
        "environment": "login.microsoftonline.com",
        "response": {
            "access_token": f"{number}." + 1200 * "a", "expires_in": 3600, "token_type": "Bearer",
            "refresh_token": "none", "client_info": part({"uid": f"u{number}", "utid": "t"}),
            "id_token": part({"alg": "none"}) + "." + part(claims) + ".", "scope": " ".join(scopes)}})


class Metadata:
    """Provides the metadata that MSAL requests at startup."""

    class Answer:
        status_code = 200
        headers = {}
        text = json.dumps({
            "authorization_endpoint": authority + "/oauth2/v2.0/authorize", "issuer": authority,
            "token_endpoint": authority + "/oauth2/v2.0/token", "tenant_discovery_endpoint": authority})

        def raise_for_status(self):
            pass

    def get(self, *_, **__):
        return self.Answer()

    post = get


application = msal.PublicClientApplication(
    "benchmark", authority=authority, token_cache=cache, http_client=Metadata(), instance_discovery=False)
accounts = application.get_accounts()
calls = 1000
begin = time.monotonic()
for number in range(calls):
    result = application.acquire_token_silent(scopes, account=accounts[number % len(accounts)])
seconds = (time.monotonic() - begin) / calls
assert result["access_token"].endswith("aaa")
print(seconds)
