"""The terminal sessions that the README shows: recorded in a real terminal against `lodge serve`, and compared with the files.

`make record` writes the files."""

import html
import os
import re
import shlex
import shutil
import unicodedata

from provider import Provider
from terminal import Terminal
from world import eventually

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "Documentation.docc")
# Values that differ from run to run, and what the recording shows instead. The README uses this port.
PORT, REDIRECT_PORT = "8765", "36629"
WIDTH = 96
SESSION = [
    "lodge sign-in",
    "lodge search ada --limit 3",
    "lodge token --header | curl -sH @- http://127.0.0.1:{port}/v1.0/me | jq -r .jobTitle",
]


def run(checks, world):
    for program in ("tmux", "bash", "curl", "jq"):
        if not shutil.which(program):
            return print(f"skipped: the recording, because there is no {program}", flush=True)
    provider = Provider(world)
    world.use_settings({"types": {"local": {"provider": "local", "port": str(provider.port)}}})
    os.symlink(world.program, os.path.join(world.make("bin"), "lodge"))
    world.environment["PATH"] = world.path("bin") + ":" + world.environment["PATH"]
    # Without a display lodge would show a code for another device.
    world.environment["DISPLAY"] = ":0"
    recorded = session(checks, world, provider)
    compare(checks, "session", lambda: recorded, WIDTH)
    compare(checks, "browse", browse(checks, world), 80)


def session(checks, world, provider):
    """Types the commands at a prompt, each after the one before it has ended. Returns the lines of the terminal."""
    ended = world.path("ended")
    window = Terminal(world, WIDTH, 50, "--version")
    window.status()
    window.tmux("respawn-pane", "-k", "-t", "m", "-e", r"PS1=\[\e[32m\]$\[\e[0m\] ", "-e", f"PROMPT_COMMAND=echo >>{shlex.quote(ended)}",
                "bash", "--norc", "--noprofile")

    def prompts():
        if not os.path.exists(ended):
            return 0
        with open(ended, encoding="ascii") as file:
            return len(file.read())
    for number, command in enumerate(SESSION):
        eventually(lambda: prompts() == number + 1 and window.screen.endswith("$\n"))
        window.tmux("send-keys", "-t", "m", "-l", command.format(port=provider.port))
        window.keys("Enter")
    checks.check("the commands end", eventually(lambda: prompts() == len(SESSION) + 1 and window.screen.endswith("$\n")), window.screen)
    text = "\n".join(window.colors.rstrip().splitlines()[:-1])
    # As far as the reader needs it: a URL that ends with a secret fills the line.
    text = re.sub(r"(&|%26)request_uri=\S+", r"\1request_uri=…", text)
    text = re.sub(r"127\.0\.0\.1:(\d+)", lambda match: f"127.0.0.1:{PORT if match[1] == str(provider.port) else REDIRECT_PORT}", text)
    return text.splitlines()


def browse(checks, world):
    """Opens the terminal browser. Returns a function that reads its screen, which can still change."""
    window = Terminal(world, 80, 24, "browse", "ada")
    checks.check("browse shows the detail", window.wait("Photo ") and window.wait("Ada Lovelace ─"), window.screen)
    window.keys("Tab")
    checks.check("and the list has the keys", window.wait("> Ada Lovelace"), window.screen)
    return lambda: window.tmux("capture-pane", "-p", "-e", "-t", "m").rstrip("\n").splitlines()


def compare(checks, name, read, columns):
    """Compares a recording with its file, or writes it if $LODGE_RECORD is set."""
    path = os.path.join(FOLDER, name + ".svg")
    if os.environ.get("LODGE_RECORD"):
        with open(path, "w", encoding="utf-8") as file:
            file.write(Picture(read(), columns).svg)
        print(f"wrote {path}", flush=True)
    with open(path, encoding="utf-8") as file:
        kept = file.read()
    same = eventually(lambda: Picture(read(), columns).svg == kept, 10)
    checks.check(f"{name}.svg is what the terminal shows (otherwise: make record)", same, "" if same else "\n".join(
        line for line in Picture(read(), columns).svg.splitlines() if line not in kept.splitlines()))


