"""azure-identity's WorkloadIdentityCredential, used without changes: prints the fields of its token requests and the result as JSON.

workload_client.py AUTHORITY TENANT CLIENT FILE SCOPE"""

import json
import sys
import urllib.parse

from azure.core.exceptions import ClientAuthenticationError
from azure.core.pipeline.transport import RequestsTransport
from azure.identity import WorkloadIdentityCredential

forms = []


class Recorder(RequestsTransport):
    def send(self, request, **kwargs):
        if request.method == "POST":
            body = request.data or request.content or {}
            if isinstance(body, bytes):
                body = body.decode()
            forms.append(dict(urllib.parse.parse_qsl(body)) if isinstance(body, str) else dict(body))
        return super().send(request, **kwargs)


authority, tenant, client, file, scope = sys.argv[1:]
credential = WorkloadIdentityCredential(
    tenant_id=tenant, client_id=client, token_file_path=file, authority=authority, disable_instance_discovery=True,
    transport=Recorder())
try:
    found = credential.get_token(scope, enable_cae=True)
    result = {"expires": found.expires_on, "token": bool(found.token)}
except ClientAuthenticationError as error:
    result = {"error": error.message}
print(json.dumps({"forms": forms, **result}))
