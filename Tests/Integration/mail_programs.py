"""The output in other programs: mutt, aerc, jq, Python's CSV reader and a vCard reader."""

import csv
import io
import json
import os
import shutil
import subprocess

from directory_server import DirectoryServer
from provider import sign_in
from terminal import Terminal

# Names that users or attackers may choose.
NAMES = [
    "Ada Lovelace", "=cmd|' /C calc'!A1", "@SUM(1+1)", "-2+3", "Tab\tand\nline", 'The "Boss" <root@evil.example>',
    "Semi;colon, comma \\ backslash", "Esc \x1b]0;owned\x07 \x1b[2J", "Turn \u202egnp.exe", "李 明", "👩‍💻 Lead",
    "Zoë 'quote' O'Brien", "x" * 200,
]
PEOPLE = [
    {"id": f"id-{n}", "displayName": name, "givenName": f"A{n}", "surname": name, "mail": f"a{n}@contoso.example",
     "userPrincipalName": f"a{n}@contoso.example", "jobTitle": "Head, of; all", "department": "R&D \x1b[31m",
     "businessPhones": ["+1 425 555 0100"]}
    for n, name in enumerate(NAMES)
] + [{"id": "none", "displayName": "Without Mail", "givenName": "A", "mail": None, "userPrincipalName": "w@contoso.example"}]


class Directory(DirectoryServer):
    """Returns all users for every request, or none if the query contains "zzz"."""

    def __init__(self, world):
        self.asked = []
        super().__init__(world)

    def respond(self, path):
        self.asked.append(path)
        return 200, {"value": [] if "zzz" in path else PEOPLE}


def run(checks, world):
    directory = Directory(world)
    directory.use(world)
    checks.ends("sign-in", sign_in(world), 0)
    os.symlink(world.program, os.path.join(world.make("bin"), "lodge"))
    world.environment["PATH"] = world.path("bin") + ":" + world.environment["PATH"]
    tables(checks, world)
    json_readers(checks, world)
    cards(checks, world)
    if not shutil.which("tmux"):
        return print("skipped: mutt and aerc, because tmux is not installed", flush=True)
    mutt(checks, world, directory)
    aerc(checks, world)


def tables(checks, world):
    done = world.run("search", "--given-name", "a", "-o", "csv")
    rows = list(csv.DictReader(io.StringIO(done.out, newline=""), strict=True))
    names = [row["displayName"] for row in rows]
    guarded = ["'" + name if name[0] in "=+-@\t\r" else name for name in NAMES]
    checks.check("csv: a reader gets every name, with a quote before formulas",
                 names == guarded + ["Without Mail"] and all(None not in row for row in rows), names)
    done = world.run("search", "--given-name", "a", "-o", "csv", "--csv-raw")
    rows = list(csv.DictReader(io.StringIO(done.out, newline=""), strict=True))
    checks.check("csv: with --csv-raw a reader gets every name unchanged",
                 [row["displayName"] for row in rows] == NAMES + ["Without Mail"], rows)
    done = world.run("search", "--given-name", "a", "-o", "tsv")
    rows = [line.split("\t") for line in done.out.split("\n")[1:-1]]
    checks.check("tsv: each user has one line, and all lines have the same number of cells", len({len(row) for row in rows}) == 1 and len(rows) == len(PEOPLE), rows)
    done = world.run("search", "--given-name", "a")
    checks.check("the table in a pipe has no control characters", not any(
        ord(letter) < 32 and letter not in "\t\n" or letter == "\u202e" for letter in done.out), repr(done.out))


def json_readers(checks, world):
    if not shutil.which("jq"):
        return print("skipped: jq is not installed", flush=True)
    for format_, program in (("json", ".[].displayName"), ("jsonl", ".displayName")):
        done = world.run("search", "--given-name", "a", "-o", format_)
        names = subprocess.run(["jq", program], input=done.out.encode(), capture_output=True, timeout=30)
        read = [json.loads(line) for line in names.stdout.decode().splitlines()]
        checks.check(f"{format_}: jq reads every name unchanged", read == NAMES + ["Without Mail"], names)
        checks.check(f"{format_}: the output has no control sequences", "\x1b" not in done.out and "\u202e" not in done.out, repr(done.out))


READ_CARDS = """
import json, sys, vobject
cards = list(vobject.readComponents(sys.stdin.read(), validate=True))
print(json.dumps([[card.fn.value, card.title.value if hasattr(card, "title") else None,
                   card.email.value if hasattr(card, "email") else None] for card in cards]))
"""