class Picture:
    """Lines of a terminal, with the attributes of SGR, as an image."""

    CELL, LINE, SIZE, MARGIN = 8.4, 19, 14, 14
    BACK, INK, DARK = "#1d2330", "#e4e8f0", "#7d8799"
    COLORS = {1: "#ff7b85", 2: "#8fd694", 3: "#f2cf73", 4: "#79b8ff", 5: "#d7a6ff", 6: "#70d6d0", 7: "#e4e8f0"}

    def __init__(self, lines, columns):
        self.columns, self.rows = columns, []
        self.reset()
        for line in lines:
            self.rows.append(self.runs(line))

    def reset(self):
        self.bold = self.dim = self.underlined = self.reversed = False
        self.color = None

    def runs(self, line):
        """Splits a line into texts of one appearance, each with its first column."""
        found, column = [], 0
        for code, text in re.findall(r"\x1b\[([0-9;]*)m|([^\x1b]+)", line):
            if not text:
                self.apply(code)
                continue
            found.append((text, column, (self.bold, self.dim, self.underlined, self.reversed, self.color)))
            column += self.width(text)
        if "\x1b" in re.sub(r"\x1b\[[0-9;]*m", "", line):
            raise ValueError(f"an escape sequence that is not SGR: {line!r}")
        if column > self.columns:
            raise ValueError(f"{column} columns instead of {self.columns}: {line!r}")
        return found

    @staticmethod
    def width(text):
        return sum(0 if unicodedata.combining(one) else 2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text)

    def apply(self, codes):
        codes = [int(code) for code in (codes or "0").split(";")]
        while codes:
            code = codes.pop(0)
            if code == 38 and codes[:1] == [5]:
                self.color = codes[1]
                del codes[:2]
            elif code == 0:
                self.reset()
            elif code in (1, 2, 4, 7):
                setattr(self, {1: "bold", 2: "dim", 4: "underlined", 7: "reversed"}[code], True)
            elif code in (22, 24, 27):
                for name in {22: ("bold", "dim"), 24: ("underlined",), 27: ("reversed",)}[code]:
                    setattr(self, name, False)
            elif 31 <= code <= 37 or 91 <= code <= 97:
                self.color = code % 10 + (8 if code > 90 else 0)
            elif code == 39:
                self.color = None
            elif code != 49:
                raise ValueError(f"an attribute that the picture does not have: {code}")

    def ink(self, color):
        """Returns a color of the terminal's palette of 256."""
        if color is None or color < 16:
            return self.COLORS.get((color or 7) % 8, self.DARK)
        if color >= 232:
            return "#" + f"{8 + 10 * (color - 232):02x}" * 3
        steps = (0, 95, 135, 175, 215, 255)
        return "#" + "".join(f"{steps[(color - 16) // divisor % 6]:02x}" for divisor in (36, 6, 1))

    @property
    def svg(self):
        width = round(self.columns * self.CELL + 2 * self.MARGIN)
        height = len(self.rows) * self.LINE + 2 * self.MARGIN
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            f'font-family="ui-monospace, Menlo, Consolas, \'DejaVu Sans Mono\', monospace" font-size="{self.SIZE}" '
            f'fill="{self.INK}">',
            f'<rect width="{width}" height="{height}" rx="8" fill="{self.BACK}"/>']
        for number, row in enumerate(self.rows):
            top = self.MARGIN + number * self.LINE
            for run in row:
                lines += self.elements(run, top)
        return "\n".join(lines + ["</svg>"]) + "\n"

    def elements(self, run, top):
        """Each group of words has its own position, because viewers draw spaces and fonts in their own ways."""
        text, column, (bold, dim, underlined, is_reversed, color) = run
        ink = None if color is None else self.ink(color)
        if is_reversed:
            yield (f'<rect x="{self.left(column)}" y="{top}" width="{round(self.width(text) * self.CELL, 1)}" height="{self.LINE}" '
                   f'fill="{ink or self.INK}"/>')
            ink = self.BACK
        style = "".join((' font-weight="bold"' if bold else "", ' opacity="0.65"' if dim else "",
                         ' text-decoration="underline"' if underlined else "", f' fill="{ink}"' if ink else ""))
        for words in re.finditer(r"\S+(?: \S+)*", text):
            length = round(self.width(words[0]) * self.CELL, 1)
            yield (f'<text x="{self.left(column + self.width(text[:words.start()]))}" y="{top + 14}" textLength="{length}" '
                   f'lengthAdjust="spacingAndGlyphs"{style}>{html.escape(words[0], quote=False)}</text>')

    def left(self, column):
        return round(self.MARGIN + column * self.CELL, 1)
