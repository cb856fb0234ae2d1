"""Runs lodge as a page of the documentation prints it, with the local provider in place of the servers on the Internet.

The topics put it into PATH under the name of the program. It changes the URLs of a command line, and after `providers add` the provider of
each account type in the settings file. It changes no client, secret or redirect URI, and only the
scopes that the local provider does not have."""

import json
import os
import subprocess
import sys

# What the local provider has in place of the servers that the pages name. The longest prefix is first.
SERVERS = {
    "https://api.github.com/user": "/userinfo", "https://gitlab.com/api/v4/user": "/userinfo",
    "https://storage.googleapis.com/storage/v1/b": "/.well-known/openid-configuration",
    "https://graph.microsoft.com/beta": "/v1.0", "https://graph.microsoft.com": "", "https://id.example": ""}
# Keys with the provider of a type, or the values that a preset requires.
PROVIDER_KEYS = {"provider", "authority", "issuer", "tenant", "host", "realm", "authorizationEndpoint", "tokenEndpoint"}
SCOPES = ["openid", "profile", "offline_access", "User.Read", "User.ReadBasic.All"]
# The beginnings of scopes of other APIs. The local provider has only scopes of Microsoft Graph.
OTHER_SCOPES = ("https://outlook.", "read_")


def local(text, issuer):
    """Replaces the URLs of the pages by URLs of the local provider."""
    for server, path in SERVERS.items():
        text = text.replace(server, issuer + path)
    return text


def use_local_provider(path, issuer):
    """Changes the provider of every account type of a settings file."""
    with open(path, encoding="utf-8") as file:
        settings = json.load(file)
    for name, added in settings["types"].items():
        kept = {key: value for key, value in added.items() if key not in PROVIDER_KEYS}
        if any(scope.startswith(OTHER_SCOPES) for scope in kept.get("scopes", [])):
            kept["scopes"] = [scope for scope in kept["scopes"] if not scope.startswith(OTHER_SCOPES)] + SCOPES[3:]
        if added.get("provider", "").startswith("entra"):
            kept["graphAPI"] = issuer + "/"
        settings["types"][name] = {
            "redirectUri": "http://localhost/callback", "scopes": SCOPES, **kept, "issuer": issuer,
            "resourceHosts": [issuer.split("://")[1]]}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(settings, file)


def main():
    issuer, words = os.environ["LOCAL_PROVIDER"], sys.argv[1:]
    # A scope has the form of a URL, but it is not a server.
    local_words = [word if before == "--scope" else local(word, issuer) for before, word in zip([""] + words, words)]
    status = subprocess.call([os.environ["LODGE_PROGRAM"], *local_words])
    if status == 0 and words[:2] == ["providers", "add"]:
        default = os.path.join(os.environ["HOME"], ".config", "lodge", "settings.json")
        use_local_provider(os.environ.get("LODGE_SETTINGS", default), issuer)
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
