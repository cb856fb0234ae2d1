#!/usr/bin/env python3
"""server.py PORT REQUIRED-SCOPE PATH: a server of the Model Context Protocol with its own authorization server, on loopback.

The Python package mcp has both. This file has the code of an application: it stores clients, codes and tokens, and approves every
request. GET /log returns all registrations, requests and tokens, without secrets."""

import json
import secrets
import sys
import time

import uvicorn
from mcp.server.auth.provider import (
    AccessToken, AuthorizationCode, AuthorizeError, OAuthAuthorizationServerProvider, RefreshToken, TokenError,
    construct_redirect_uri)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthToken
from starlette.responses import JSONResponse

PORT, REQUIRED, PATH = int(sys.argv[1]), sys.argv[2], sys.argv[3]
ORIGIN = f"http://127.0.0.1:{PORT}"
SCOPES = ["notes:read", "notes:write"]


class Provider(OAuthAuthorizationServerProvider):
    def __init__(self):
        self.clients, self.codes, self.access, self.refresh, self.log = {}, {}, {}, {}, []
        self.decision = "approve"

    async def get_client(self, client_id):
        return self.clients.get(client_id)

    async def register_client(self, client_info):
        self.log.append({"registered": client_info.client_id, "redirect": [str(u) for u in client_info.redirect_uris]})
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client, params):
        self.log.append({"authorize": client.client_id, "scopes": params.scopes, "resource": params.resource})
        if self.decision == "deny":
            raise AuthorizeError("access_denied", "denied by the user")
        code = secrets.token_urlsafe(32)
        self.codes[code] = AuthorizationCode(
            code=code, scopes=params.scopes or [], expires_at=time.time() + 60, client_id=client.client_id,
            code_challenge=params.code_challenge, redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly, resource=params.resource)
        return construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state)

    async def load_authorization_code(self, client, authorization_code):
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client, authorization_code):
        del self.codes[authorization_code.code]
        return self.issue(client, authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(self, client, refresh_token):
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(self, client, refresh_token, scopes):
        if self.refresh.pop(refresh_token.token, None) is None:
            raise TokenError("invalid_grant")
        return self.issue(client, scopes, refresh_token.resource)

    def issue(self, client, scopes, resource):
        self.log.append({"issued": client.client_id, "scopes": scopes, "resource": resource})
        access, refresh = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        common = dict(client_id=client.client_id, scopes=scopes, resource=resource)
        self.access[access] = AccessToken(token=access, expires_at=int(time.time()) + 600, **common)
        self.refresh[refresh] = RefreshToken(token=refresh, **common)
        return OAuthToken(access_token=access, refresh_token=refresh, expires_in=600, scope=" ".join(scopes))

    async def load_access_token(self, token):
        return self.access.get(token)

    async def revoke_token(self, token):
        self.log.append({"revoked": token.client_id})
        for kept in (self.access, self.refresh):
            for name in [name for name, value in kept.items() if value.client_id == token.client_id]:
                del kept[name]


provider = Provider()
server = MCPServer(
    "notes", auth_server_provider=provider, log_level="ERROR",
    auth=AuthSettings(
        issuer_url=ORIGIN, resource_server_url=ORIGIN + PATH, required_scopes=[REQUIRED], validate_token_resource=True,
        client_registration_options=ClientRegistrationOptions(
            enabled=True, valid_scopes=SCOPES, default_scopes=SCOPES[:1]),
        revocation_options=RevocationOptions(enabled=True)))


@server.tool()
def count_notes() -> int:
    """Counts the notes."""
    return 7


@server.custom_route("/log", methods=["GET"])
async def log(request):
    return JSONResponse(provider.log)


@server.custom_route("/decide", methods=["GET"])
async def decide(request):
    provider.decision = request.query_params["decision"]
    return JSONResponse({})


@server.custom_route("/forget", methods=["GET"])
async def forget(request):
    provider.refresh.clear()
    provider.access.clear()
    return JSONResponse({})


if __name__ == "__main__":
    print(json.dumps({"url": ORIGIN + PATH}), flush=True)
    uvicorn.run(server.streamable_http_app(streamable_http_path=PATH, json_response=True, stateless_http=True),
                host="127.0.0.1", port=PORT, log_level="error")
