"""The Debian package and `make install`: contents, lintian, installation and removal."""

import os
import re
import shutil
import subprocess


def run(checks, world):
    root = os.path.dirname(os.path.dirname(world.here))
    if not shutil.which("make"):
        return print("skipped: the installation, because make is not installed", flush=True)
    make_install(checks, world, root)
    if not all(map(shutil.which, ("dpkg-deb", "dpkg-shlibdeps", "objdump"))):
        return print("skipped: the package, because the tools of dpkg are not installed", flush=True)
    made = subprocess.run([os.path.join(root, ".ci", "debian-package"), world.program, world.path("package")],
                          capture_output=True, text=True, timeout=300,
                          env={**os.environ, "PACKAGE_COMPRESSION": "gzip"})
    checks.check("the package is built", made.returncode == 0 and not made.stderr, made)
    if made.returncode != 0:
        return
    package = made.stdout.strip()
    control(checks, package)
    content(checks, world, package)
    lintian(checks, world, package)
    dpkg(checks, world, package)
    if os.environ.get("CI") != "true" or os.geteuid() != 0 or not shutil.which("apt-get") \
            or os.path.exists("/usr/bin/lodge"):
        return print("skipped: installing the package, which runs only on test machines", flush=True)
    # apt waits for another apt on this machine.
    apt = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-y", "-qq", "-o", "DPkg::Lock::Timeout=300"]
    installed = subprocess.run([*apt, "install", package], capture_output=True, timeout=600)
    checks.check("apt installs the package", installed.returncode == 0, installed.stderr)
    done = subprocess.run(["/usr/bin/lodge", "demo"], env={"HOME": world.path("home")}, capture_output=True, timeout=180)
    checks.check("the installed program runs", done.returncode == 0, done)
    removed = subprocess.run([*apt, "purge", "lodge"], capture_output=True, timeout=600)
    checks.check("apt removes the package", removed.returncode == 0 and not os.path.exists("/usr/bin/lodge"), removed.stderr)


def tree(folder):
    """Returns all files and folders below a folder."""
    return sorted(os.path.relpath(os.path.join(path, name), folder)
                  for path, folders, files in os.walk(folder) for name in folders + files)


def make_install(checks, world, root):
    """Runs `make install` and `make uninstall` for a new folder and for a folder with other files."""
    def make(target, prefix):
        # The program is built, so -o skips that target.
        return subprocess.run(["make", "-s", "-o", "build", target, f"PREFIX={prefix}", f"PROGRAM={world.program}"], cwd=root,
                              capture_output=True, text=True, timeout=120)

    for sentence, name in (("a new folder", "new prefix"), ("a folder with other files", "old prefix")):
        prefix = world.path(name)
        if "old" in name:
            for folder in ("bin", "share/man/man1", "share/doc"):
                os.makedirs(os.path.join(prefix, folder))
            with open(os.path.join(prefix, "share/man/man1/other.1"), "w", encoding="utf-8") as file:
                file.write("another program's\n")
        parent = os.path.dirname(prefix)
        before = tree(parent)
        for _ in range(2):
            done = make("install", prefix)
            checks.check(f"make install succeeds for {sentence}", done.returncode == 0, done)
        installed = set(tree(prefix))
        for file in ("bin/lodge", "libexec/lodge/lodge", "share/man/man1/lodge.1", "share/man/man5/lodge-settings.5", "share/doc/lodge/README.md",
                     "share/zsh/site-functions/_lodge", "share/lodge/Settings/settings.json"):
            checks.check(f"make install creates {file}", file in installed, installed)
        done = make("uninstall", prefix)
        checks.check(f"make uninstall restores {sentence}", done.returncode == 0 and tree(parent) == before,
                     sorted(set(tree(parent)) ^ set(before)))


def control(checks, package):
    """The control fields of the package."""
    def field(name):
        return subprocess.run(["dpkg-deb", "-f", package, name], capture_output=True, text=True).stdout.strip()

    depends = field("Depends")
    for library in ("libc6", "libcurl4", "libsqlite3-0", "libssl3", "libncursesw6"):
        checks.check(f"the package requires a version of {library}", re.search(rf"\b{library}(t64)? \(>= [0-9.]+\)", depends), depends)
    maintainer = field("Maintainer")
    checks.check("its maintainer is a person or a group with an address",
                 re.fullmatch(r"[^<>]+ <[^<>@ ]+@[^<>@ ]+>", maintainer) and "lodge.example" not in maintainer, maintainer)
    suggests = field("Suggests").split(", ")
    for library in ("libpq5", "libqrencode4", "libsecret-1-0", "libturbojpeg0", "tpm2-openssl"):
        checks.check(f"the package suggests {library}", library in suggests, suggests)


