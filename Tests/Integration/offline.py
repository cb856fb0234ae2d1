"""The offline copy: delta updates, kills at any moment, searches without the directory."""

import json
import os
import signal
import sqlite3
import stat
import threading
import urllib.parse

from directory_server import DirectoryServer
from provider import sign_in
from world import LIMIT

PAGE = 50


class Directory(DirectoryServer):
    """Six thousand users, and their changes. It can delay a request, so that a topic interrupts the program there."""

    def __init__(self, world):
        self.people = {f"id-{n:05}": self.person(n) for n in range(6000)}
        self.log, self.forgotten = [], 0
        self.requests = []
        # The number of the first request that waits for `responds`.
        self.held, self.responds = None, threading.Event()
        super().__init__(world)

    @staticmethod
    def person(n, title="Engineer"):
        names = ("Ada", "Émile", "Grace", "Conan"), ("Lovelace", "Zola", "Hopper", "O'Brien", "Adams")
        given, surname = names[0][n % 4], names[1][n // 4 % 5]
        return {"id": f"id-{n:05}", "displayName": f"{given} {surname} {n}", "givenName": given, "surname": surname,
                "mail": f"p{n}@contoso.example", "userPrincipalName": f"p{n}@contoso.example", "jobTitle": title}

    def put(self, n, title):
        self.people[f"id-{n:05}"] = self.person(n, title)
        self.log.append(f"id-{n:05}")

    def remove(self, n):
        self.people.pop(f"id-{n:05}", None)
        self.log.append(f"id-{n:05}")

    def answer(self, path):
        url = urllib.parse.urlsplit(path)
        query = dict(urllib.parse.parse_qsl(url.query))
        if url.path != "/v1.0/users/delta":
            return 404, {"error": {"code": "Request_ResourceNotFound", "message": "no"}}
        token = query.get("$skiptoken") or query.get("$deltatoken") or f"list.{len(self.log)}..{''}"
        kind, began, end, place = token.split(".")
        if int(began) < self.forgotten:
            return 410, {"error": {"code": "syncStateNotFound", "message": "gone"}}
        if kind == "list":
            rest = [i for i in sorted(self.people) if i > place]
            page, more = rest[:PAGE], len(rest) > PAGE
            value = [self.people[i] for i in page]
            following = f"list.{began}..{page[-1]}" if more else f"log.{began}..0"
        else:
            end = int(end or len(self.log))
            ids = list(dict.fromkeys(self.log[int(began):end]))
            page, more = ids[int(place):int(place) + PAGE], int(place) + PAGE < len(ids)
            value = [self.people.get(i) or {"id": i, "@removed": {"reason": "changed"}} for i in page]
            following = f"log.{began}.{end}.{int(place) + PAGE}" if more else f"log.{end}..0"
        name, option = ("nextLink", "$skiptoken") if more else ("deltaLink", "$deltatoken")
        return 200, {"value": value, f"@odata.{name}": f"{self.base}v1.0/users/delta?{option}={following}"}

    def respond(self, path):
        self.requests.append(path)
        if self.held and len(self.requests) >= self.held:
            self.responds.wait(LIMIT)
        return self.answer(path)

    def hold(self, world, count, *words):
        """Starts the program and returns it after it has sent this number of requests. The last request waits for `release`."""
        self.responds.clear()
        self.held = len(self.requests) + count
        running = world.start(*words)
        running.wait_for(lambda _: len(self.requests) >= self.held)
        return running

    def release(self):
        self.held = None
        self.responds.set()


def run(checks, world):
    directory = Directory(world)
    directory.use(world)
    checks.ends("without an account: sign-in needed", world.run("sync"), 4, "hint:")
    sign_in(world)
    checks.ends("without an offline copy: a hint with the command", world.run("search", "-o", "mutt", "--offline", "ada"), 1, "run: lodge sync")

    killing(checks, world, directory)
    asking(checks, world, directory)
    forgetting(checks, world, directory)


def copies(world):
    return [name for name in os.listdir(world.store) if name.startswith("people-")]


def kept(world):
    """Reads the file with Python's SQLite."""
    path = os.path.join(world.store, next(name for name in copies(world) if name.endswith(".sqlite")))
    database = sqlite3.connect(path, timeout=20)
    try:
        sound = database.execute("PRAGMA integrity_check").fetchone()[0]
        rows = [json.loads(row[0]) for row in database.execute("SELECT person FROM people")]
        database.execute("INSERT INTO words(words) VALUES ('integrity-check')")
        database.rollback()
        return sound, {row["id"]: row for row in rows}
    finally:
        database.close()


def agrees(world, directory):
    sound, people = kept(world)
    return sound == "ok" and people == {
        i: {name: value for name, value in person.items() if value is not None} for i, person in directory.people.items()}


def killing(checks, world, directory):
    kills = 0
    for attempt in range(8):
        running = directory.hold(world, 4 + 3 * attempt, "sync")
        if running.process.poll() is None:
            kills += 1
        # Every second time, kill the program while it receives the next page.
        if attempt % 2:
            directory.release()
        running.signal(signal.SIGKILL)
        running.process.wait()
        directory.release()
        if copies(world) and kept(world)[0] != "ok":
            break
    checks.check("a sync that is killed several times leaves an undamaged file", kills == 8 and kept(world)[0] == "ok", kills)
    before = len(directory.requests)
    done = world.run("sync", "--output", "json")
    checks.check("the next sync continues at the last saved page and downloads all users",
                 done.status == 0 and done.json["people"] == 6000 and agrees(world, directory)
                 and len(directory.requests) - before < 6000 // PAGE - 20, (done, len(directory.requests) - before))
    modes = {name: stat.S_IMODE(os.stat(os.path.join(world.store, name)).st_mode) for name in copies(world)}
    checks.check("only the user can read the offline copy", modes and set(modes.values()) == {0o600}, modes)

    for n in range(0, 300, 2):
        directory.put(n, "Boss")
    for n in range(5000, 5100):
        directory.remove(n)
    changed = world.run("sync", "--output", "json")
    checks.check("sync applies the changes", changed.status == 0 and changed.json["changed"] == 150
                 and changed.json["removed"] == 100 and agrees(world, directory), changed)
    directory.remove(1)
    directory.put(7000, "New")
    directory.forgotten = len(directory.log)
    anew = world.run("sync", "--output", "json")
    checks.check("after 410 sync downloads all users again and removes deleted users",
                 anew.status == 0 and anew.json["restarts"] == 1 and agrees(world, directory), anew)
    together = [world.start("sync") for _ in range(4)]
    statuses = [running.finish().status for running in together]
    checks.check("four concurrent syncs succeed", statuses == [0] * 4 and agrees(world, directory), statuses)


def asking(checks, world, directory):
    asked = len(directory.requests)
    found = world.run("search", "--offline", "-o", "aerc", "emile", "zo")
    rows = [line.split("\t") for line in found.out.splitlines()]
    checks.check("--offline finds users without regard to case and accents, and sends no request",
                 found.status == 0 and len(rows) == 50 and all(r[1].startswith("Émile Zola") for r in rows)
                 and len(directory.requests) == asked, found)
    mutt = world.run("search", "-o", "mutt", "--offline", "p42@contoso")
    checks.check("mutt: a message line, then address, name and title",
                 mutt.out == "1 user\np42@contoso.example\tGrace Lovelace 42\tBoss\n", mutt)
    checks.ends("a search without matches", world.run("search", "-o", "mutt", "--offline", "zzzz"), 3)
    for text in ("\"", "* OR *", "'); DROP TABLE people; --", "\\", "%", "😀 ada", "^", "a" * 3000):
        odd = world.run("search", "-o", "mutt", "--offline", text)
        checks.check(f"the text {text[:20]} has no special meaning", odd.status in (0, 3) and "error" not in odd.err, odd)
    checks.check("status shows the offline copy", "in clear text" in world.run("status").out, world.run("status"))


def forgetting(checks, world, directory):
    path = os.path.join(world.store, next(name for name in copies(world) if name.endswith(".sqlite")))
    with open(path, "r+b") as file:
        file.write(b"\0" * 100)
    checks.ends("a damaged offline copy is an error", world.run("search", "-o", "mutt", "--offline", "ada"), 9, "lodge sync --forget")
    checks.ends("sync --forget removes the offline copy", world.run("sync", "--forget"), 0)
    checks.check("no file of the offline copy remains", copies(world) == [], copies(world))
    running = directory.hold(world, 6, "sync")
    gone = world.run("sign-out", "--local")
    directory.release()
    ended = running.finish()
    checks.check("sign-out removes the offline copy, and a running sync does not create it again",
                 gone.status == 0 and ended.status != 0 and copies(world) == [], (gone, ended, copies(world)))
