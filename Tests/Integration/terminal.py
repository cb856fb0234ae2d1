"""Commands in a terminal: the demo, tables, Ctrl-C."""

import json
import os
import re
import shlex
import shutil
import subprocess
import unicodedata

import demo
from provider import Provider
from world import LIMIT, eventually


def cells(line):
    """Returns the character of each column on the screen. A wide character fills two columns, a combining character none."""
    found = []
    for character in line:
        if not unicodedata.combining(character):
            found += [character, ""] if unicodedata.east_asian_width(character) in "WF" else [character]
    return found


class Terminal:
    """A private tmux server with one window. When the command ends, it writes its status and its processor time to files."""

    def __init__(self, world, columns, rows, *words):
        self.start(world, columns, rows)
        command = (f"trap : INT; {shlex.join([world.program, *words])}; s=$?; times > {shlex.quote(self.status_file)}.times; "
                   f"echo $s > {shlex.quote(self.status_file)}")
        self.tmux("respawn-pane", "-k", "-t", "m", "sh", "-c", command)

    def start(self, world, columns, rows, **environment):
        self.socket = world.path(f"tmux-{len(world.closers)}")
        self.status_file = self.socket + ".status"
        self.environment = world.environment | {"TERM": "xterm-256color"} | environment
        world.closers.append(self.stop)
        self.tmux("-f", "/dev/null", "new-session", "-d", "-s", "m", "-x", str(columns), "-y", str(rows), "sleep 99999")
        for name, value in (("remain-on-exit", "on"), ("remain-on-exit-format", ""), ("history-limit", "20000"),
                            ("status", "off")):
            self.tmux("set", "-g", name, value)

    def tmux(self, *words):
        done = subprocess.run(["tmux", "-u", "-S", self.socket, *words], env=self.environment, capture_output=True,
                              timeout=LIMIT)
        return done.stdout.decode("utf-8", "replace")

    @property
    def screen(self):
        return self.tmux("capture-pane", "-p", "-J", "-S", "-", "-t", "m").rstrip() + "\n"

    @property
    def colors(self):
        return self.tmux("capture-pane", "-p", "-e", "-J", "-S", "-", "-t", "m")

    def keys(self, *keys):
        self.tmux("send-keys", "-t", "m", *keys)

    def wait(self, text):
        return eventually(lambda: text in self.screen)

    def status(self):
        """Returns the exit status of the command after it has ended."""
        def find():
            if not os.path.exists(self.status_file):
                return ""
            with open(self.status_file, encoding="ascii") as file:
                return file.read().strip()
        found = eventually(find)
        return int(found) if found else "no end in time"

    @property
    def processor_seconds(self):
        """The processor time of the command in seconds, after it has ended. Other programs of a busy machine have no effect."""
        try:
            with open(self.status_file + ".times", encoding="ascii") as file:
                minutes, seconds = zip(*(part.rstrip("s").split("m") for part in file.read().splitlines()[1].split()))
        except (OSError, IndexError):
            return LIMIT
        return sum(map(int, minutes)) * 60 + sum(map(float, seconds))

    def stop(self):
        self.tmux("kill-server")


def run(checks, world):
    if not shutil.which("tmux"):
        print("skipped: the terminal, because tmux is not installed", flush=True)
        return
    told = Terminal(world, 160, 50, "demo")
    status = told.status()
    checks.check("demo exits with 0", status == 0, f"{status}\n{told.screen}")
    checks.check("demo prints the same steps as in a pipe", demo.steps(told.screen) == demo.steps(world.run("demo").out),
                 told.screen)

    provider = Provider(world)
    world.use_settings(provider.settings)
    waiting = Terminal(world, 100, 30, "sign-in", "--no-browser")
    checks.check("sign-in prints the URL on a separate line", waiting.wait("\nhttp://127.0.0.1"), waiting.screen)
    waiting.keys("C-c")
    status = waiting.status()
    checks.check("Ctrl-C ends sign-in with 130", status == 130, f"{status}\n{waiting.screen}")
    checks.check("sign-in prints that it was interrupted", "interrupted" in waiting.screen, waiting.screen)

    world.run("sign-in")
    wide = Terminal(world, 120, 40, "search", "a", "--limit", "10")
    checks.check("search in a terminal exits with 0", wide.status() == 0, wide.screen)
    head, *people = wide.screen.splitlines()[:11]
    # The column before MAIL is empty in every line, for names of any width.
    gap = head.find("MAIL") - 1
    checks.check("the columns of search are aligned without tabs",
                 head.startswith("NAME") and "\t" not in wide.screen and len(people) == 10
                 and all(cells(line)[gap] == " " and cells(line)[gap - 1] == " " for line in people), wide.screen)
    complete_values(checks, world)
    plain = Terminal(world, 120, 40, "search", "a", "--limit", "3", "--no-color")
    plain.status()
    checks.check("--no-color prints no color", "\x1b" not in plain.colors, repr(plain.colors))
    paging(checks, world)
    progress(checks, world)


