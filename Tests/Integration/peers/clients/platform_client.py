"""A program without a secret: azure-identity and google-auth, used without changes.

platform_client.py KIND IDENTITY KEY-FILE SUBJECT EXTERNAL-FILE SCOPE: prints that it got a token."""

import sys

import google.auth.transport.requests
from azure.identity import ManagedIdentityCredential
from google.auth import identity_pool
from google.oauth2 import service_account

kind, identity, key_file, subject, external_file, scope = sys.argv[1:]
if kind in ("vm", "app"):
    token = ManagedIdentityCredential(client_id=identity).get_token("https://graph.microsoft.com/.default").token
else:
    if kind == "staff":
        credentials = service_account.Credentials.from_service_account_file(key_file, scopes=[scope], subject=subject)
    else:
        credentials = identity_pool.Credentials.from_file(external_file, scopes=[scope])
    credentials.refresh(google.auth.transport.requests.Request())
    token = credentials.token
print("token" if token else "nothing")
