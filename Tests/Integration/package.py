"""The Debian package: what is in it, that it runs where it is unpacked and, on a machine that is for tests only, that apt installs it."""

import os
import shutil
import subprocess


def run(checks, world):
    if not all(map(shutil.which, ("dpkg-deb", "objdump", "make"))):
        return print("skipped: the package, because this machine cannot make one", flush=True)
    root = os.path.dirname(os.path.dirname(world.here))
    made = subprocess.run([os.path.join(root, ".ci", "debian-package"), world.program, world.path("package")],
                          capture_output=True, text=True, timeout=120,
                          env={**os.environ, "PACKAGE_COMPRESSION": "gzip"})
    checks.check("the package is made", made.returncode == 0, made)
    if made.returncode != 0:
        return
    package = made.stdout.strip()
    depends = subprocess.run(["dpkg-deb", "-f", package, "Depends"], capture_output=True, text=True).stdout
    checks.check("it names the libraries that it needs", "libcurl4" in depends and "libsqlite3-0" in depends, depends)
    unpacked = world.path("unpacked")
    subprocess.run(["dpkg-deb", "-x", package, unpacked], check=True, timeout=60)
    for file in ("bin/lodge", "share/man/man1/lodge-search.1.gz", "share/bash-completion/completions/lodge",
                 "share/zsh/site-functions/_lodge", "share/fish/vendor_completions.d/lodge.fish",
                 "share/lodge/Settings/settings.json", "share/doc/lodge/copyright"):
        checks.check(f"it has {file}", os.path.isfile(os.path.join(unpacked, "usr", file)))
    done = subprocess.run([os.path.join(unpacked, "usr/bin/lodge"), "--version"], env={}, capture_output=True, timeout=20)
    checks.check("the program runs from it, with an empty environment", done.returncode == 0, done)
    size = os.path.getsize(os.path.join(unpacked, "usr/bin/lodge"))
    checks.check("the program has less than 30 MB", size < 30_000_000, f"{size / 1e6:.1f} MB")
    if os.environ.get("CI") != "true" or os.geteuid() != 0 or not shutil.which("apt-get") \
            or os.path.exists("/usr/bin/lodge"):
        return print("skipped: installing it, which is done only on machines that are for tests", flush=True)
    # apt waits for another apt on this machine.
    apt = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-y", "-qq", "-o", "DPkg::Lock::Timeout=300"]
    installed = subprocess.run([*apt, "install", package], capture_output=True, timeout=600)
    checks.check("apt installs it", installed.returncode == 0, installed.stderr)
    done = subprocess.run(["/usr/bin/lodge", "demo"], env={"HOME": world.path("home")}, capture_output=True, timeout=180)
    checks.check("what it installed works", done.returncode == 0, done)
    removed = subprocess.run([*apt, "remove", "lodge"], capture_output=True, timeout=600)
    checks.check("and goes away again", removed.returncode == 0 and not os.path.exists("/usr/bin/lodge"), removed.stderr)
