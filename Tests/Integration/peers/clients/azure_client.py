"""A program of Azure in `lodge exec --azure`: azure-identity, used without changes.

azure_client.py RESOURCE OTHER: prints the tokens, or the errors, as JSON."""

import json
import os
import sys

from azure.core.exceptions import ClientAuthenticationError
from azure.identity import CredentialUnavailableError, DefaultAzureCredential, ManagedIdentityCredential


def token(credential, resource):
    try:
        found = credential.get_token(resource + "/.default")
        return {"token": found.token, "expires": found.expires_on}
    except (ClientAuthenticationError, CredentialUnavailableError) as error:
        return {"error": f"{type(error).__name__}: {error.message}"}


resource, other = sys.argv[1:]
own, another = os.environ["OWN_CLIENT_ID"], "00000000-0000-0000-0000-000000000001"
print(json.dumps({
    "managed": token(ManagedIdentityCredential(), resource), "default": token(DefaultAzureCredential(), resource),
    "own": token(ManagedIdentityCredential(client_id=own), resource), "other": token(ManagedIdentityCredential(), other),
    "another": token(ManagedIdentityCredential(client_id=another), resource)}))
