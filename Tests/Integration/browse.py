"""`browse` in a terminal: typing, sizes, job control, accounts, network errors, throttling, signals."""

import csv
import fcntl
import io
import json
import os
import pty
import re
import select
import shlex
import shutil
import signal
import stat
import struct
import subprocess
import termios
import time
import tty

from network import Network
from provider import Provider
from terminal import Terminal, cells
from world import LIMIT, eventually, send_signal

SIZES = [(40, 10), (300, 80), (80, 24), (120, 40)]


class Shell(Terminal):
    """A terminal with a shell that can stop and continue the program."""

    def __init__(self, world, columns=100, rows=30, **environment):
        self.world, self.count = world, 0
        self.start(world, columns, rows, PS1="ready$ ", PS2="", **environment)
        self.tmux("set", "-s", "set-clipboard", "on")
        self.tmux("respawn-pane", "-k", "-t", "m", "bash", "--norc", "--noprofile", "-i")
        self.wait("ready$")

    @property
    def screen(self):
        """The current screen. `browse` has no lines above it."""
        return self.tmux("capture-pane", "-p", "-t", "m").rstrip() + "\n"

    @property
    def lines(self):
        return self.screen.splitlines()

    def command(self, *words, variables=""):
        self.type(f"{variables} {shlex.join([self.world.program, *words])}; echo ended with $?\n")

    def type(self, text):
        for part in re.split("(\n)", text):
            if part:
                self.tmux("send-keys", "-t", "m", *(["Enter"] if part == "\n" else ["-l", part]))

    def modes(self):
        """Returns the terminal modes, as a separate program sees them."""
        path = self.world.path("modes")
        self.finishes(f"clear; stty -a > {shlex.quote(path)}")
        with open(path, encoding="utf-8") as file:
            return file.read()

    def finishes(self, line):
        """Runs a line in the shell and waits until new text on the screen shows its end."""
        self.count += 1
        self.type(f"{line}; echo 'line' '{self.count}' 'is' 'over'\n")
        return self.wait(f"line {self.count} is over")

    def find(self, pattern):
        return eventually(lambda: re.search(pattern, self.screen) is not None)

    def resize(self, columns, rows):
        self.tmux("resize-window", "-t", "m", "-x", str(columns), "-y", str(rows))

    def find_process(self):
        """Returns the process ID and state of `browse`, or None and an empty state."""
        done = subprocess.run(["ps", "-o", "pid=,stat=,args=", "-t", self.tty.removeprefix("/dev/")], capture_output=True,
                              text=True, timeout=LIMIT)
        found = [line.split(None, 2) for line in done.stdout.splitlines()]
        return next(((int(pid), state) for pid, state, words in found if words.startswith(self.world.program)), (None, ""))

    def process(self):
        """Returns the process ID of `browse`."""
        return self.find_process()[0]

    def signal(self, number):
        """Sends a signal to `browse`. Returns whether it was running."""
        return send_signal(self.process(), number)

    @property
    def tty(self):
        return self.tmux("display", "-p", "-t", "m", "#{pane_tty}").strip()

    def prompt(self):
        """Waits for an empty prompt. Returns the terminal modes that the shell sets there."""
        self.finishes("clear")
        eventually(self.is_ready)
        return self.modes_now()

    def is_ready(self):
        """Returns whether the shell waits at an empty prompt."""
        return self.lines[-1:] == ["ready$"] and " -icanon" in self.modes_now()

    def foreground(self):
        """Brings `browse` to the foreground. After SIGSTOP its screen is still visible, so clear it first: new content is then a redraw."""
        self.prompt()
        self.type("fg; echo ended with $?\n")

    def modes_now(self):
        """Returns the current terminal modes without running a program in the terminal."""
        return subprocess.run(["stty", "-a", "-F", self.tty], capture_output=True, text=True, timeout=LIMIT).stdout

    def is_untouched(self, modes):
        """Returns whether only the shell uses the terminal: its modes, no screen of `browse` and no replies to terminal queries."""
        # The shell briefly sets other modes before each prompt.
        eventually(lambda: self.is_ready() and self.modes_now() == modes)
        flags = self.tmux("display", "-p", "-t", "m", "#{alternate_on} #{cursor_flag} #{keypad_cursor_flag}").split()
        return (self.modes_now() == modes and flags == ["0", "1", "0"] and "not found" not in self.screen
                and "Search" not in self.screen)

    def has_stopped(self):
        """Returns whether `browse` has stopped after the foreground and the shell waits for input again."""
        def find():
            # A state with + is still in the foreground.
            state = self.find_process()[1]
            return state.startswith("T") and "+" not in state and " -icanon" in self.modes_now() and "ready$" in self.screen
        return eventually(find)

    def is_stopped(self):
        """Returns whether the shell reports the stopped job, which it does at its next prompt."""
        def find():
            if not re.search(r"\+ +Stopped", self.screen):
                self.type("\n")
                time.sleep(0.2)
            return re.search(r"\+ +Stopped", self.screen)
        return eventually(lambda: self.find_process()[1].startswith("T")) and eventually(find)

    def is_over(self):
        """Returns whether `browse` has ended and the shell shows a prompt below its message."""
        if not eventually(lambda: not self.process()):
            return False
        self.type("\n")
        return self.find("lodge: interrupted") and self.find(r"ready\$$")

    def is_sane(self, before):
        """Returns whether the terminal is restored: modes, main screen, cursor, no bracketed paste."""
        flags = self.tmux("display", "-p", "-t", "m", "#{alternate_on} #{cursor_flag} #{keypad_cursor_flag}").split()
        return self.modes() == before and flags == ["0", "1", "0"]


