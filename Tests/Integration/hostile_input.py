"""Hostile input: endless names, endless pages, nested and repeated settings."""

import json
import os
import resource
import shutil
import signal
import struct
import urllib.parse

from directory_server import DirectoryServer
from provider import sign_in
from terminal import Terminal

# The processor time in seconds that is enough on most machines. Quadratic code took 40 s.
AT_ONCE = 5
# The input of a second measurement is smaller by this factor if a slow machine needs more time. Quadratic code is faster by its square.
SMALLER = 4
# The limit for commands that send a thousand requests or process a page of 10 MB on a busy machine.
LONG = 600
MARKS = 300_000


class Directory(DirectoryServer):
    """A directory whose responses the topic sets."""

    def __init__(self, world):
        super().__init__(world)
        self.mode, self.requests, self.marks = "long", 0, MARKS

    def respond(self, path):
        return 200, self.answer(path)

    def answer(self, path):
        self.requests += 1
        number = self.requests
        link = f"{self.base}v1.0/users?page={number}"
        if self.mode == "long":
            person = {"id": "1", "displayName": "Ada" + "\u0301" * self.marks, "givenName": "A" + "\u202e" * self.marks,
                      "surname": "\u0600" * self.marks, "jobTitle": "\U0001F468\u200d" * self.marks, "mail": "a" * self.marks + "@b.example",
                      "userPrincipalName": "ada@b.example", "businessPhones": ["\u0903" * self.marks], "department": "\"" * self.marks}
            return person if "/users/" in path.split("?")[0] else {"value": [person]}
        if self.mode == "loop":
            return {"value": [{"id": "1"}], "@odata.nextLink": f"{self.base}v1.0/users?page={number % 3}"}
        if self.mode == "same":
            return {"value": [{"id": str(number % 5), "displayName": "Ada"}], "@odata.nextLink": link}
        if self.mode == "empty":
            return {"value": [], "@odata.nextLink": link}
        if self.mode == "ending":
            value = [{"id": f"old-{n}", "displayName": f"Ada {n}"} for n in range(20)]
            return {"value": value, "@odata.deltaLink": f"{self.base}v1.0/users/delta?$deltatoken=1"}
        value = [{"id": f"{number}-{n}", "displayName": "Ada " + "x" * 1000} for n in range(500)]
        return {"value": value, "@odata.nextLink": link}


def run(checks, world):
    settings_files(checks, world)
    directory = Directory(world)
    directory.use(world)
    sign_in(world)
    long_names(checks, world, directory)
    endless_pages(checks, world, directory)
    endless_sync(checks, world, directory)
    account_files(checks, world)


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def timed(world, *words):
    """Runs the program and measures its processor time, which other programs of a busy machine do not affect."""
    before = processor_seconds()
    ended = world.run(*words, limit=LONG)
    return ended, processor_seconds() - before


def is_proportional(seconds, of_smaller_input):
    """Returns whether the processor time of a command is short, or is proportional to the input: `of_smaller_input()` measures the time
    for an input that is smaller by SMALLER."""
    return seconds < AT_ONCE or seconds < of_smaller_input() * SMALLER * 2


def settings_files(checks, world):
    def refused(sentence, content, *words):
        path = world.path("hostile")
        with open(path, "wb") as file:
            file.write(content)
        os.chmod(path, 0o600)
        ended, seconds = timed(world, "accounts", "--settings", path)
        checks.ends(sentence, ended, 8, *words)
        checks.check(f"{sentence}: without delay", seconds < AT_ONCE, f"{seconds:.2f} s")

    nested = b"<dict><key>a</key>"
    refused("10,000 nested dictionaries", b"<plist>" + nested * 10_000, "32 dictionaries")
    refused("10,000 nested dictionaries after comments", b"<plist>" + (b"<!-- </dict> -->" + nested) * 10_000, "32 dictionaries")
    section = b"<dict><key>b</key><string><![CDATA[</dict>]]></string><key>a</key>"
    refused("10,000 nested dictionaries after CDATA sections", b"<plist>" + section * 10_000, "32 dictionaries")
    refused("200,000 opening brackets", b"<" * 200_000)
    refused("a million characters of opening comments", b"<!--" * 250_000)
    refused("100,000 nested lists in JSON", b"[" * 100_000, "64")
    refused("a file of 2 MB", b" " * (2 << 20))
    objects = [bytes([0xA2, n, n]) for n in range(1, 21)] + [b"\x09"]
    offsets, body = [], b"bplist00"
    for item in objects:
        offsets.append(len(body))
        body += item
    trailer = struct.pack(">6xBBQQQ", 1, 1, len(objects), 0, len(body))
    refused("20 levels of shared lists in a binary property list", body + bytes(offsets) + trailer, "100000 values")


