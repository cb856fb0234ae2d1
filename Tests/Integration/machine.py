"""Machines for commands. Each has a separate network, name and home folder. They share only servers on forwarded loopback ports."""

import copy
import fcntl
import os
import shlex
import socket
import struct
import subprocess
import sys
import threading

ALONE = ["unshare", "--net", "--uts"]


def can_isolate():
    """Returns whether this system lets a test create networks, start their loopback and enter them."""
    try:
        probe = subprocess.run([*ALONE, sys.executable, os.path.abspath(__file__), "probe"], stdin=subprocess.DEVNULL,
                               capture_output=True, timeout=20, check=False)
        entered = subprocess.run(["nsenter", "--target", str(os.getpid()), "--net", "--uts", "true"], capture_output=True,
                                 timeout=20, check=False)
    except OSError:
        return False
    return probe.stdout == b"ready\n" and entered.returncode == 0


class Machine:
    """A world whose commands run in another network. Its loopback forwards these ports to the same ports of this machine."""

    def __init__(self, world, name, ports):
        self.name = name
        folder = world.make(name)
        relays = []
        for port in ports:
            path = os.path.join(folder, f"{port}.socket")
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(path)
            listener.listen(64)
            world.closers.append(listener.close)
            threading.Thread(target=relay, args=(listener, socket.AF_INET, ("127.0.0.1", port)), daemon=True).start()
            relays.append(f"{port}={path}")
        self.process = subprocess.Popen(
            [*ALONE, sys.executable, os.path.abspath(__file__), name, *relays], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, env=world.environment)
        world.closers.append(self.stop)
        if self.process.stdout.readline() != b"ready\n":
            raise OSError(f"the network of {name} did not start")
        program = world.write(
            f"{name}-lodge",
            f'#!/bin/sh\nexec nsenter --target {self.process.pid} --net --uts {shlex.quote(world.program)} "$@"\n')
        os.chmod(program, 0o700)
        self.world = copy.copy(world)
        self.world.program = program
        self.world.environment = dict(world.environment, HOME=folder)

    def stop(self):
        # The process ends when its standard input is closed.
        self.process.stdin.close()
        self.process.wait()


def relay(listener, family, address):
    """Connects each client of a listener to an address."""
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        try:
            server = socket.socket(family)
            server.connect(address)
        except OSError:
            client.close()
            continue
        for source, target in ((client, server), (server, client)):
            threading.Thread(target=pump, args=(source, target), daemon=True).start()


def pump(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass
    for end in (source, target):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def main(name, *relays):
    """Runs as the machine: sets its name, starts its loopback, and forwards until standard input ends."""
    socket.sethostname(name)
    with socket.socket() as control:
        # struct ifreq with IFF_UP; the number is SIOCSIFFLAGS.
        fcntl.ioctl(control, 0x8914, struct.pack("16sh22x", b"lo", 1))
    for words in relays:
        port, path = words.split("=", 1)
        listener = socket.create_server(("127.0.0.1", int(port)), backlog=64)
        threading.Thread(target=relay, args=(listener, socket.AF_UNIX, path), daemon=True).start()
    print("ready", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