def run(checks, world):
    if not shutil.which("tmux"):
        print("skipped: browse, because tmux is not installed", flush=True)
        return
    # The command starts in a session without a terminal.
    checks.ends("browse without a terminal is a usage error", world.start("browse").finish(), 2, "needs a terminal", "hint:")
    provider = Provider(world, "--users", "3000", "--log")
    network = Network(world, provider.port)
    settings = provider.settings
    settings["types"]["local"]["scopes"].append("User.Read.All")
    settings["types"]["local"]["graphAPI"] = f"http://127.0.0.1:{network.port}/"
    world.use_settings(settings)
    folder = world.make("somewhere")

    shell = Shell(world)
    before = shell.modes()
    shell.type(f"cd {shlex.quote(folder)}; clear\n")
    shell.command("browse", variables="TERM=dumb")
    checks.check("TERM=dumb is a usage error", shell.wait("ended with 2") and "TERM is" in shell.screen, shell.screen)

    signing_in(checks, shell)
    typing(checks, shell, provider)
    sizes(checks, shell)
    copying(checks, shell, folder)
    exporting(checks, shell, folder)
    stopping(checks, shell)
    losing_the_network(checks, shell, network)
    checks.check("the request log has the requests and no token", log_is_clean(world, shell), shell.screen)
    # Sent together, they would be one key.
    shell.keys("Escape")
    shell.wait("q quit")
    shell.keys("q")
    checks.check("q exits with 0 and restores the terminal",
                 shell.wait("ended with 0") and shell.is_sane(before), shell.screen)

    picking(checks, shell, before)
    in_the_background(checks, shell, before)
    ends(checks, shell, before)
    accounts(checks, world, shell)
    offline(checks, world, shell, network)
    plain(checks, shell)
    throttled(checks, world)
    pictures(checks, world)


def signing_in(checks, shell):
    shell.command("browse")
    checks.check("without an account browse offers a sign-in", shell.wait("Enter signs in"), shell.screen)
    shell.keys("Enter")
    checks.check("Enter signs in with the browser", shell.wait("ada@contoso.example"), shell.screen)


def requests(provider):
    return [line for line in provider.running.err.splitlines() if "GET /v1.0/users?" in line]


