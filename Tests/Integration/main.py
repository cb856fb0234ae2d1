"""Runs the topics and counts the checks. Prints one line per check, and the totals in the last line."""

import argparse
import multiprocessing
import os
import signal
import sys
import tempfile
import time
import traceback

import agent
import agent_settings
import any_address
import browse
import browser_sign_in
import canaille
import certificates
import clients
import closing_page
import cloud
import credentials
import damage
import demo
import django_oauth_toolkit
import doctor
import documentation
import failing_provider
import git_server
import grants
import guides
import hardening
import hostile_input
import intercepted
import interrupted
import keyring
import lemonldap_ng
import local_directory
import mail_programs
import mail_servers
import migration
import offline
import oidc_agent
import oidc_provider_mock
import package
import parallel
import postgresql
import qr_code
import recipes
import recording
import refusals
import registration
import requests_nginx
import scim2_server
import scripts
import settings
import shared_store
import shells
import signatures
import signed_requests
import terminal
import tls
import tpm
import workloads
import workload_identity
import workload_input
from checks import Checks, say
from world import ENDINGS, Ports, Unavailable, World, remove_home

# The topics that need only the program, the longest first, and the topics that need other software.
ALONE = [
    hostile_input, guides, interrupted, documentation, failing_provider, mail_servers, migration, postgresql, shared_store, local_directory, requests_nginx, agent, agent_settings, any_address, clients, workloads,
    browse, damage, offline, doctor, terminal, package, demo, shells, settings, hardening, intercepted, mail_programs, git_server, credentials, oidc_agent, certificates, cloud, qr_code, recipes, recording, scripts,
    signed_requests, tpm, workload_identity, workload_input]
# Servers of other projects, as Python and Debian packages.
SERVERS = [canaille, django_oauth_toolkit, lemonldap_ng, oidc_provider_mock, scim2_server]
WITH_PEERS = [
    browser_sign_in, closing_page, grants, keyring, parallel, refusals, registration, signatures, tls]


# Both lanes share the two cores of the machine, because most topics wait most of the time.
LANES = 2
NOHUP = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN


def run_topic(module, checks, arguments):
    checks.topic = module.__name__.replace("_", " ")
    start = time.monotonic()
    with World(arguments.program, arguments.peers, arguments.folder, arguments.missing.split()) as world:
        try:
            module.run(checks, world)
        except Unavailable as error:
            say(f"skipped: {checks.topic}: {error}")
        except Exception as error:
            checks.check("the topic completes", False, "".join(traceback.format_exception(error)))
    say(f"-- {checks.topic}: {time.monotonic() - start:.1f} s")


def end_by_signals():
    """The first signal ends this process with SystemExit, so that it stops the programs that it started. Later signals, such as
    SIGTERM to a lane that Ctrl-C has also reached, have no effect. The started programs do not inherit the handlers, nor signals that are
    ignored, as in the background of a shell."""
    def end(number, _):
        for other in ENDINGS:
            signal.signal(other, lambda *_: None)
        sys.exit(128 + number)
    for number in ENDINGS:
        signal.signal(number, end)
    # With nohup SIGHUP has no effect here, but its default effect on the programs.
    signal.signal(signal.SIGHUP, (lambda *_: None) if NOHUP else end)


def run_lane(lane, own, shared, following, counts, arguments):
    """Runs the topics of this lane, then the shared topics in turn with the other lane. Adds its counts of checks to `counts`."""
    end_by_signals()
    Ports.lane = lane
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
    parser.add_argument("--missing", default="", help="Debian packages that cannot be installed on this machine")
    parser.add_argument("topics", nargs="*", help="run only these topics")
    arguments = parser.parse_args()
    unknown = set(arguments.topics) - {module.__name__ for module in ALONE + SERVERS + WITH_PEERS}
    if unknown:
        parser.error(f"unknown topic {', '.join(sorted(unknown))}")

    def chosen(modules):
        return [module for module in modules if not arguments.topics or module.__name__ in arguments.topics]

    # These topics share an installation, and some share the processors with a browser, so they run in turn.
    peers, alone = chosen((WITH_PEERS if arguments.peers else []) + SERVERS), chosen(ALONE)
    context = multiprocessing.get_context("fork")
    following, counts = context.Value("i", 0), context.Array("i", 2)
    lanes = [
        context.Process(target=run_lane, args=(lane, peers if lane == 0 else [], alone, following, counts, arguments))
        for lane in range(LANES)]
    end_by_signals()
    # The home folders of all topics. They are removed together if a lane cannot remove one. Other users may pass through.
    arguments.folder = tempfile.mkdtemp(prefix="lodge-integration-")
    try:
        os.chmod(arguments.folder, 0o711)
        for module in alone:
            # Run compilers, for example, before the checks that measure time.
            if hasattr(module, "prepare"):
                module.prepare(arguments)
        for lane in lanes:
            lane.start()
        for lane in lanes:
            lane.join()
    finally:
        for lane in lanes:
            if lane.is_alive():
                lane.terminate()
        for lane in lanes:
            if lane.pid:
                lane.join()
        remove_home(arguments.folder)
    say(f"{counts[0]} passed, {counts[1]} failed")
    broken = [lane.exitcode for lane in lanes if lane.exitcode]
    if broken:
        say(f"FAILED  a lane ended with {broken}")
    return 1 if counts[1] or broken else 0


if __name__ == "__main__":
    sys.exit(main())
