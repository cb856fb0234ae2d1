"""Runs the topics and counts what held. One line a check; the last line is the sum."""

import argparse
import multiprocessing
import signal
import sys
import time
import traceback

import any_address
import browse
import browser_sign_in
import canaille
import clients
import closing_page
import damage
import demo
import django_oauth_toolkit
import doctor
import failing_provider
import grants
import hardening
import hostile_input
import intercepted
import interrupted
import keyring
import lemonldap_ng
import local_directory
import mail_programs
import offline
import oidc_provider_mock
import package
import parallel
import postgresql
import qr_code
import refusals
import registration
import requests_nginx
import scim2_server
import settings
import shared_store
import shells
import signatures
import signed_requests
import terminal
import tls
from checks import Checks
from world import Unavailable, World

# The topics that need nothing but the program, the longest first, and those that need real software.
ALONE = [
    hostile_input, interrupted, failing_provider, postgresql, shared_store, local_directory, requests_nginx, any_address, clients, browse,
    damage, offline, doctor, terminal, package, demo, shells, settings, hardening, intercepted, mail_programs, qr_code,
    signed_requests]
# Servers of other makers, as Python and Debian packages.
SERVERS = [canaille, django_oauth_toolkit, lemonldap_ng, oidc_provider_mock, scim2_server]
WITH_PEERS = [
    browser_sign_in, closing_page, grants, keyring, parallel, refusals, registration, signatures, tls]


# Both lanes share the machine's two cores: most topics wait most of the time.
LANES = 2


def run_topic(module, checks, arguments):
    checks.topic = module.__name__.replace("_", " ")
    start = time.monotonic()
    with World(arguments.program, arguments.peers) as world:
        try:
            module.run(checks, world)
        except Unavailable as error:
            print(f"skipped: {checks.topic}: {error}", flush=True)
        except Exception as error:
            checks.check("the topic came to its end", False, "".join(traceback.format_exception(error)))
    print(f"-- {checks.topic}: {time.monotonic() - start:.1f} s", flush=True)


def run_lane(own, shared, following, counts, arguments):
    """Runs the topics of this lane, then the shared ones in turn with the other lane. Adds its numbers of checks to `counts`."""
    # Ended from outside, the lane still stops what it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    checks = Checks()
    for module in own:
        run_topic(module, checks, arguments)
    while True:
        with following.get_lock():
            number = following.value
            following.value += 1
        if number >= len(shared):
            break
        run_topic(shared[number], checks, arguments)
    with counts.get_lock():
        counts[0] += checks.passed
        counts[1] += checks.failed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--peers", default="")
    parser.add_argument("topics", nargs="*", help="only these")
    arguments = parser.parse_args()
    unknown = set(arguments.topics) - {module.__name__ for module in ALONE + SERVERS + WITH_PEERS}
    if unknown:
        parser.error(f"no topic {', '.join(sorted(unknown))}")

    def chosen(modules):
        return [module for module in modules if not arguments.topics or module.__name__ in arguments.topics]

    # These servers have fixed ports and a shared installation: their topics run one after the other.
    peers, alone = chosen((WITH_PEERS if arguments.peers else []) + SERVERS), chosen(ALONE)
    context = multiprocessing.get_context("fork")
    following, counts = context.Value("i", 0), context.Array("i", 2)
    lanes = [
        context.Process(target=run_lane, args=(peers if lane == 0 else [], alone, following, counts, arguments))
        for lane in range(LANES)]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        for lane in lanes:
            lane.start()
        for lane in lanes:
            lane.join()
    finally:
        for lane in lanes:
            if lane.is_alive():
                lane.terminate()
                lane.join()
    print(f"{counts[0]} passed, {counts[1]} failed", flush=True)
    broken = [lane.exitcode for lane in lanes if lane.exitcode]
    if broken:
        print(f"FAILED  a lane ended with {broken}", flush=True)
    return 1 if counts[1] or broken else 0


if __name__ == "__main__":
    sys.exit(main())