def typing(checks, shell, provider):
    checks.check("after the sign-in browse prompts for a name", shell.wait("Type at least"), shell.screen)
    asked = len(requests(provider))
    shell.type("adam s")
    checks.check("typed text is searched", shell.wait("Adam Smith") and "adam s" in shell.lines[0], shell.screen)
    checks.check("the status line names the keys", "help" in shell.lines[-1] and "ctrl-c" in shell.lines[-1], shell.screen)
    shell.keys("C-u")
    shell.type("ada")
    shell.wait("Ada Lovelace")
    # The provider gets the second search after all requests of the first one.
    eventually(lambda: len(requests(provider)) >= asked + 2)
    checks.check("a pause in typing sends one request", len(requests(provider)) == asked + 2, requests(provider)[asked:])
    checks.check("the best match is first", shell.find("> Ada Lovelace"), shell.screen)
    shell.keys("Down", "Down", "Up")
    checks.check("arrow keys move the selection immediately", shell.find("2 of "), shell.screen)
    shell.type("m")
    checks.check("further typing continues the text", shell.wait("People · adam") and shell.lines[0].startswith("Search adam"),
                 shell.screen)
    shell.keys("C-u")
    shell.type("conf room")
    shell.find(">[ *]Conf Room Adams")
    shell.keys("Tab")
    checks.check("the detail shows the selected user", shell.find("Manager +Aoife"), shell.screen)
    shell.keys("m")
    checks.check("m shows the manager", shell.find(r"Aoife O'Brien ─|> Aoife"), shell.screen)
    shell.keys("[")
    checks.check("[ returns to the previous user", shell.find(">[ *]Conf Room Adams"), shell.screen)
    shell.keys("?")
    checks.check("? shows all keys", shell.find("Everywhere|In the list"), shell.screen)
    shell.keys("Escape")
    checks.check("Escape closes the help", shell.wait("q quit") and shell.find(">[ *]Conf Room Adams"), shell.screen)


def sizes(checks, shell):
    for columns, rows in SIZES:
        shell.resize(columns, rows)

        def fits():
            lines = shell.lines
            return (len(lines) == rows and lines[0].startswith("Search") and all(len(cells(line)) <= columns for line in lines)
                    and sum(bool(re.search(r">[ *]Conf Room Adams", line)) for line in lines) == 1)
        checks.check(f"{columns}×{rows}: the screen fits, and the selected user remains", eventually(fits), shell.screen)
    shell.resize(15, 4)
    checks.check("a terminal that is too small shows a message", shell.wait("Too small"), shell.screen)
    shell.resize(100, 30)
    checks.check("the original size restores the screen", shell.find(">[ *]Conf Room Adams") and eventually(lambda: len(shell.lines) == 30), shell.screen)
    # A name with wide characters, and the column after it.
    column = {line[:line.index("│")] and len(cells(line[:line.index("│")])) for line in shell.lines if "│" in line}
    checks.check("columns are aligned by display width", len(column) == 1, shell.screen)


def copying(checks, shell, folder):
    shell.keys("/", "C-u")
    shell.type("ada")
    shell.find("> Ada Lovelace")
    shell.keys("Tab", "g", "c")
    checks.check("c copies the mail address and names the method", shell.wait("OSC 52"), shell.screen)
    has_it = eventually(lambda: shell.tmux("show-buffer").strip() == "ada@contoso.example")
    checks.check("the terminal has the copied address", has_it, repr(shell.tmux("show-buffer")))


