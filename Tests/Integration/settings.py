"""Invalid settings and command lines: each error names the location and the remedy."""

import os

GOOD = {"issuer": "https://id.example", "clientId": "cli", "redirectUri": "http://127.0.0.1/callback",
        "scopes": ["openid"]}


def without(key):
    return {name: value for name, value in GOOD.items() if name != key}


def run(checks, world):
    def wrong(sentence, content, *words):
        path = world.write("settings.json", content)
        checks.ends(sentence, world.run("sign-in", "--settings", path), 8, "settings.json", *words)

    def wrong_type(sentence, members, *words):
        wrong(sentence, {"types": {"one": members}}, *words)
        # Other types still work, and the list shows the error.
        path = world.write("settings.json", {"types": {"one": members, "two": GOOD}})
        checks.ends(f"{sentence}: other commands work", world.run("accounts", "--settings", path), 3)
        listed = world.run("providers", "--settings", path)
        checks.check(f"{sentence}: providers shows the error", listed.status == 0 and all(word in listed.out for word in words)
                     and "two\thttps://id.example" in listed.out, listed)

    wrong_type("a missing clientId", without("clientId"), "types.one.clientId")
    wrong_type("a missing redirectUri", without("redirectUri"), "types.one.redirectUri")
    wrong_type("neither issuer nor authority nor tokenEndpoint", without("issuer"), "types.one", "tokenEndpoint")
    wrong_type("an unknown key suggests the closest one", {**GOOD, "clientID": "x"}, "types.one.clientID", "clientId")
    wrong_type("a number instead of a string", {**GOOD, "clientId": 7}, "types.one.clientId", "7")
    wrong_type("an issuer that is not a URL", {**GOOD, "issuer": "id example"}, "types.one.issuer")
    wrong_type("plain HTTP to another machine", {**GOOD, "issuer": "http://id.example"}, "types.one.issuer", "https")
    wrong_type("scopes of the wrong type", {**GOOD, "scopes": {"openid": True}}, "types.one.scopes")
    wrong_type("an unknown authentication method",
               {**GOOD, "clientSecret": "s3cr3t", "clientAuthentication": "basic"}, "clientAuthentication")
    wrong("an unknown default type", {"defaultType": "two", "types": {"one": GOOD}}, "two")
    wrong("types as an array", {"types": [GOOD]}, "types")
    wrong("a file that is not JSON", "hello", "settings.json")
    wrong("truncated JSON", '{"types": {"one": {', "settings.json")
    wrong("a duplicate key", '{"types": {}, "types": {}}', "settings.json")
    wrong("an empty file", "", "settings.json")
    wrong("a truncated property list", '<?xml version="1.0"?><plist><dict><key>scopes</key>', "settings.json")

    path = world.write("settings.json", {"types": {"one": {**GOOD, "clientSecret": ["s3cr3t"], "tokenType": "s3cr3t"}}})
    told = world.run("sign-in", "--settings", path)
    checks.check("an invalid secret is not printed", told.status == 8 and "clientSecret" in told.err
                 and "s3cr3t" not in told.err, told)

    checks.ends("a missing file", world.run("accounts", "--settings", world.path("none.json")), 8,
                "none.json")
    checks.ends("a folder instead of a file", world.run("accounts", "--settings", world.folder), 8)
    checks.ends("no settings", world.run("accounts"), 8, "hint:")
    if os.geteuid() != 0:
        path = world.write("closed.json", {"types": {"one": GOOD}})
        os.chmod(path, 0)
        checks.ends("a file without read permission", world.run("accounts", "--settings", path), 8, "closed.json")

    path = world.write("settings.json", "// a comment\n" + '{"types": {"one": ' + str(GOOD).replace("'", '"') + "}}")
    checks.ends("comments are allowed", world.run("accounts", "--settings", path), 3)
    checks.ends("an unknown type", world.run("sign-in", "two", "--settings", path), 8, "two")
    home = world.path("home", ".config", "lodge")
    os.makedirs(home)
    os.rename(path, os.path.join(home, "settings.json"))
    checks.ends("settings in the home folder are found", world.run("accounts"), 3)
    world.make("config")
    checks.ends("XDG_CONFIG_HOME takes precedence over the home folder",
                world.run("search", "a", XDG_CONFIG_HOME=world.path("config")), 8, world.path("config"))
    checks.ends("LODGE_SETTINGS takes precedence over the home folder",
                world.run("accounts", LODGE_SETTINGS=world.path("other.json")), 8, "other.json")

    at_once(checks, world)
    usage(checks, world)


def at_once(checks, world):
    """Many processes change one settings file at the same time. Every change that succeeds must be in the file."""
    path = world.path("home", ".config", "lodge", "settings.json")
    names = [f"p{number}" for number in range(12)]
    for sentence, begin in (("with settings", True), ("without settings", False)):
        if not begin:
            os.remove(path)
        running = [world.start("providers", "add", f"{name}{begin}", "--issuer", "http://127.0.0.1:1", "--client-id", "x",
                               "--offline")
                   for name in names]
        ends = [one.finish() for one in running]
        with open(path) as file:
            text = file.read()
        kept = [name for name in names if f'"{name}{begin}"' in text]
        checks.check(f"types added concurrently are all saved, {sentence}",
                     [one.status for one in ends] == [0] * 12 and kept == names, (ends, text))
        checks.check(f"only the settings file is in its folder, {sentence}", os.listdir(os.path.dirname(path)) ==
                     ["settings.json"], os.listdir(os.path.dirname(path)))
    ends = [one.finish() for one in [world.start("providers", "remove", f"{name}False") for name in names[1:]]]
    with open(path) as file:
        text = file.read()
    checks.check("types removed concurrently are all removed", [one.status for one in ends] == [0] * 11
                 and "p0False" in text and "p1" not in text, (ends, text))


def usage(checks, world):
    checks.ends("an unknown command suggests the closest one", world.run("serach", "ada"), 2, "search")
    checks.ends("an unknown option suggests the closest one", world.run("status", "--setings", "x"), 2, "--settings")
    checks.ends("an option without its value", world.run("search", "--limit"), 2, "--limit")
    checks.ends("a value that is not a number", world.run("search", "ada", "--limit", "many"), 2, "--limit", "many")
    version = world.run("--version")
    checks.check("--version prints one line", version.status == 0 and version.out.startswith("lodge ")
                 and version.out.count("\n") == 1 and not version.err, version)
    help = world.run("help")
    checks.check("help prints to standard output", help.status == 0 and "sign-in" in help.out and not help.err, help)
    same = world.run("search", "--help").out
    checks.check("help search and search --help print the same text", same and world.run("help", "search").out == same)
    checks.check("help contains no control characters", all(c == "\n" or ord(c) >= 32 for c in help.out), repr(help.out))
