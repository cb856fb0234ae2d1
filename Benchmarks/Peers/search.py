# search.py CACHE TOKEN ADDRESS [prepare]: performs one search like a Python script with MSAL's cache on disk.
import json
import os
import sys

import msal
import requests

cache_file, token, address = sys.argv[1:4]
authority = "https://login.microsoftonline.com/common"
scopes = ["User.ReadBasic.All"]
cache = msal.SerializableTokenCache()

if sys.argv[4:] == ["prepare"]:
    person = {"uid": "u", "utid": "t"}
    import base64
    part = lambda value: base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")
    cache.add({
        "client_id": "benchmark", "scope": scopes, "token_endpoint": authority + "/oauth2/v2.0/token",
        "environment": "login.microsoftonline.com",
        "response": {
            "access_token": token, "expires_in": 3600, "token_type": "Bearer", "refresh_token": "none",
            "client_info": part(person),
            "id_token": part({"alg": "none"}) + "." + part({"sub": "s", "preferred_username": "ada", "aud": "benchmark",
                "exp": 4102444800, "iat": 1, "iss": "i"}) + ".",
            "scope": " ".join(scopes)}})
    with open(os.open(cache_file, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
        file.write(cache.serialize())
    sys.exit()


class Metadata:
    """Provides the metadata that MSAL requests at startup; only the search uses the network."""

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


with open(cache_file) as file:
    cache.deserialize(file.read())
application = msal.PublicClientApplication(
    "benchmark", authority=authority, token_cache=cache, http_client=Metadata(), instance_discovery=False)
result = application.acquire_token_silent(scopes, account=application.get_accounts()[0])
answer = requests.get(address, headers={"Authorization": "Bearer " + result["access_token"]}, timeout=30)
answer.raise_for_status()
for person in answer.json()["value"]:
    print(person["displayName"], person["mail"], person["jobTitle"], *person["businessPhones"], sep="\t")