def exporting(checks, shell, folder):
    shell.keys("Space", "Down", "Space", "C-s")
    checks.check("ctrl-s prompts for the file", shell.wait("Export to users.vcf"), shell.screen)
    shell.resize(40, 10)
    checks.check("the prompt fits in 40×10", shell.find(r"\nExport to users\.vcf\n"), shell.screen)
    shell.resize(100, 30)
    shell.keys("Enter")
    checks.check("Enter exports the marked users", shell.wait("Wrote 2 users to users.vcf"), shell.screen)
    shell.keys("C-s", "Enter")
    checks.check("an export does not replace a file", shell.wait("the file exists"), shell.screen)
    for name in ("team.csv", "team.json"):
        shell.keys("C-u")
        shell.type(name + "\n")
        checks.check(f"the extension selects the format: {name}", shell.wait(f"Wrote 2 users to {name}"), shell.screen)
        shell.keys("C-s")
    shell.keys("C-u")
    shell.type("team.txt\n")
    checks.check("another extension is an error", shell.wait("must end with .vcf, .csv or .json"), shell.screen)
    shell.keys("Escape")
    texts = {}
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), encoding="utf-8", newline="") as file:
            texts[name] = file.read()
    rows = list(csv.DictReader(io.StringIO(texts.get("team.csv", ""))))
    checks.check("the files contain the users", sorted(texts) == ["team.csv", "team.json", "users.vcf"]
                 and texts["users.vcf"].count("BEGIN:VCARD") == 2 and len(rows) == 2
                 and rows[0]["mail"] == "ada@contoso.example"
                 and [user["id"] for user in json.loads(texts["team.json"])] == [row["id"] for row in rows], texts)
    shell.keys("/", "C-u")
    shell.type("conf room")
    shell.find(">[ *]Conf Room Adams")
    shell.keys("Tab")


def picking(checks, shell, before):
    """Standard output is a pipe: browse draws on the controlling terminal."""
    program = shlex.quote(shell.world.program)
    shell.type(f"clear; chosen=$({program} browse ada); echo \"chose [$chosen] $?\"\n")
    checks.check("in a pipe browse draws on the terminal", shell.find("> Ada Lovelace") and "Enter choose" in shell.lines[-1], shell.screen)
    shell.keys("Enter")
    checks.check("Enter prints the mail address of the chosen user", shell.wait("chose [ada@contoso.example] 0"), shell.screen)
    checks.check("the terminal is restored", shell.is_sane(before), shell.screen)
    shell.type(f"clear; {program} browse ada | tr '\\n' ';'; echo \" ended with ${{PIPESTATUS[0]}}\"\n")
    shell.find("> Ada Lovelace")
    shell.keys("Tab", "Space", "Down", "Space", "Enter")
    checks.check("Enter prints the addresses of all marked users", shell.find(r"^ada@contoso\.example;[^;]+@[^;]+; ended with 0"), shell.screen)
    shell.type(f"clear; {program} browse --fields displayName,manager.displayName conf </dev/null | cat\n")
    shell.find(">[ *]Conf Room Adams")
    shell.keys("Enter")
    checks.check("--fields prints other fields, even without standard input", shell.find(r"Conf Room Adams +Aoife"), shell.screen)
    shell.type(f"clear; {program} browse --output json ada | grep -c '\"mail\": \"ada@'\n")
    shell.find("> Ada Lovelace")
    shell.keys("Enter")
    checks.check("--output json prints JSON", shell.find("^1\nready"), shell.screen)
    for keys in (["C-c"], ["Escape", "Escape"], ["Tab", "q"]):
        shell.type(f"clear; {program} browse ada | cat; echo \"ended with ${{PIPESTATUS[0]}}\"\n")
        shell.find("> Ada Lovelace")
        shell.keys(*keys)
        checks.check(f"{' '.join(keys)} leaves without a choice: 130",
                     shell.wait("ended with 130") and "lodge:" not in shell.screen and shell.is_sane(before), shell.screen)
    shell.command("browse", "--fields", "mail")
    checks.check("--fields on a terminal is a usage error", shell.wait("ended with 2"), shell.screen)
    shell.type("clear\n")


