"""Git over HTTP with a loopback server that requires tokens of `lodge serve`. The credential helper is `lodge credential git`."""

import base64
import http.server
import os
import re
import shutil
import subprocess
import threading

import web
from provider import Provider, sign_in
from world import LIMIT, Unavailable

# Git sends these lines to helpers since 2.46.
CAPABILITIES = "capability[]=authtype\ncapability[]=state\n"


class GitServer(http.server.ThreadingHTTPServer):
    """git http-backend with a token check that asks the provider."""
    daemon_threads = True

    def __init__(self, world, provider, root):
        self.world, self.provider, self.root = world, provider, root
        self.challenges = ['Basic realm="git"', "Bearer"]
        self.used = []
        super().__init__(("127.0.0.1", 0), GitRequest)
        self.port = self.server_address[1]
        threading.Thread(target=self.serve_forever, daemon=True).start()
        world.closers.append(self.stop)

    def stop(self):
        self.shutdown()
        self.server_close()

    def accepts(self, field):
        """Returns whether the provider accepts the token of an Authorization field: as Bearer, or as the password of Basic."""
        scheme, _, value = (field or "").partition(" ")
        token = base64.b64decode(value).decode().partition(":")[2] if scheme == "Basic" else value
        if scheme not in ("Basic", "Bearer"):
            return False
        answer = web.send(f"{self.provider.issuer}/introspect", form={"token": token}, basic=("lodge-confidential", "not-a-secret"))
        self.used.append((scheme, base64.b64decode(value).decode().partition(":")[0] if scheme == "Basic" else "", token))
        return bool(answer.json and answer.json.get("active"))


