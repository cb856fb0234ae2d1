"""Completion in bash, zsh and fish, manual pages in man, git, and exec."""

import os
import re
import shutil
import signal
import subprocess

from provider import Provider, sign_in
from terminal import Terminal
from world import LIMIT, eventually


def signals(process):
    """Returns the signal masks of a process."""
    with open(f"/proc/{process}/status", encoding="utf-8") as file:
        return {name: int(bits, 16) for name, bits in re.findall(r"^(Sig\w{3}):\s*([0-9a-f]{16})$", file.read(), re.M)}


def run(checks, world):
    provider = Provider(world)
    world.use_settings(provider.settings)
    checks.ends("sign-in", sign_in(world), 0)
    # The shells' scripts call the program by its name.
    os.symlink(world.program, os.path.join(world.make("bin"), "lodge"))
    world.environment["PATH"] = world.path("bin") + ":" + world.environment["PATH"]
    replacing(checks, world)
    completing(checks, world)
    manual(checks, world)
    git(checks, world, provider)


def replacing(checks, world):
    token = world.run("token").out.strip()
    script = 'test "$OAUTH2_ACCESS_TOKEN" = "$1" && printf "%s|" "$@"; exit 7'
    done = world.run("exec", "--", "sh", "-c", script, "sh", token, "a b", "--output")
    checks.check("exec: the program gets its arguments and the token, and sets the exit status",
                 done.status == 7 and done.out.startswith(f"{token}|a b|--output|"), done)
    checks.ends("exec of an unknown program: 127", world.run("exec", "--", "no-such-program"), 127, "hint:")
    checks.ends("exec of a folder: 126", world.run("exec", "--", world.folder), 126)
    waiting = world.start("exec", "--", "sh", "-c", "echo $$; exec sleep 60")
    number = waiting.wait_for(lambda running: running.out.strip())
    checks.check("exec replaces lodge in the same process", number == str(waiting.process.pid), number)
    masks = signals(waiting.process.pid)
    # The C library uses 32 and 33, and callers cannot change them. Signals that these checks inherited as ignored, such as
    # SIGQUIT in the background of a script, remain ignored.
    checks.check("exec blocks and ignores no signal", masks["SigBlk"] == 0
                 and masks["SigIgn"] & 0x7FFFFFFF & ~signals("self")["SigIgn"] == 0, masks)
    waiting.signal(signal.SIGINT)
    checks.check("Ctrl-C reaches the program of exec", waiting.finish().status == -signal.SIGINT)
    header = world.run("token", "--header")
    checks.check("token --header prints one line", header.out == f"Authorization: Bearer {token}\n", header)


SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "PS1='$ '; source <(lodge completion bash); clear"),
    "zsh": (["zsh", "-f", "-i"],
            "PS1='$ '; autoload -Uz compinit; compinit -D; source <(lodge completion zsh); clear"),
    "fish": (["fish", "--no-config", "-i"],
             "function fish_prompt; echo '$ '; end; lodge completion fish | source; clear"),
}


def completing(checks, world):
    """Completes words in interactive shells with the Tab key."""
    if not shutil.which("tmux"):
        return print("skipped: completion, because tmux is not installed", flush=True)
    for name, (words, begin) in SHELLS.items():
        if not shutil.which(name):
            print(f"skipped: {name} is not installed", flush=True)
            continue
        shell = Terminal(world, 100, 20, "version")
        shell.status()
        shell.tmux("respawn-pane", "-k", "-t", "m", *words)
        # A shell may discard the input before its first prompt.
        eventually(lambda: re.search(r"[$#%>] *$", shell.screen))
        shell.keys(begin, "Enter")
        eventually(lambda: shell.screen.strip() == "$")
        complete(checks, shell, name)
        shell.stop()


def complete(checks, shell, name):
    for typed, expected in (("lodge sea", "lodge search "), ("lodge search --outp", "--output "),
                            ("lodge search --output=tab", "--output=table "),
                            ("lodge accounts use ada", "use ada@contoso.example "),
                            ("lodge accounts use ada@con", "use ada@contoso.example "),
                            ("lodge completion fi", "completion fish "), ("lodge help exit", "help exit-statuses "),
                            ("lodge search --fields mail,givenN", "--fields mail,givenName "),
                            ("lodge sign-in --prompt cons", "--prompt consent "),
                            ("lodge search --output ae", "--output aerc "),
                            ("lodge sign-in loc", "sign-in local "), ("lodge --output=vc", "--output=vcard ")):
        shell.keys("C-u", "C-l")
        shell.keys("-l", typed)
        shell.keys("Tab")
        shell.keys("-l", "x")
        checks.check(f"{name} completes {typed!r}", shell.wait(expected + "x"), shell.screen)


def manual(checks, world):
    folder = world.make("man1")
    checks.ends("__manual writes the manual pages", world.run("__manual", folder, "1764547200"), 0)
    pages = sorted(os.listdir(folder))
    checks.check("lodge and each command have a manual page", "lodge.1" in pages and "lodge-search.1" in pages)
    for page in pages:
        with open(os.path.join(folder, page), encoding="utf-8") as file:
            text = file.read()
        checks.check(f"{page} has the date of the sources, and a description",
                     r'"2025\-12\-01"' in text.split("\n")[0] and "\n.SH DESCRIPTION\n" in text, text[:300])
    if not shutil.which("man"):
        return print("skipped: man is not installed", flush=True)
    for page in pages:
        done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", os.path.join(folder, page)],
                              env={**world.environment, "MANWIDTH": "80", "MANROFFSEQ": ""}, capture_output=True, timeout=LIMIT)
        checks.check(f"{page}: man prints no warning", done.returncode == 0 and not done.stderr, done.stderr)


def git(checks, world, provider):
    if not shutil.which("git"):
        return print("skipped: git is not installed", flush=True)
    environment = {**world.environment, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_COUNT": "1",
                   "GIT_CONFIG_KEY_0": "credential.helper", "GIT_CONFIG_VALUE_0": "!lodge credential git"}

    def ask(word, question):
        return subprocess.run(["git", "credential", word], input=question.encode(), env=environment, capture_output=True,
                              timeout=LIMIT, cwd=world.folder)
    question = f"protocol=http\nhost=127.0.0.1:{provider.port}\n\n"
    answer = ask("fill", question).stdout.decode()
    token = world.run("token").out.strip()
    checks.check("git gets the token", f"password={token}\n" in answer and "username=oauth2\n" in answer, answer)
    ask("approve", answer + "\n")
    ask("reject", answer + "\n")
    checks.check("a token that git rejects is refreshed", world.run("token").out.strip() not in ("", token))
    other = ask("fill", "protocol=https\nhost=git.example\n\n")
    checks.check("git gets no token for another host", b"password" not in other.stdout and other.returncode != 0, other)
