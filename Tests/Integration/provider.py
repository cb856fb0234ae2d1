"""The local provider and directory: `lodge serve`."""

import itertools
import json

from world import PATIENT, address_shown
import web


class Provider:
    numbers = itertools.count()

    def __init__(self, world, *words):
        self.port_file = world.path(f"port-{next(self.numbers)}")
        self.running = world.start("serve", "--port-file", self.port_file, *words)

        def ready(_):
            try:
                with open(self.port_file, encoding="ascii") as file:
                    return int(file.read())
            except (OSError, ValueError):
                return None
        self.port = self.running.wait_for(ready)
        if not self.port:
            raise OSError(f"serve did not start: {self.running.err}")
        shown = self.running.wait_for(lambda running: running.err if "}}}" in running.err else None) or ""
        self.settings = json.loads(shown[shown.index("{"):shown.rindex("}") + 1])

    @property
    def issuer(self):
        return f"http://127.0.0.1:{self.port}"


def sign_in(world, *words, decision="approve"):
    """Signs in. This program acts as the user on the page that a browser would show."""
    waiting = world.start("sign-in", "--no-browser", *PATIENT, *words)
    url = address_shown(waiting)
    if url:
        web.send(web.decide(url, decision))
    return waiting.finish()
