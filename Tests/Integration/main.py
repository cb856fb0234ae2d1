"""Runs the topics and counts what held. One line a check; the last line is the sum."""

import argparse
import signal
import sys
import time
import traceback

import browse
import browser_sign_in
import clients
import closing_page
import damage
import demo
import doctor
import failing_provider
import grants
import hardening
import hostile_input
import intercepted
import interrupted
import keyring
import local_directory
import mail_programs
import offline
import package
import parallel
import postgresql
import qr_code
import refusals
import registration
import requests_nginx
import settings
import shells
import signatures
import signed_requests
import terminal
import tls
from checks import Checks
from world import Unavailable, World

# The topics that need nothing but the program, and those that need real software.
ALONE = [
    browse, clients, settings, damage, demo, doctor, failing_provider, hardening, hostile_input, intercepted, interrupted,
    local_directory, mail_programs, offline, package, postgresql, qr_code,
    requests_nginx, shells, signed_requests, terminal]
WITH_PEERS = [
    browser_sign_in, closing_page, grants, keyring, parallel, refusals, registration, signatures, tls]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--peers", default="")
    parser.add_argument("topics", nargs="*", help="only these")
    arguments = parser.parse_args()
    # Ended from outside, the program still stops what it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))

    modules = ALONE + (WITH_PEERS if arguments.peers else [])
    unknown = set(arguments.topics) - {module.__name__ for module in ALONE + WITH_PEERS}
    if unknown:
        parser.error(f"no topic {', '.join(sorted(unknown))}")
    checks = Checks()
    for module in modules:
        if arguments.topics and module.__name__ not in arguments.topics:
            continue
        checks.topic = module.__name__.replace("_", " ")
        begun = time.monotonic()
        with World(arguments.program, arguments.peers) as world:
            try:
                module.run(checks, world)
            except Unavailable as error:
                print(f"skipped: {checks.topic}: {error}", flush=True)
            except Exception as error:
                checks.check("the topic came to its end", False, "".join(traceback.format_exception(error)))
        print(f"-- {checks.topic}: {time.monotonic() - begun:.1f} s", flush=True)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