def cards(checks, world):
    python = "/usr/bin/python3"
    if subprocess.run([python, "-c", "import vobject"], capture_output=True).returncode:
        return print("skipped: the vCard reader is not installed", flush=True)
    out = world.run("search", "--given-name", "a", "-o", "vcard").out
    done = subprocess.run([python, "-c", READ_CARDS], input=out.encode(), capture_output=True, timeout=30,
                          env={**world.environment, "PYTHONIOENCODING": "utf-8"})
    read = json.loads(done.stdout) if done.returncode == 0 else []
    # A vCard has no control characters, and a tab becomes a space.
    wanted = ["".join(letter for letter in name.replace("\t", " ") if letter == "\n" or ord(letter) >= 32) for name in NAMES]
    checks.check("vcard: a reader gets every name", [card[0] for card in read] == wanted + ["Without Mail"],
                 f"{done.stderr.decode()}\n{read}")
    checks.check("vcard: commas and semicolons remain in their value",
                 all(card[1] in ("Head, of; all", None) for card in read) and len(read) == len(PEOPLE), read)
    checks.check("vcard: no line is longer than 75 bytes", all(len(line) <= 75 for line in out.encode().split(b"\r\n")))


def respawn(world, columns, rows, command):
    window = Terminal(world, columns, rows, "--version")
    window.status()
    window.tmux("respawn-pane", "-k", "-t", "m", "sh", "-c", command)
    return window


def help_line(world, start):
    """A line of `lodge help mail`."""
    return next((line.strip() for line in world.run("help", "mail").out.splitlines() if line.strip().startswith(start)), f"no {start}")


def mutt(checks, world, directory):
    if not shutil.which("mutt"):
        return print("skipped: mutt is not installed", flush=True)
    # Mutt quotes %s itself. Additional quotes would expose the query to the shell.
    world.write("muttrc", help_line(world, "set query_command") + "\nset sendmail=/bin/true\n"
                          "set folder=~\nset editor=true\nset abort_nosubject=no\nset charset=utf-8\nset header_cache=\"\"\n")
    window = respawn(world, 160, 40, f"mutt -F {world.path('muttrc')} -f /dev/null")
    window.wait("q:Quit")
    window.keys("Q")
    window.wait("Query:")
    window.keys("-l", "ada O'Brien; touch owned")
    window.keys("Enter")
    checks.check("mutt lists the results", window.wait("a0@contoso.example") and "Ada Lovelace" in window.screen, window.screen)
    screen = window.screen
    shown = [line for line in screen.splitlines() if "@contoso.example" in line]
    checks.check("mutt: each user with an address has one row", len(shown) == len(NAMES) and "Without Mail" not in screen, screen)
    checks.check("mutt: a name cannot add an address", "root@evil.example>" not in screen and "<root" not in screen, screen)
    checks.check("mutt: a quote in the query is passed as a character", any("O''Brien" in path or "O%27%27Brien" in path for path in directory.asked),
                 directory.asked[-1:])
    checks.check("mutt: the shell does not interpret the query", not os.path.exists(world.path("owned"))
                 and not os.path.exists(world.path("home", "owned")))
    window.keys("q")
    window.wait("Mutt: /dev/null")
    window.keys("Q")
    window.wait("Query:")
    window.keys("-l", "zzz")
    window.keys("Enter")
    checks.check("mutt shows the message if there is no match", window.wait("No user with a mail address matches zzz."), window.screen)
    window.stop()
    done = subprocess.run(["mutt", "-F", world.path("muttrc"), "-D"], env=world.environment, capture_output=True, timeout=90,
                          stdin=subprocess.DEVNULL)
    checks.check("mutt accepts the settings of the manual", b"query_command=\"lodge search --output mutt %s\"" in done.stdout, done.stderr)


def aerc(checks, world):
    if not shutil.which("aerc"):
        return print("skipped: aerc is not installed", flush=True)
    folder = world.make("home/.config/aerc")
    for part in ("cur", "new", "tmp"):
        world.make(f"maildir/INBOX/{part}")
    os.chmod(folder, 0o700)
    world.write("home/.config/aerc/accounts.conf",
                f"[t]\nsource = maildir://{world.path('maildir')}\noutgoing = /bin/true\nfrom = Me <me@contoso.example>\ndefault = INBOX\n")
    os.chmod(world.path("home/.config/aerc/accounts.conf"), 0o600)
    editor = world.write("editor", "#!/bin/sh\nexec sleep 99999\n")
    os.chmod(editor, 0o700)
    world.write("home/.config/aerc/aerc.conf",
                f"[ui]\ncompletion-delay=10ms\n[compose]\nheader-layout=To\neditor={editor}\n{help_line(world, 'address-book-cmd')}\n")
    window = respawn(world, 160, 40, "XDG_CONFIG_HOME=$HOME/.config aerc")
    window.wait("INBOX")
    window.keys("-l", ":compose")
    window.keys("Enter")
    window.wait("To:")
    window.keys("-l", "ada")
    found = window.wait("a0@contoso.example")
    checks.check("aerc completes the address", found and "Ada Lovelace" in window.screen, window.screen)
    window.stop()