def long_names(checks, world, directory):
    """Each field has 300,000 characters. --timeout and the first Ctrl-C must end the command as usual."""
    directory.mode = "long"

    def smaller(measure):
        directory.marks = MARKS // SMALLER
        try:
            return measure()
        finally:
            directory.marks = MARKS

    def in_terminal(*words):
        shown = Terminal(world, 80, 24, *words, "--no-pager")
        status = shown.status()
        screen = shown.screen[-500:] if status else ""
        shown.stop()
        return status, shown.processor_seconds, screen

    for words in (["search", "ada"], ["show", "ada@b.example"], ["lookup", world.write("names", "ada@b.example\n")]):
        for form in ("table", "json", "jsonl", "csv", "tsv", "vcard"):
            if words[0] == "show" and form not in ("table", "json", "vcard"):
                continue
            command = (*words, "--output", form, "--timeout", str(LONG))
            ended, seconds = timed(world, *command)
            checks.check(f"{words[0]} --output {form} prints endless names", ended.status == 0 and "Ada" in ended.out, str(ended)[:500])
            checks.check(f"{words[0]} --output {form} takes a time proportional to the names",
                         is_proportional(seconds, lambda: smaller(lambda: timed(world, *command)[1])), f"{seconds:.1f} s")
            if form == "table":
                longest = max(len(cell) for line in ended.out.splitlines() for cell in line.split("\t"))
                checks.check(f"{words[0]}: a cell shows at most 4,096 characters", longest <= 4096, longest)
    if not shutil.which("tmux"):
        return
    for words in (["search", "ada"], ["show", "ada@b.example"], ["search", "ada", "--output", "csv"],
                  ["search", "ada", "--output", "vcard"]):
        status, seconds, screen = in_terminal(*words)
        checks.check(f"{' '.join(words)} in a terminal exits with 0", status == 0, screen)
        checks.check(f"{' '.join(words)} in a terminal takes a time proportional to the names",
                     is_proportional(seconds, lambda: smaller(lambda: in_terminal(*words)[1])), f"{seconds:.1f} s")

    def in_browser():
        shown = Terminal(world, 100, 30, "browse", "ada")
        checks.check("browse shows the user", shown.wait("Ada"), shown.screen[-500:])
        shown.keys("Down", "Tab", "C-c")
        status = shown.status()
        shown.stop()
        return status, shown.processor_seconds

    status, seconds = in_browser()
    checks.check("browse: Ctrl-C ends it without delay", status in (0, 130) and is_proportional(seconds, lambda: smaller(in_browser)[1]),
                 f"{status} after {seconds:.1f} s")


def endless_pages(checks, world, directory):
    for mode, sentence in (("loop", "pages with repeated links"), ("same", "pages that repeat their users"), ("empty", "empty pages")):
        directory.mode, directory.requests = mode, 0
        ended, seconds = timed(world, "search", "--all", "--output", "jsonl", "--timeout", str(LONG))
        checks.ends(f"{sentence} end with an error", ended, 1, "pages", "hint:")
        checks.check(f"{sentence}: at most 1,010 requests", directory.requests <= 1010, f"{directory.requests} in {seconds:.1f} s")
        lines = [json.loads(line) for line in ended.out.splitlines()]
        checks.check(f"{sentence}: each printed line is complete", all("id" in line for line in lines), ended)


def endless_sync(checks, world, directory):
    directory.mode = "ending"
    checks.ends("sync downloads a first copy", world.run("sync"), 0)
    before = world.run("search", "--offline", "--all", "--output", "json").json
    directory.mode = "new"
    # A different property, so that a full download starts.
    ended = world.run("sync", "--properties", "displayName", "--limit", "5000", limit=LONG)
    checks.ends("an endless sync ends at --limit", ended, 1, "5000 users", "hint:", "--limit")
    size = sum(os.path.getsize(os.path.join(world.store, name)) for name in os.listdir(world.store))
    checks.check("an endless sync does not fill the disk", size < 100 << 20, size)
    found = world.run("search", "--offline", "--all", "--output", "json")
    names = {user["id"] for user in found.json or []}
    checks.check("the users of the previous copy remain", before and all(user["id"] in names for user in before), str(found)[:500])
    directory.mode, directory.requests = "same", 0
    world.run("sync", "--forget")
    ended = world.run("sync", limit=LONG)
    checks.ends("a sync with pages that repeat their users ends with an error", ended, 1, "pages", "hint:")
    checks.check("a sync with repeated pages sends at most 1,010 requests", directory.requests <= 1010, directory.requests)
    world.run("sync", "--forget")
    directory.mode = "new"
    running = world.start("sync", "--limit", "100000000")
    running.wait_for(lambda _: directory.requests > 1030, LONG)
    running.signal(signal.SIGINT)
    # The pages are endless, so only the signal can end it.
    checks.check("the first Ctrl-C ends a long sync", running.finish().status == 130, running.err)
    world.run("sync", "--forget")


def account_files(checks, world):
    common = {"home_account_id": "u.t", "environment": "login.microsoftonline.com"}

    def importing(count):
        cache = {
            "AccessToken": {f"a{n}": {**common, "secret": f"s{n}", "expires_on": "1"} for n in range(count)},
            "RefreshToken": {f"r{n}": {**common, "secret": f"r{n}", "client_id": f"c{n}"} for n in range(count)}}
        return timed(world, "accounts", "import", world.write("cache.json", cache))

    ended, seconds = importing(5000)
    checks.check("accounts import reads a token cache with 5,000 clients without delay",
                 ended.status in (0, 1, 3, 8) and is_proportional(seconds, lambda: importing(5000 // SMALLER)[1]),
                 f"{seconds:.1f} s\n{str(ended)[:500]}")