class GitRequest(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if not self.server.accepts(self.headers.get("Authorization")):
            self.send_response(401)
            for challenge in self.server.challenges:
                self.send_header("WWW-Authenticate", challenge)
            self.send_header("Content-Length", "0")
            return self.end_headers()
        path, _, query = self.path.partition("?")
        done = subprocess.run(
            ["git", "http-backend"], input=body, capture_output=True, timeout=LIMIT, check=False,
            env={**self.server.world.environment, "GIT_PROJECT_ROOT": self.server.root, "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path,
                 "QUERY_STRING": query, "REQUEST_METHOD": self.command, "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                 "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""), "CONTENT_LENGTH": str(len(body)),
                 "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""), "REMOTE_USER": "ada"})
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
        self.send_response(int(fields.pop("Status", "200").split()[0]))
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = answer


def run(checks, world):
    if not shutil.which("git") or subprocess.run(["git", "http-backend"], capture_output=True, check=False).returncode == 1:
        raise Unavailable("git with http-backend is not installed")
    os.symlink(world.program, os.path.join(world.make("bin"), "lodge"))
    world.environment["PATH"] = world.path("bin") + ":" + world.environment["PATH"]
    world.environment |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0"}
    provider = Provider(world)
    server = GitServer(world, provider, world.make("served"))
    git = Git(checks, world, server)
    git.make_repository()
    host = f"127.0.0.1:{server.port}"
    world.use_settings({"types": {"work": {
        "issuer": provider.issuer, "clientId": "lodge", "redirectUri": "http://127.0.0.1/callback",
        "scopes": ["openid", "profile", "offline_access"], "resourceHosts": [host]}}})
    page = world.run("help", "git").out
    blocks = [re.sub(r"^  ", "", block, flags=re.M) for block in re.findall(r":\n\n((?:  .*\n)+)", page)]
    checks.check("help git has the set-up, the sign-in and the selection of an account", len(blocks) == 3, page)
    helper, first, second = blocks
    done = git.shell(helper)
    checks.check("the set-up command succeeds", done.returncode == 0, done)

    missing = git.call("ls-remote", git.url)
    checks.check("without an account git shows the sign-in command", missing.returncode != 0
                 and b"hint: lodge sign-in work\n" in missing.stderr and not server.used, missing)
    checks.ends("sign-in", sign_in(world, "work", "--name", "work"), 0)
    token = world.run("token").out.strip()
    *added, signed_in, clone = first.strip().split("\n")
    settings = world.make("gitlab")
    done = git.shell("\n".join(added).replace(" ID ", " client-1 "), XDG_CONFIG_HOME=settings, LODGE_SETTINGS="")
    checks.check("the commands of the help add the type gitlab", done.returncode == 0 and signed_in == "lodge sign-in gitlab", done)
    done = git.shell(git.local(clone))
    checks.check("git clone gets the token from lodge", done.returncode == 0 and os.path.isdir(world.path("home", "project")), done)
    schemes = {scheme for scheme, _, sent in server.used if sent == token}
    expected = {"Bearer"} if git.version >= (2, 46) else {"Basic"}
    checks.check(f"git {'.'.join(map(str, git.version))} sends it as {expected}", schemes == expected, server.used)
    shutil.rmtree(world.path("home", "project"))
    done = git.shell(git.local(second))
    checks.check("the user name in the URL selects the account by its name", done.returncode == 0 and server.used[-1][1] in ("work", ""),
                 done)
    unknown = git.call("ls-remote", git.url.replace("://", "://eve%40contoso.example@"))
    checks.check("a user without an account does not get another user's token", unknown.returncode != 0
                 and b"lodge sign-in work --login-hint eve@contoso.example\n" in unknown.stderr, unknown)
    rejection(checks, world, git)
    basic_only(checks, world, git)
    authtype(checks, world, git, host)


class Git:
    def __init__(self, checks, world, server):
        self.checks, self.world, self.server = checks, world, server
        self.url = f"http://127.0.0.1:{server.port}/group/project.git"
        self.version = tuple(int(part) for part in re.findall(r"\d+", self.call("--version").stdout.decode())[:2])

    def local(self, line):
        return line.replace("https://gitlab.com/", f"http://127.0.0.1:{self.server.port}/") \
            .replace("https://work@gitlab.com/", f"http://work@127.0.0.1:{self.server.port}/")

    def shell(self, line, **environment):
        return subprocess.run(["/bin/sh", "-c", line], env={**self.world.environment, **environment}, cwd=self.world.path("home"),
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT, check=False)

    def call(self, *words):
        return subprocess.run(["git", *words], env=self.world.environment, cwd=self.world.folder, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=LIMIT, check=False)

    def make_repository(self):
        """Creates a repository with one commit."""
        work, bare = self.world.make("work"), os.path.join(self.server.root, "group", "project.git")
        for words in (["init", "--quiet", work], ["-C", work, "-c", "user.name=Ada", "-c", "user.email=ada@contoso.example", "commit",
                                                  "--quiet", "--allow-empty", "-m", "Begin"],
                      ["clone", "--quiet", "--bare", work, bare]):
            done = self.call(*words)
            if done.returncode:
                raise RuntimeError(f"git {words}: {done.stderr}")

    def fetch(self):
        return self.call("ls-remote", self.url)


def rejection(checks, world, git):
    """The server rejects a token that lodge considers valid."""
    token = world.run("token").out.strip()
    web.send(f"{git.server.provider.issuer}/revoke", form={"token": token, "client_id": "lodge"})
    rejected = git.fetch()
    new = world.run("token").out.strip()
    checks.check("git reports a rejected token, and lodge replaces it", rejected.returncode != 0 and new not in ("", token), rejected)
    again = git.fetch()
    checks.check("the next command succeeds", again.returncode == 0 and b"refs/heads" in again.stdout, again)


def basic_only(checks, world, git):
    git.server.challenges, before = ['Basic realm="git"'], git.server.challenges
    del git.server.used[:]
    done = git.fetch()
    checks.check("a server that offers only Basic gets the token as the password",
                 done.returncode == 0 and {scheme for scheme, *_ in git.server.used} == {"Basic"}, f"{done}\n{git.server.used}")
    git.server.challenges = before


def authtype(checks, world, git, host):
    """The credential protocol of git 2.46, with any installed version of git."""
    request = f"{CAPABILITIES}protocol=http\nhost={host}\nwwwauth[]=Basic realm=\"git\"\nwwwauth[]=Bearer\n\n"
    answer = world.run("credential", "git", "get", input=request)
    fields = dict(line.split("=", 1) for line in answer.out.splitlines())
    checks.check("credential git: Bearer for a git that announces authtype", answer.status == 0
                 and fields.get("capability[]") == "authtype" and fields.get("authtype") == "Bearer" and "password" not in fields, answer)
    done = git.call("-c", "credential.helper=", "-c", f"http.extraHeader=Authorization: Bearer {fields.get('credential')}", "ls-remote",
                    git.url)
    checks.check("the server accepts the Bearer credential", done.returncode == 0 and git.server.used[-1][0] == "Bearer", done)
    erased = world.run("credential", "git", "erase", input=request[:-1] + f"authtype=Bearer\ncredential={fields.get('credential')}\n\n")
    checks.check("credential git erase refreshes the token", erased.status == 0 and world.run("token").out.strip() != fields.get("credential"), erased)
