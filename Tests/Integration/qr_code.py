"""The QR code of a sign-in, read from the screen by another program."""

import glob
import os
import shutil
import subprocess

from provider import Provider
from terminal import Terminal
from world import eventually

# Pixels of a module, and the two modules that each half-block character represents.
SCALE = 6
HALVES = {" ": (0, 0), "▀": (1, 0), "▄": (0, 1), "█": (1, 1)}


def run(checks, world):
    provider = Provider(world)
    world.use_settings(provider.settings)
    without_library(checks, world)
    if not shutil.which("zbarimg") or not shutil.which("tmux") or not library():
        print("skipped: reading the QR code, because zbarimg (zbar-tools), tmux or libqrencode4 is not installed", flush=True)
        return
    piped(checks, world)
    # In a terminal the code is black on white, for all terminal colors.
    for words, find in ((["--device"], "user_code="), (["--no-browser"], "request_uri=")):
        shown = Terminal(world, 160, 120, "sign-in", "--qr", *words)
        checks.check(f"{words[0]}: the QR code is on the screen", shown.wait("Ctrl-C ends"), shown.screen)
        address = next((line.strip() for line in shown.screen.splitlines() if find in line), "nothing")
        checks.check(f"{words[0]}: a reader decodes the URL from the screen",
                     eventually(lambda: read(world, rows(shown.screen), ink=0) == address, 20), shown.screen)
        checks.check(f"{words[0]}: the QR code is black on white", "\x1b[38;5;16m\x1b[48;5;231m" in shown.colors
                     or "\x1b[38;5;16;48;5;231m" in shown.colors, repr(shown.colors[:1500]))
        shown.keys("C-c")
        checks.check(f"{words[0]}: Ctrl-C ends the command with 130", shown.status() == 130, shown.screen)
        shown.stop()
    narrow = Terminal(world, 30, 60, "sign-in", "--qr", "--device")
    checks.check("in a terminal that is too narrow a message replaces the QR code",
                 narrow.wait("columns") and "█" not in narrow.screen, narrow.screen)
    narrow.keys("C-c")
    narrow.stop()


def piped(checks, world):
    """Without color, lodge draws the light modules, for a dark background."""
    waiting = world.start("sign-in", "--device", "--qr")
    text = waiting.wait_for(lambda running: running.err if "Waiting." in running.err else None) or waiting.err
    waiting.stop()
    address = next((line.strip() for line in text.splitlines() if "user_code=" in line), "nothing")
    checks.check("without color a reader decodes the QR code on a dark background", read(world, rows(text), ink=255) == address,
                 text)


def without_library(checks, world):
    """A file that has the name of the library but is not a library."""
    folder = world.make("libraries")
    for name in ("libqrencode.so.4", "libqrencode.so.3", "libqrencode.4.dylib", "libqrencode.dylib"):
        world.write(os.path.join("libraries", name), "no library\n")
    waiting = world.start("sign-in", "--device", "--qr", LD_LIBRARY_PATH=folder)
    text = waiting.wait_for(lambda running: running.err if "Waiting." in running.err else None) or waiting.err
    waiting.stop()
    checks.check("without the QR library sign-in names its package and continues", "libqrencode4" in text, text)


def library():
    return any(glob.glob(f"{folder}/libqrencode*.so.*") for folder in ("/usr/lib", "/usr/lib/*", "/usr/lib64"))


def rows(text):
    """Returns the lines of the QR code, which contain only half blocks and spaces."""
    lines = [line for line in text.splitlines() if line and set(line) <= set(HALVES)]
    width = max(map(len, lines), default=0)
    found = []
    for line in lines:
        for half in (0, 1):
            found.append([HALVES[letter][half] for letter in line.ljust(width)])
    return found


def read(world, found, ink):
    """Returns the text that zbarimg reads from a picture of the code. `ink` is the gray value of drawn modules; the others are the opposite."""
    width = len(found[0]) if found else 0
    edge = 8
    back = 255 - ink
    data = bytearray()
    blank = bytes([back if ink == 0 else 0]) * ((width + 2 * edge) * SCALE)
    for _ in range(edge * SCALE):
        data += blank
    for row in found:
        line = bytearray([blank[0]]) * (edge * SCALE)
        for module in row:
            line += bytes([ink if module else back]) * SCALE
        line += bytearray([blank[0]]) * (edge * SCALE)
        data += bytes(line) * SCALE
    for _ in range(edge * SCALE):
        data += blank
    height = len(data) // len(blank)
    path = world.path("code.pgm")
    with open(path, "wb") as file:
        file.write(f"P5\n{len(blank)} {height}\n255\n".encode() + data)
    done = subprocess.run(["zbarimg", "--quiet", "--raw", "-Sdisable", "-Sqrcode.enable", path], capture_output=True,
                          timeout=60, env=world.environment)
    return done.stdout.decode("utf-8", "replace").strip()
