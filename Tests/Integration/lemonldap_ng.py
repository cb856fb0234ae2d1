"""LemonLDAP::NG, a single sign-on portal in Perl, from Debian, with its demonstration users. It has no revocation."""

import os
import shutil
import subprocess

import web
from servers import SECRET, Server, register, remove, sign_out, story, the_token
from world import eventually

TEMPLATES = "/usr/share/lemonldap-ng/portal/templates"


def configuration(world, server):
    """Writes the configuration of the portal, and returns the path of its settings file."""
    folders = {name: world.make(name) for name in ("conf", "sessions", "locks", "cache", "notifications")}
    key = subprocess.run(["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
                         check=True, capture_output=True, timeout=60).stdout
    public = subprocess.run(["openssl", "rsa", "-pubout"], input=key, check=True, capture_output=True, timeout=60).stdout
    storage = {"Directory": folders["sessions"], "LockDirectory": folders["locks"],
               "generateModule": "Lemonldap::NG::Common::Apache::Session::Generate::SHA256"}
    clients = {
        "public": {"Public": 1, "RequirePKCE": 1, "ClientID": "public"},
        "confidential": {"ClientID": "confidential", "ClientSecret": SECRET, "BypassConsent": 1}}
    shared = {"IDTokenSignAlg": "RS256", "RedirectUris": server.redirect, "RefreshToken": 1, "AllowOffline": 1}
    world.write("conf/lmConf-1.json", {
        "cfgNum": 1, "cfgDate": 1, "cfgAuthor": "test", "cfgVersion": "2.16.1", "portal": server.origin + "/", "domain": "127.0.0.1", "cookieName": "lemonldap",
        "securedCookie": 0, "authentication": "Demo", "userDB": "Same", "passwordDB": "Demo", "registerDB": "Null",
        "demoExportedVars": {"cn": "cn", "mail": "mail", "uid": "uid"}, "exportedVars": {}, "macros": {}, "groups": {},
        "whatToTrace": "uid", "locationRules": {"127.0.0.1": {"default": "accept"}}, "exportedHeaders": {},
        "globalStorage": "Apache::Session::File", "globalStorageOptions": storage,
        "persistentStorage": "Apache::Session::File", "persistentStorageOptions": storage,
        "portalSkin": "bootstrap", "captcha": "NoCaptcha", "notification": 0, "loginHistoryEnabled": 0, "timeout": 3600,
        "issuerDBOpenIDConnectActivation": 1, "oidcServiceAllowDynamicRegistration": 1,
        "oidcServicePrivateKeySig": key.decode(), "oidcServicePublicKeySig": public.decode(), "oidcServiceKeyIdSig": "one",
        "oidcRPMetaDataOptions": {
            name: {f"oidcRPMetaDataOptions{key}": value for key, value in {**shared, **members}.items()}
            for name, members in clients.items()},
        "oidcRPMetaDataExportedVars": {name: {"name": "cn", "email": "mail"} for name in clients}})
    cache = (f"localStorage=Cache::FileCache\nlocalStorageOptions={{ 'namespace' => 'conf', 'default_expires_in' => 600, "
             f"'directory_umask' => '077', 'cache_root' => '{folders['cache']}', 'cache_depth' => 1 }}\n")
    return world.write("lemonldap-ng.ini", (
        f"[all]\nlogLevel = notice\n[configuration]\ntype=File\ndirName = {folders['conf']}\n{cache}"
        f"[portal]\nstaticPrefix = /static\ntemplateDir = {TEMPLATES}\nlanguages = en, fr\n"))


def run(checks, world):
    world.require("liblemonldap-ng-portal-perl")
    # The issuer of this server ends with a slash.
    server = Server(world, "Doctor Who", "/", entries={"user": "dwho", "password": "dwho"}, buttons=[("", "")])
    app = world.write("portal.psgi", "use Lemonldap::NG::Portal::Main;\nLemonldap::NG::Portal::Main->run({});\n")
    server.start(
        shutil.which("plackup"), "--host", "127.0.0.1", "--port", str(server.port), "--no-default-middleware", app,
        LLNG_DEFAULTCONFFILE=configuration(world, server), PERL5LIB=server.peer("lemonldap-ng"))
    world.use_settings({"types": {
        "public": server.type(), "confidential": server.type("confidential", secret=SECRET),
        "wrong": server.type("confidential", secret="not the secret"),
        "no-slash": {**server.type(), "issuer": server.origin}}})

    story(checks, server, "confidential", "not-offered")
    story(checks, server, "public", "not-offered")
    wrong, _ = server.sign_in("wrong")
    checks.ends("a wrong client secret is a settings error", wrong, 8, "clientSecret")
    slash, _ = server.sign_in("no-slash")
    checks.ends("an issuer without the slash is rejected with both values", slash, 1, f'"{server.origin}"', f'"{server.origin}/"',
                "correct its issuer")
    session(checks, server)
    if register(checks, server, "registered", method="client_secret_post"):
        signed_in, _ = server.sign_in("registered")
        # Registered clients get no refresh token and no name of the user.
        checks.ends("registered: sign-in", signed_in, 0, "Signed in to registered as dwho")
        the_token(checks, server, "registered")
        sign_out(checks, server, "registered", "not-offered")
        remove(checks, server, "registered", "deletion", "removed registered")


def session(checks, server):
    """The end of the browser session (OpenID Connect RP-Initiated Logout 1.0), after which a refresh token is invalid too."""
    world = server.world
    signed_in, browser = server.sign_in("confidential")
    checks.ends("sign-in before the browser session ends", signed_in, 0, "Signed in")
    opened = world.path("opened")
    script = world.write("browser", f"#!/bin/sh\nprintf '%s' \"$1\" >{opened}.new\nmv {opened}.new {opened}\n")
    os.chmod(script, 0o700)
    out = world.start("sign-out", "--type", "confidential", "--browser", BROWSER=script)
    checks.ends("sign-out --browser", out.finish(), 0, "browser")
    # lodge does not wait for the browser.
    found = eventually(lambda: os.path.exists(opened))
    with open(opened if found else os.devnull, encoding="utf-8") as file:
        address = file.read()
    if not checks.check("sign-out --browser opens the end_session endpoint",
                        address.startswith(server.metadata["end_session_endpoint"] + "?"), address):
        return
    browser.visit(address, server.origin + "/")
    page = web.send(server.origin + "/", cookies=browser.cookies)
    fields = [name for form in web.forms(page) for name in form.names]
    checks.check("after sign-out --browser the server prompts for the password again", "password" in fields, f"{fields}\n{page}")