def stopping(checks, shell):
    shell.keys("C-z")
    stopped = shell.has_stopped() and shell.find("Stopped")
    checks.check("ctrl-z stops browse and restores the screen", stopped and "Conf Room" not in shell.screen, shell.screen)
    flags = shell.tmux("display", "-p", "-t", "m", "#{alternate_on}").strip()
    checks.check("the shell has its main screen", flags == "0", flags)
    shell.type("fg; echo ended with $?\n")
    checks.check("fg resumes browse and redraws it", shell.find(">[ *]Conf Room Adams") and shell.find("^Search"), shell.screen)
    stopped = shell.signal(signal.SIGSTOP) and shell.has_stopped()
    shell.foreground()
    checks.check("browse resumes after SIGSTOP", stopped and shell.find("^Search"), shell.screen)
    stopped = shell.signal(signal.SIGTSTP) and shell.has_stopped()
    shell.type("fg; echo ended with $?\n")
    checks.check("browse resumes after SIGTSTP", stopped and shell.find("^Search") and shell.find(">[ *]Conf Room Adams"), shell.screen)


def in_the_background(checks, shell, before):
    program = shlex.quote(shell.world.program)
    modes = shell.prompt()
    shell.type(f"{program} browse ada &\n")
    checks.check("browse stops when started in the background, and the shell keeps the terminal",
                 shell.is_stopped() and shell.is_untouched(modes), f"{shell.screen}\n{shell.modes_now()}")
    shell.type("fg; echo ended with $?\n")
    checks.check("fg shows browse", shell.wait("Ada Lovelace") and shell.find("^Search"), shell.screen)
    shell.keys("C-c")
    checks.check("browse exits and restores the terminal",
                 shell.wait("ended with 0") and shell.is_sane(before), shell.screen)

    modes = shell.prompt()
    shell.type(f"{program} browse ada &\n")
    shell.is_stopped()
    shell.type("kill %1\n")
    checks.check("kill ends a browse that stopped before it used the terminal",
                 shell.is_over() and shell.is_untouched(modes), f"{shell.screen}\n{shell.modes_now()}")

    shell.prompt()
    shell.command("browse", "ada")
    shell.wait("Ada Lovelace")
    shell.keys("C-z")
    shell.has_stopped()
    modes = shell.prompt()
    shell.type("bg\n")
    checks.check("browse stops again when continued in the background, and writes nothing",
                 shell.is_stopped() and shell.is_untouched(modes), f"{shell.screen}\n{shell.modes_now()}")
    shell.type("fg; echo ended with $?\n")
    checks.check("fg redraws browse", shell.wait("Ada Lovelace") and shell.find("^Search"), shell.screen)
    stopped = shell.signal(signal.SIGSTOP) and shell.has_stopped()
    shell.type("bg\n")
    checks.check("bg after SIGSTOP stops browse again", stopped and shell.is_stopped(), shell.screen)
    shell.foreground()
    shell.find("^Search")

    shell.keys("C-z")
    shell.has_stopped()
    modes = shell.prompt()
    shell.type("kill %1\n")
    checks.check("kill ends a stopped browse, and the shell keeps the terminal modes",
                 shell.is_over() and shell.is_untouched(modes), f"{shell.screen}\n{shell.modes_now()}")
    checks.check("the next program has the original terminal modes", shell.is_sane(before), shell.screen)


def losing_the_network(checks, shell, network):
    network.down()
    shell.keys("/", "C-u")
    shell.type("grace")
    checks.check("without the network browse shows an error and accepts keys", shell.find("network"), shell.screen)
    checks.check("the typed text remains", eventually(lambda: "grace" in "".join(shell.lines[:1])), shell.screen)
    network.up()
    shell.keys("Enter")
    checks.check("when the network is back, a key repeats the search", shell.find("> Grace|Grace [A-Z]"), shell.screen)


def log_is_clean(world, shell):
    token = world.run("token").out.strip()
    shell.keys("Tab")
    # In the list, letters are commands.
    shell.wait("q quit")
    shell.keys("L")
    shown = shell.find(r"GET /v1.0/users\?")
    return shown and token and token[:12] not in shell.screen and "Bearer" not in shell.screen


