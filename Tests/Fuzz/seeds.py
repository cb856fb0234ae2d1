#!/usr/bin/env python3
"""seeds.py FOLDER: writes a folder of seeds for each reader of the fuzzer, from the test vectors and the example settings."""

import base64
import hashlib
import json
import pathlib
import plistlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
VECTORS = HERE.parent / "TestSupport" / "Vectors"
CERTIFICATES = HERE.parent / "TestSupport" / "Certificates"
SETTINGS = HERE.parent.parent / "Settings"


def expanded(value):
    """Replaces `<N x "A">` by copies of the text, at most 2,000."""
    return re.sub(r'<(\d+) x "([^"]*)">', lambda match: match[2] * min(int(match[1]), 2000), value)


def cases(name):
    contents = json.loads((VECTORS / f"{name}.json").read_text())
    for case in contents.get("cases", []):
        yield {**contents.get("defaults", {}), **case.get("input", {})}


def data(value):
    if isinstance(value, str):
        return expanded(value).encode("utf-8", "surrogatepass")
    return json.dumps(value).encode()


def body(http):
    if "body_base64" in http:
        return base64.b64decode(http["body_base64"])
    return data(http.get("body", ""))


def strings(value):
    """All strings of a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from strings(part)


def seeds():
    statuses = {200: b"\0", 400: b"\1", 401: b"\2", 201: b"\4", 500: b"\5", 302: b"\6", 429: b"\7"}
    for name in ["token-responses", "provider-quirks", "other-endpoints", "userinfo", "device-flow"]:
        for case in cases(name):
            http = case.get("http") or case
            if isinstance(http, dict) and ("body" in http or "body_base64" in http):
                headers = {key.lower(): text for key, text in (http.get("headers") or {}).items()}
                is_form = "urlencoded" in str(headers.get("content-type"))
                first = b"\3" if is_form else statuses.get(http.get("status", 200), b"\0")
                yield "token", first + body(http)
                yield "json", body(http)
    for case in cases("json-malformed"):
        if "body_base64" in case:
            yield "json", base64.b64decode(case["body_base64"])
            yield "token", b"\0" + base64.b64decode(case["body_base64"])
    for case in cases("www-authenticate"):
        fields = case.get("headers", [])
        yield "challenge", "\n".join(strings(fields)).encode()
        yield "head", ("HTTP/1.1 401 Unauthorized\r\n" + "\r\n".join(strings(fields)) + "\r\n\r\n").encode()
    for case in cases("authorization-responses"):
        yield "redirect", data(case.get("url", ""))
    for name in ["discovery", "discovery-jwks"]:
        for case in cases(name):
            for member in ["metadata", "jwks", "document", "body"]:
                if case.get(member):
                    yield "discovery", data(case[member])
                    yield "jwk", data(case[member])
            if case.get("issuer"):
                yield "redirect", data(case["issuer"])
    for case in cases("signed-id-tokens"):
        if isinstance(case.get("token"), str):
            yield "jws", data(case["token"])
        if case.get("jwks"):
            yield "jwk", data(case["jwks"])
    for name in ["rfc7515-rfc8037-examples", "rfc7517-examples", "rfc9449-dpop-examples"]:
        for text in strings(json.loads((VECTORS / f"{name}.json").read_text())):
            if text.count(".") == 2:
                yield "jws", data(text)
        for value in objects(json.loads((VECTORS / f"{name}.json").read_text())):
            if "kty" in value or "keys" in value:
                yield "jwk", data(value)
            if "signatures" in value or "payload" in value:
                yield "jws", data(value)
    for case in cases("loopback-requests"):
        raw = base64.b64decode(case["raw_base64"]) if "raw_base64" in case else data(case.get("raw", ""))
        yield "loopback", raw.replace(b"127.0.0.1:53211", b"127.0.0.1:1")
        yield "head", raw
    for path in sorted(CERTIFICATES.glob("app*.p*")) + [CERTIFICATES / "chain.pem"]:
        contents = path.read_bytes()
        yield "certificate", contents
        for block in re.findall(rb"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", contents, re.S):
            yield "x509", block
            yield "x509", base64.b64decode(b"".join(block.splitlines()[1:-1]))
    for path in sorted(SETTINGS.rglob("*.json")) + sorted(SETTINGS.rglob("*.plist")):
        contents = path.read_bytes()
        yield "settings", contents
        yield "json", contents
        if path.suffix == ".json":
            value = json.loads(re.sub(rb"^\s*//.*$", b"", contents, flags=re.M))
            if isinstance(value, dict):
                for form in [plistlib.FMT_XML, plistlib.FMT_BINARY]:
                    yield "settings", plistlib.dumps(value, fmt=form)
        else:
            yield "settings", plistlib.dumps(plistlib.loads(contents), fmt=plistlib.FMT_BINARY)
    yield "settings", b"<plist><dict><!-- a --><key>a</key><string><![CDATA[b]]>&#65;</string></dict></plist>"
    token = {"access_token": "a", "refresh_token": "r", "token_type": "Bearer", "expires_in": 3600}
    msal = {"secret": "s", "home_account_id": "u.t", "environment": "login.microsoftonline.com", "client_id": "c"}
    for value in [
        token,
        {"AccessToken": {"a": {**msal, "cached_at": "1", "expires_on": "2"}}, "RefreshToken": {"r": msal}, "IdToken": {"i": msal}},
        {"accounts": [{"accountType": "t", "identifier": "i", "accessToken": {"accessToken": "a", "expiresAt": 1, "scope": ["b"]}}]},
        {"format": "oauth2-accounts", "version": 1, "accounts": [{"type": "t", "accessToken": "a", "scope": "b", "received": 1}]},
        {"id": "a", "type": "t", "clientID": "c", "tokens": {"accessToken": "a"}, "created": 0},
        {"registration": "microsoft", "email": "a", "access_token_expiration": "", "refresh_token": "r", "client_id": "c"},
        {"email": {"unEmailAddress": "a"}, "service": "google", "exp_date": "2026-01-01 10:00 UTC", "refresh_token": "r", "scope": "b"},
    ]:
        yield "account-file", data(value)
        yield "record", data(value)
        yield "sealed", data(value)
    yield "account-file", b'account "a" { client_id = "b"; scopes = ["c", "d"]; auth_uri_fields = { "e": "f" }; } // g'
    yield "account-file", b"services:\n  google:\n    client_id: 'b' # c\n    auth_scope: >-\n      d\n"
    for text in [
        "startswith(givenName,'Ada')", "displayName eq 'O''Brien' and not(endswith(mail,'a@b'))", "mail ne null",
        "businessPhones/any(p:p eq '1')", "id in ('a','b')", "createdDateTime ge 2026-01-01T00:00:00Z", "accountEnabled eq true",
        "\"displayName:ada\" AND \"mail:x\" OR \"displayName:\\\"b\"", "(a or (b and c))", "assignedLicenses/$count ne 0",
    ]:
        yield "odata", text.encode()
        yield "filter", text.encode()
    for text in [
        "userName sw \"ada\"", "emails[type eq \"work\" and value co \"@a\"]", "not (active eq true)", "title pr",
        "name.familyName eq \"O'B\\u00e9\" or meta.created gt \"2026\"", "urn:ietf:params:scim:schemas:core:2.0:User:userName pr",
    ]:
        yield "scim", text.encode()
    person = {
        "id": "1", "displayName": "Ada", "businessPhones": ["1"], "mail": "a@b.c", "manager": {"id": "2"}, "@odata.type": "u",
        "createdDateTime": "2026-01-01T00:00:00Z", "accountEnabled": True, "otherMails": [], "identities": [{"issuer": "i"}],
    }
    for link in ["@odata.nextLink", "@odata.deltaLink"]:
        page = {"value": [person, {"id": "3", "@removed": {"reason": "changed"}}], link: "https://g.example/v1.0/users?$skiptoken=a"}
        yield "page", data(page)
        yield "delta", data(page)
    scim = {
        "schemas": ["a"], "id": "1", "userName": "a", "name": {"givenName": "A", "familyName": "B", "formatted": "A B"},
        "emails": [{"value": "a@b", "type": "work", "primary": True}], "active": True, "addresses": [{"locality": "L"}],
        "phoneNumbers": [{"value": "1", "type": "mobile"}], "meta": {"created": "2026"}, "title": "T",
        "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User": {"department": "D", "manager": {"value": "2"}},
    }
    google = {
        "kind": "admin#directory#user", "id": "1", "primaryEmail": "a@b", "name": {"givenName": "A", "fullName": "A B"},
        "organizations": [{"title": "T", "primary": True}], "phones": [{"value": "1", "type": "work"}], "suspended": False,
        "relations": [{"type": "manager", "value": "m"}], "addresses": [{"type": "work", "locality": "L"}],
    }
    error = {"error": {"code": "a", "message": "b", "innerError": {"request-id": "c", "date": "2026-01-01T00:00:00"}}}
    for value in [scim, google, error, person]:
        yield "resource", data(value)
    for case in cases("failures"):
        for value in objects(case):
            if "error" in value:
                yield "resource", data(value)
    for text in [
        "ada\x1b[A\x1b[B\x1bOP\r\x7f", "\x1b[200~paste\x1b[201~q", "\x1b[1;5C\x1b[3~\x1b[?62;4c", "\x1b_Gi=31;OK\x1b\\a",
        "\x1b]11;rgb:0/0/0\x07", "\u00e9\U0001F600\u0301", "\x1b\x1b[", "\x1bP1$r\x1b\\", "\x00\x01\x1c",
    ]:
        yield "keys", text.encode()
        yield "text", text.encode()
    for text in [
        "Ada Lovelace", "e\u0301" * 12, "\u202Eabc", "\U0001F468\u200D\U0001F469", "\u0915\u094D\u200D\u0937", "\U0001F3F4\U000E0067"
        "\U000E0062\U000E007F", "a\tb\r\n,\"c\"", "=1+2", "\u4E2D\u6587", "\u2764\uFE0F", "\u0600\u0601", "\u1100\u1161\u11A8",
    ]:
        yield "text", text.encode()
        yield "filter", text.encode()


def objects(value):
    """All objects of a JSON value."""
    if isinstance(value, dict):
        yield value
    if isinstance(value, (list, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from objects(part)


def main():
    folder = pathlib.Path(sys.argv[1])
    counts = {}
    for reader, contents in seeds():
        if not contents or len(contents) > 1 << 16:
            continue
        place = folder / reader
        place.mkdir(parents=True, exist_ok=True)
        (place / hashlib.sha256(contents).hexdigest()[:16]).write_bytes(contents)
    for place in sorted(folder.iterdir()):
        counts[place.name] = len(list(place.iterdir()))
    print("seeds:", " ".join(f"{name} {count}" for name, count in counts.items()))


main()