def content(checks, world, package):
    """The files of the package, and the files that the README names."""
    unpacked = world.path("unpacked")
    subprocess.run(["dpkg-deb", "-x", package, unpacked], check=True, timeout=60)
    usr = os.path.join(unpacked, "usr")
    for file in ("bin/lodge", "libexec/lodge/lodge", "share/man/man1/lodge-search.1.gz", "share/man/man5/lodge-settings.5.gz",
                 "share/bash-completion/completions/lodge", "share/zsh/vendor-completions/_lodge",
                 "share/fish/vendor_completions.d/lodge.fish", "share/lodge/Settings/settings.json",
                 "share/doc/lodge/copyright", "share/doc/lodge/changelog.gz", "share/doc/lodge/changelog.Debian.gz",
                 "share/doc/lodge/Examples/SignInAndSearch/main.swift"):
        checks.check(f"the package has {file}", os.path.isfile(os.path.join(usr, file)))
    doc = os.path.join(usr, "share/doc/lodge")
    with open(os.path.join(doc, "README.md"), encoding="utf-8") as file:
        readme = file.read()
    named = set(re.findall(r"\]\(([A-Za-z][^):#]*)\)", readme)) | set(re.findall(r"\b((?:Settings|Examples)/[\w./-]*\w)", readme))
    missing = [name for name in sorted(named | {"Examples"}) if not os.path.exists(os.path.join(doc, name))]
    checks.check("all files that the README names are in the same folder", len(named) > 3 and not missing, missing)
    pages = [name for name in tree(usr) if "/man/man" in name and name.endswith(".gz")]
    times = [open(os.path.join(usr, page), "rb").read(8)[3:8] for page in pages]
    checks.check("the manual pages contain no file names and times",
                 len(pages) > 20 and all(time == bytes(5) for time in times), pages)
    program = os.path.join(usr, "bin/lodge")
    for file in (program, os.path.join(usr, "libexec/lodge/lodge")):
        headers = subprocess.run(["objdump", "-hp", file], capture_output=True, text=True).stdout
        checks.check("the program has no library path and no symbols",
                     "RPATH" not in headers and "RUNPATH" not in headers and ".debug_info" not in headers
                     and "no symbols" in subprocess.run(["objdump", "-t", file], capture_output=True, text=True).stdout,
                     headers[-2000:])
    done = subprocess.run([program, "--version"], env={}, capture_output=True, timeout=20)
    checks.check("the program of the package runs with an empty environment", done.returncode == 0, done)
    size = os.path.getsize(program) + os.path.getsize(os.path.join(usr, "libexec/lodge/lodge"))
    checks.check("the programs are smaller than 37 MB", size < 37_000_000, f"{size / 1e6:.1f} MB")


def lintian(checks, world, package):
    """Runs Debian's package checker."""
    if "lintian" in world.missing:
        return print("skipped: lintian is not installed", flush=True)
    done = subprocess.run(["lintian", "--fail-on", "error,warning", "--allow-root", package], capture_output=True, text=True,
                          timeout=300)
    checks.check("lintian reports no error and no warning", done.returncode == 0 and not done.stdout, done)


def dpkg(checks, world, package):
    """Installs, removes and purges the package in a folder that dpkg uses as a system."""
    system = world.path("system")
    for folder in ("var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers"):
        os.makedirs(os.path.join(system, folder))
    for file in ("status", "available"):
        open(os.path.join(system, "var/lib/dpkg", file), "w", encoding="utf-8").close()

    def run_dpkg(*words):
        return subprocess.run(["dpkg", f"--root={system}", "--force-depends", "--force-not-root", "--force-bad-path",
                               f"--log={world.path('dpkg.log')}", *words], capture_output=True, text=True, timeout=120,
                              env={**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"})

    def files():
        return [name for name in tree(system) if name.split("/")[0] != "var"]

    for action in ("remove", "purge"):
        done = run_dpkg("--install", package)
        checks.check("dpkg installs the package", done.returncode == 0 and "usr/bin/lodge" in files(), done)
        done = run_dpkg("--verify", "lodge")
        checks.check("the installed files have the checksums of the package", done.returncode == 0 and not done.stdout, done)
        done = run_dpkg(f"--{action}", "lodge")
        info = [name for name in os.listdir(os.path.join(system, "var/lib/dpkg/info")) if name.startswith("lodge")]
        checks.check(f"after {action} no file, folder or dpkg record remains", done.returncode == 0 and not files() and not info,
                     (done, files(), info))