def ends(checks, shell, before):
    for number, name, status in ((signal.SIGTERM, "SIGTERM", 143), (signal.SIGINT, "SIGINT", 130),
                                 (signal.SIGHUP, "SIGHUP", 129), (signal.SIGSEGV, "a crash", 139),
                                 (signal.SIGABRT, "an abort", 134)):
        shell.type("clear\n")
        shell.command("browse", "ada")
        shell.wait("Ada Lovelace")
        ended = shell.signal(number) and shell.wait(f"ended with {status}")
        seen = shell.screen
        checks.check(f"after {name} the terminal is restored", ended and shell.is_sane(before), seen)


def accounts(checks, world, shell):
    shell.type("clear\n")
    shell.command("browse", "ada")
    shell.wait("Ada Lovelace")
    done = world.run("sign-in", PERSON_NAME="li.ming@contoso.example")
    other = next((a["userName"] for a in world.run("accounts", "--output", "json").json or []
                  if a["userName"] != "ada@contoso.example"), None)
    if not other:
        checks.check("a second account exists", False, done)
        return
    shell.keys("Tab", "a")
    checks.check("browse lists an account that another process added", shell.wait(other), shell.screen)
    shell.keys("j", "Enter")
    checks.check("Enter switches the account", eventually(lambda: other in "".join(shell.lines[:1])) and shell.wait("Ada Lovelace"),
                 shell.screen)
    current = world.run("accounts", "--output", "json").json or []
    shell.keys("C-c")
    shell.wait("ended with 0")
    checks.check("the switch does not change the active account of other commands", any(a["userName"] == other for a in current), current)


def offline(checks, world, shell, network):
    checks.ends("sync downloads the offline copy", world.run("sync", "--account", "ada@contoso.example"), 0)
    network.down()
    shell.type("clear\n")
    shell.command("browse", "--account", "ada@contoso.example", "ada")
    checks.check("without the network browse shows users from the offline copy and a message",
                 shell.wait("Ada Lovelace") and shell.find("network"), shell.screen)
    shell.keys("C-c")
    shell.wait("ended with 0")
    shell.type("clear\n")
    shell.command("browse", "--offline", "--account", "ada@contoso.example", "ada")
    checks.check("--offline searches only the offline copy", shell.wait("Ada Lovelace") and "network" not in shell.screen,
                 shell.screen)
    shell.keys("C-c")
    shell.wait("ended with 0")
    network.up()


def plain(checks, shell):
    for words, variables, name in ((["--no-color"], "", "--no-color"), ([], "NO_COLOR=1", "NO_COLOR"),
                                   ([], "TERM=vt220", "a terminal without color")):
        shell.type("clear\n")
        shell.command("browse", "ada", *words, variables=variables)
        shell.wait("Ada Lovelace")
        used = eventually(lambda: set(re.findall(
            r"\x1b\[([0-9;]*)m", shell.tmux("capture-pane", "-p", "-e", "-t", "m"))))
        checks.check(f"{name}: browse uses text attributes but no colors",
                     used and not any(re.search(r"(^|;)[34][0-8](;|$)", one) for one in used), sorted(used))
        shell.keys("C-c")
        shell.wait("ended with 0")
    shell.type("clear\n")
    shell.command("browse", "adam", "s", variables="LC_ALL=C")
    checks.check("in the C locale browse uses only ASCII", shell.wait("Adam Smith") and shell.find(r"Sch\?fer")
                 and shell.screen.isascii(), shell.screen)
    shell.keys("C-c")
    shell.wait("ended with 0")
    # The desktop's clipboard program reads the text from standard input.
    tools = shell.world.make("tools")
    tool = os.path.join(tools, "wl-copy")
    with open(tool, "w", encoding="ascii") as file:
        file.write(f'#!/bin/sh\necho "$#" > {tools}/words\ncat > {tools}/text\n')
    os.chmod(tool, stat.S_IRWXU)
    shell.type("clear\n")
    shell.command("browse", "ada", variables=f"WAYLAND_DISPLAY=w PATH={tools}:$PATH")
    shell.wait("Ada Lovelace")
    shell.keys("Tab", "g", "c")
    said = shell.wait("wl-copy")

    def given():
        try:
            with open(f"{tools}/text", encoding="ascii") as text, open(f"{tools}/words", encoding="ascii") as words:
                return text.read(), words.read().strip()
        except OSError as error:
            return str(error)
    right = eventually(lambda: given() == ("ada@contoso.example", "0"))
    checks.check("browse copies with the desktop's clipboard program", said and right, f"{given()}\n{shell.screen}")
    shell.keys("C-c")
    shell.wait("ended with 0")


