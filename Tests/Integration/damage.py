"""A store that other users can read, or that is damaged, read-only or without its key: an error, never an empty store."""

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time

from provider import Provider, sign_in


def run(checks, world):
    provider = Provider(world, "--token-lifetime", "3600")
    world.use_settings(provider.settings)
    checks.ends("sign-in with the local provider", sign_in(world), 0, "Signed in")
    original = world.path("original")
    shutil.copytree(world.store, original)

    def restore():
        shutil.rmtree(world.store)
        shutil.copytree(original, world.store)

    def refused(sentence, *words):
        for command in (["accounts"], ["token"]):
            checks.ends(f"{sentence}: {command[0]}", world.run(*command), 9, "hint:", *words)
        restore()
        checks.ends(f"{sentence}: the restored store works", world.run("token"), 0)

    os.chmod(world.store, 0o750)
    refused("a store that the group can read", "chmod 700")
    os.chmod(os.path.join(world.store, "accounts.key"), 0o644)
    refused("a key that other users can read", "chmod 600")
    os.remove(os.path.join(world.store, "accounts.key"))
    refused("a missing key")
    with open(os.path.join(world.store, "accounts.key"), "wb") as key:
        key.write(b"short")
    refused("a truncated key")
    with open(os.path.join(world.store, "accounts.key"), "wb") as key:
        key.write(bytes(32))
    refused("the key of another store")
    database = next(name for name in os.listdir(world.store) if name.endswith((".sqlite", ".db", ".sqlite3")))
    for name in os.listdir(world.store):
        if name.startswith(database):
            os.remove(os.path.join(world.store, name))
    with open(os.open(os.path.join(world.store, database), os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
        file.write(b"This is not a database. " * 500)
    refused("a database with invalid content")
    with sqlite3.connect(os.path.join(world.store, database)) as connection:
        connection.execute("PRAGMA user_version = 9999")
    connection.close()
    refused("a database of a later version")
    shutil.rmtree(world.store)
    with open(world.store, "w", encoding="ascii") as file:
        file.write("no folder\n")
    checks.ends("a file in place of the store", world.run("accounts"), 9, "hint:")
    os.remove(world.store)
    shutil.copytree(original, world.store)
    if os.path.isdir("/proc/self"):
        checks.ends("a path where no folder can be created",
                    world.run("sign-in", "--no-browser", "--store", "/proc/store"), 9, "hint:")
        # Commands that only read create no store.
        checks.ends("a missing store has no accounts", world.run("accounts", "--store", "/proc/store"), 3)

    removed(checks, world, restore)
    broken_pages(checks, world, restore)
    killed(checks, world)
    soak(checks, world)


def removed(checks, world, restore):
    """The database was removed, but not its key or journal: lodge creates no new store there."""
    database = os.path.join(world.store, "accounts.sqlite")

    def refused(sentence, *words):
        before = {name: os.stat(os.path.join(world.store, name)).st_size for name in os.listdir(world.store)}
        for command in (["accounts"], ["status"], ["token"], ["sign-in", "--no-browser"], ["doctor", "--offline"]):
            told = world.run(*command, *(["--output", "json"] if command[0] == "doctor" else []))
            text = told.out + told.err
            checks.check(f"{sentence}: {command[0]}", told.status == 9 and "was removed" in text
                         and "restore the database from a copy" in text and all(word in text for word in words), told)
        after = {name: os.stat(os.path.join(world.store, name)).st_size for name in os.listdir(world.store)}
        checks.check(f"{sentence}: no file changes", before == after, f"{before}\n{after}")

    os.remove(database)
    if os.path.exists(database + "-journal"):
        os.remove(database + "-journal")
    refused("a database that was removed from its key", "accounts.key")
    restore()
    checks.ends("a database that was removed and restored", world.run("token"), 0)
    # The journal of a process that was killed in a transaction.
    with sqlite3.connect(database, isolation_level=None) as connection:
        connection.execute("PRAGMA cache_size=1")
        connection.execute("BEGIN")
        connection.execute("UPDATE accounts SET record = zeroblob(20000)")
        connection.execute("UPDATE facts SET value = zeroblob(20000)")
        shutil.copy(database + "-journal", world.path("hot-journal"))
        connection.execute("ROLLBACK")
    connection.close()
    for name in os.listdir(world.store):
        os.remove(os.path.join(world.store, name))
    shutil.copy(world.path("hot-journal"), database + "-journal")
    refused("a journal without its database", "accounts.sqlite-journal")
    os.rename(database + "-journal", world.path("moved-journal"))
    checks.ends("after the journal is moved away, sign-in creates a new store", sign_in(world), 0)
    checks.check("the new store is not damaged", world.run("doctor", "--offline").status == 0)
    restore()


def broken_pages(checks, world, restore):
    """Damages each page of the database. If `doctor` finds the damage, `accounts` must not exit with 0."""
    database = os.path.join(world.store, "accounts.sqlite")
    wrong = []
    for page in range(os.path.getsize(database) // 4096):
        with open(database, "r+b") as file:
            file.seek(page * 4096 + (100 if page == 0 else 0))
            file.write(b"\xee" * 64)
        told = world.run("doctor", "--offline")
        for command in ("accounts", "status"):
            listed = world.run(command)
            if told.status == 9 and listed.status != 9:
                wrong.append(f"page {page}: {listed}")
        restore()
    checks.check("a damaged page is an error of accounts and status", not wrong, "\n".join(wrong[:3]))


def killed(checks, world):
    """After a kill at any moment, the store opens and has its account."""
    chance = random.Random(2026)
    lost = []
    begun = time.monotonic()
    checks.ends("a refresh that is not killed", world.start("token", "--refresh").finish(), 0)
    whole = time.monotonic() - begun
    for _ in range(25):
        running = world.start("token", "--refresh")
        time.sleep(chance.uniform(0, whole))
        running.signal(signal.SIGKILL)
        running.process.wait()
        kept = world.run("accounts", "--output", "json")
        if kept.status != 0 or len(kept.json or []) != 1:
            lost.append(str(kept))
    checks.check("killed 25 times during a refresh: the account remains", not lost, "\n".join(lost))


def soak(checks, world):
    """Kills a process that uses the library and a store a hundred times, at any instruction."""
    program = os.path.join(os.path.dirname(world.program), "store-process")
    if not os.path.exists(program):
        print("skipped: the soak test, because store-process was not built; make soak builds it")
        return
    place = world.path("soak")
    os.mkdir(place, 0o700)
    done = subprocess.run([program, "soak", os.path.join(place, "store"), "100", "2026"], capture_output=True, text=True,
                          timeout=900, check=False)
    print(done.stdout.strip(), flush=True)
    checks.check("killed 100 times at any instruction: every acknowledged write is saved", done.returncode == 0,
                 done.stdout + done.stderr)