def complete_values(checks, world):
    """In 80 columns, every mail, phone, expiry and remedy is complete."""
    people = [{"mail": user["mail"] or "", "phone": (user["businessPhones"] or [user["mobilePhone"] or ""])[0]}
              for user in json.loads(world.run("search", "a", "--limit", "10", "-o", "json").out)]
    table = Terminal(world, 80, 24, "search", "a", "--limit", "10")
    table.status()
    lines = table.screen.splitlines()
    checks.check("in 80 columns each user has one line with the complete mail and phone",
                 lines[0].startswith("NAME") and all(len(cells(line)) <= 80 for line in lines)
                 and all(any(person["mail"] in line and person["phone"] in line for line in lines[1:11])
                         for person in people), table.screen)
    narrow = Terminal(world, 44, 60, "search", "a", "--limit", "10")
    narrow.status()
    # The last line is advice and not a row.
    text = narrow.screen[:narrow.screen.rindex("There are more")]
    checks.check("in 44 columns a row continues on the next line",
                 all(len(cells(line)) <= 44 for line in text.splitlines()) and len(text.splitlines()) > 12
                 and all(text.count(person["mail"][:15]) for person in people)
                 # Only the columns before and after the address are truncated.
                 and not re.search(r"@\w*…", text), text)
    names = world.write("names.txt", "\n".join(person["mail"] for person in people if person["mail"]) + "\nnobody@contoso.example\n")
    lookup = Terminal(world, 80, 24, "lookup", names)
    lookup.status()
    lines = lookup.screen.splitlines()
    checks.check("lookup prints a row for each line, with the complete mail and phone",
                 lines[0].startswith("INPUT") and all(len(cells(line)) <= 80 for line in lines)
                 and all(person["mail"] in lookup.screen and person["phone"] in lookup.screen
                         for person in people if person["mail"]), lookup.screen)
    status = Terminal(world, 80, 24, "status")
    status.status()
    row = next((line for line in status.screen.splitlines() if line.startswith("ada@")), "")
    checks.check("status prints the complete account and expiry",
                 row.startswith("ada@contoso.example ") and re.search(r"expires in \d+ (s|min|h)\b", row), status.screen)
    broken = world.path("broken-store")
    os.mkdir(broken, 0o755)
    found = json.loads(world.run("--store", broken, "doctor", "--offline", "-o", "json").out)
    doctor = Terminal(world, 80, 24, "--store", broken, "doctor", "--offline")
    doctor.status()
    joined = " ".join(doctor.screen.split())
    remedies = [finding["remedy"] for finding in found if "remedy" in finding]
    checks.check("doctor prints each remedy completely", remedies and "…" not in doctor.screen and all(
        "".join(f"remedy: {remedy}".split()) in "".join(joined.split()) for remedy in remedies), doctor.screen)
    checks.check("the lines of doctor fit", all(len(cells(line)) <= 80 for line in doctor.screen.splitlines()), doctor.screen)


def paging(checks, world):
    if not shutil.which("less"):
        return print("skipped: the pager, because less is not installed", flush=True)
    last = world.run("search", "a", "--all").out.splitlines()[-1].split("\t")[0]
    world.environment["PAGER"] = "less"
    paged = Terminal(world, 100, 20, "search", "a", "--all")
    shown = paged.wait("\n:\n")
    checks.check("the pager shows a table that is longer than the screen from its first line",
                 shown and paged.screen.startswith("NAME") and len(paged.screen.splitlines()) == 20, paged.screen)
    paged.keys("Space")
    paged.keys("C-c")
    paged.keys("C-c")
    paged.keys("Space")
    checks.check("Ctrl-C reaches the pager", not os.path.exists(paged.status_file), paged.screen)
    paged.keys("q")
    checks.check("if the user leaves the pager early, the command ends without an error", paged.status() == 0 and "lodge:" not in paged.screen, paged.screen)
    short = Terminal(world, 100, 20, "search", "a", "--limit", "5")
    checks.check("a short table is not in the pager", short.status() == 0 and len(short.screen.splitlines()) == 7, short.screen)
    for words in (("--no-pager",), ("--no-input",), ("--output", "csv")):
        plain = Terminal(world, 100, 20, "search", "a", "--all", *words)
        checks.check(f"{' '.join(words)}: no pager", plain.status() == 0, plain.screen)
    world.environment["PAGER"] = "no-such-pager"
    missing = Terminal(world, 100, 20, "search", "a", "--all")
    ended = missing.status()
    # The terminal may still be drawing: the sentence after the table is the last output.
    checks.check("without the pager the table is printed", ended == 0 and missing.wait(last) and "Ada Lovelace" in missing.screen,
                 missing.screen)
    world.environment["PAGER"] = "less"
    sane = Terminal(world, 100, 20, "--version")
    sane.status()
    sane.tmux("respawn-pane", "-k", "-t", "m", "sh", "-c", f"{shlex.quote(world.program)} search a --all; stty -a")
    sane.wait("\n:\n")
    sane.keys("q")
    checks.check("the terminal modes are restored", sane.wait(" icanon") and " echo " in sane.screen, sane.screen)
    del world.environment["PAGER"]


def progress(checks, world):
    """Progress on the terminal of standard error, while standard output is a file."""
    # Enough requests for a progress line, and slow enough for the checks to see it.
    many = Provider(world, "--users", "800", "--fault", "directory-slow=0.03")
    world.use_settings(many.settings)
    world.run("sign-in")
    window = Terminal(world, 100, 20, "--version")
    window.status()
    program, people = shlex.quote(world.program), shlex.quote(world.path("people.csv"))
    window.tmux("respawn-pane", "-k", "-t", "m", "sh", "-c",
                f"{program} search --given-name a --all --page-size 1 --count -o csv >{people}; echo ended $?")
    checks.check("search shows its progress with a rate and the total", window.wait(" a second"), window.screen)
    screen = window.screen
    checks.check("the progress is one line", " of " in screen and "%" in screen and len(screen.splitlines()) == 1, screen)
    ended = window.wait("ended 0")
    checks.check("the progress line disappears at the end", ended and " a second" not in window.screen, window.screen)
    with open(world.path("people.csv"), encoding="utf-8") as file:
        text = file.read()
    checks.check("the progress is not in the file", "a second" not in text and len(text.splitlines()) > 100, text[:300])