def throttled(checks, world):
    # A delay that is long enough for a slow machine.
    provider = Provider(world, "--users", "300", "--fault", "directory-429=25:1")
    there = {"LODGE_SETTINGS": world.write("busy.json", provider.settings),
             "LODGE_STORE": world.path("store-busy")}
    world.run("sign-in", **there)
    shell = Shell(world, **there)
    shell.command("browse", "ada")
    checks.check("throttling shows a countdown", shell.find("Next attempt in [0-9]+ s"), shell.screen)
    shell.type("m")
    checks.check("keys work during the countdown", shell.find("^Search adam"), shell.screen)
    checks.check("after the countdown browse searches the newest text", shell.find("> Ada|Adam [A-Z]"), shell.screen)
    shell.keys("C-c")
    shell.wait("ended with 0")


class GraphicTerminal:
    """A terminal that replies like one with graphics. It records the output."""

    def __init__(self, world, *words, answers=b""):
        self.shown = b""
        self.master, terminal = pty.openpty()
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 1200, 800))
        # Write the replies first, because the program waits for them only 0.2 s. Keys come before and between them.
        tty.setraw(terminal)
        os.write(self.master, b"ada" + answers.replace(b"|", b" l"))
        self.process = subprocess.Popen(
            [world.program, *words], env=world.environment | {"TERM": "xterm-256color"}, stdin=terminal, stdout=terminal,
            stderr=terminal, start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(terminal)
        world.closers.append(self.stop)

    def find(self, wanted):
        def read():
            if wanted in self.shown or not select.select([self.master], [], [], 0.1)[0]:
                return wanted in self.shown
            try:
                self.shown += os.read(self.master, 65536)
            except OSError:
                # The program has ended.
                return True
            return wanted in self.shown
        eventually(read)
        return wanted in self.shown

    def type(self, keys):
        os.write(self.master, keys)

    def stop(self):
        self.process.kill()
        self.process.wait()
        os.close(self.master)


def pictures(checks, world):
    world.run("accounts", "use", "ada@contoso.example")
    kitty = GraphicTerminal(world, "browse", "--account", "ada@contoso.example",
                            answers=b"\x1b_Gi=31;OK\x1b\\|\x1b[6;20;10t\x1b[?62;22c")
    checks.check("browse queries kitty graphics, and keys typed during the query are input",
                 kitty.find(b"\x1b[c") and kitty.find(b"Ada Lovelace"), kitty.shown[-2000:])
    checks.check("browse shows the photo", kitty.find(b"\x1b_Ga=T,f=100,"), kitty.shown[-2000:])
    kitty.type(b"\x03")
    checks.check("browse removes the photo when it exits", kitty.find(b"\x1b_Ga=d,d=I,i=31,q=2\x1b\\")
                 and kitty.find(b"\x1b[?1049l"), kitty.shown[-300:])
    plain = GraphicTerminal(world, "browse", "--account", "ada@contoso.example", answers=b"\x1b[?62;22c|")
    plain.find(b"Ada Lovelace")
    plain.find(b"Manager")
    checks.check("in another terminal browse requests no photo", b"_Ga=T" not in plain.shown, plain.shown[-300:])
    plain.type(b"\x03")
    plain.find(b"\x1b[?1049l")
