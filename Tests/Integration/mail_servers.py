"""Mail programs of Debian sign in to Dovecot with tokens of `lodge serve`. Dovecot introspects each token (RFC 7662).
The configurations are from `lodge help mail`, with the addresses of these servers instead of Microsoft's."""

import base64
import glob
import grp
import imaplib
import json
import os
import pwd
import re
import shlex
import shutil
import smtplib
import socketserver
import ssl
import subprocess
import tempfile
import threading

import web
from mail_programs import respawn
from provider import Provider, sign_in
from world import LIMIT, Running, Unavailable, eventually, free_port

USER = "ada@contoso.example"


class Relay(socketserver.ThreadingTCPServer):
    """The relay server. It delivers every mail to a Maildir folder."""
    daemon_threads = True

    def __init__(self, folder):
        self.folder, self.count = folder, 0
        super().__init__(("127.0.0.1", 0), Session)
        self.port = self.server_address[1]
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def stop(self):
        self.shutdown()
        self.server_close()

    def deliver(self, mail):
        self.count += 1
        path = os.path.join(self.folder, "new", f"{self.count}.relay")
        with open(path, "wb") as file:
            file.write(mail)
        os.chmod(path, 0o666)


class Session(socketserver.StreamRequestHandler):
    def handle(self):
        self.say("220 relay")
        while line := self.rfile.readline():
            word = line[:4].upper()
            if word == b"DATA":
                self.say("354 continue")
                mail = []
                while (line := self.rfile.readline()) not in (b".\r\n", b""):
                    mail.append(line[1:] if line.startswith(b"..") else line)
                self.server.deliver(b"".join(mail).replace(b"\r\n", b"\n"))
            # Dovecot announces only capabilities of the relay, and aerc uses this one.
            self.say({b"EHLO": "250-relay\r\n250 8BITMIME", b"QUIT": "221 end"}.get(word, "250 done"))

    def say(self, text):
        self.wfile.write(text.encode() + b"\r\n")


class Dovecot:
    """Dovecot with imaps and submission on loopback, without root. Its folder is temporary."""

    def __init__(self, world, provider):
        self.world = world
        self.folder = tempfile.mkdtemp(prefix="lodge-dovecot-")
        world.closers.append(lambda: shutil.rmtree(self.folder, ignore_errors=True))
        os.chmod(self.folder, 0o755)
        self.imap, self.submission = free_port(), free_port()
        self.certificate = self.path("cert.pem")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", self.path("key.pem"), "-out", self.certificate,
             "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        for part in ("cur", "new", "tmp"):
            os.makedirs(self.path("maildir", part), exist_ok=True)
        for name in ("run", "state", "home"):
            os.mkdir(self.path(name))
        self.relay = Relay(self.path("maildir"))
        world.closers.append(self.relay.stop)
        # Dovecot rejects root as a mail user.
        user = pwd.getpwnam("nobody") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())
        self.write("oauth2.conf", f"""
            introspection_mode = post
            introspection_url = http://lodge-confidential:not-a-secret@127.0.0.1:{provider.port}/introspect
            username_attribute = username
            active_attribute = active
            active_value = true
            """)
        configuration = self.write("dovecot.conf", f"""
            base_dir = {self.path("run")}
            state_dir = {self.path("state")}
            log_path = {self.path("log")}
            auth_verbose = yes
            auth_failure_delay = 0
            protocols = imap submission
            listen = 127.0.0.1
            default_login_user = {user.pw_name}
            default_internal_user = {user.pw_name}
            default_internal_group = {grp.getgrgid(user.pw_gid).gr_name}
            mail_location = maildir:{self.path("maildir")}
            ssl = yes
            ssl_cert = <{self.certificate}
            ssl_key = <{self.path("key.pem")}
            auth_mechanisms = xoauth2 oauthbearer
            passdb {{
              driver = oauth2
              mechanisms = xoauth2 oauthbearer
              args = {self.path("oauth2.conf")}
            }}
            userdb {{
              driver = static
              args = uid={user.pw_uid} gid={user.pw_gid} home={self.path("home")}
            }}
            submission_relay_host = 127.0.0.1
            submission_relay_port = {self.relay.port}
            submission_relay_trusted = no
            hostname = mail.example
            service imap-login {{
              chroot =
              inet_listener imap {{
                port = 0
              }}
              inet_listener imaps {{
                port = {self.imap}
                ssl = yes
              }}
            }}
            service submission-login {{
              chroot =
              inet_listener submission {{
                port = {self.submission}
              }}
            }}
            service anvil {{
              chroot =
              # No delay after refused tokens.
              unix_listener anvil-auth-penalty {{
                mode = 0
              }}
            }}
            """)
        prefix = []
        if os.geteuid() == 0:
            for path in [self.folder, *glob.glob(self.folder + "/**", recursive=True)]:
                os.chown(path, user.pw_uid, user.pw_gid)
            prefix = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
        dovecot = shutil.which("dovecot") or "/usr/sbin/dovecot"
        self.running = Running([*prefix, dovecot, "-F", "-c", configuration], world.environment, world.make("outputs"), "/")
        world.closers.append(self.running.stop)
        if not self.running.wait_for(lambda _: self.accepts()):
            raise OSError(f"dovecot did not start: {self.running.err} {self.log}")

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(re.sub(r"^ {12}", "", text, flags=re.M))
        return self.path(name)

    def accepts(self):
        try:
            with self.imap_client():
                return True
        except OSError:
            return False

    @property
    def log(self):
        try:
            with open(self.path("log"), encoding="utf-8") as file:
                return file.read()[-3000:]
        except OSError:
            return ""

    @property
    def context(self):
        return ssl.create_default_context(cafile=self.certificate)

    def imap_client(self):
        return imaplib.IMAP4_SSL("127.0.0.1", self.imap, ssl_context=self.context, timeout=LIMIT)

    def imap_accepts(self, mechanism, response):
        """Returns whether the server accepts a SASL initial response in base64."""
        with self.imap_client() as client:
            try:
                return client.authenticate(mechanism.upper(), lambda _: base64.b64decode(response))[0] == "OK"
            except imaplib.IMAP4.error:
                return False

    def submission_accepts(self, mechanism, response):
        with smtplib.SMTP("127.0.0.1", self.submission, timeout=LIMIT) as client:
            client.starttls(context=self.context)
            client.ehlo()
            status = client.docmd("AUTH", f"{mechanism.upper()} {response}")[0]
            # After an error challenge, an empty response ends the exchange (RFC 7628 section 3.2.3).
            return status == 235 or status == 334 and client.docmd("AQ==")[0] == 235

    def has_mail(self, subject):
        def find():
            for path in glob.glob(self.path("maildir", "*", "*")):
                try:
                    with open(path, encoding="utf-8") as file:
                        if f"Subject: {subject}\n" in file.read():
                            return True
                except OSError:
                    continue
            return False
        return find


class Mail:
    """The servers, the account `work`, and the help page."""

    def __init__(self, checks, world):
        self.checks, self.world = checks, world
        os.symlink(world.program, os.path.join(world.make("bin"), "lodge"))
        world.environment["PATH"] = world.path("bin") + ":" + world.environment["PATH"]
        self.provider = Provider(world)
        self.dovecot = Dovecot(world, self.provider)
        world.use_settings({"types": {"work": {
            "issuer": self.provider.issuer, "clientId": "lodge", "redirectUri": "http://127.0.0.1/callback",
            "scopes": ["openid", "profile", "offline_access"]}}})
        self.page = world.run("help", "mail").out
        self.used, self.is_complete = set(), True

    def skip(self, reason):
        self.is_complete = False
        print(f"skipped: {reason}", flush=True)

    def block(self, title):
        """Returns the lines of the help page below a heading."""
        found = re.search(rf"^{re.escape(title)}[^\n]*:\n\n((?:  [^\n]*\n|\n)*)", self.page, re.M)
        if not found:
            return self.checks.check(f"the help page has {title}", False, self.page) or ""
        self.used.add(title)
        return re.sub(r"^  ", "", found[1], flags=re.M).strip() + "\n"

    def configuration(self, title, more=""):
        """Returns a configuration of the help page, with the addresses of these servers and the settings for a private CA."""
        text = self.block(title).replace("ada@contoso.com", USER).replace("ada%40contoso.com", USER.replace("@", "%40"))
        text = text.replace("imaps://outlook.office365.com/", f"imaps://127.0.0.1:{self.dovecot.imap}/")
        text = re.sub(r"(outlook|smtp)\.office365\.com", "127.0.0.1", text)
        text = re.sub(r"\b993\b", str(self.dovecot.imap), re.sub(r"\b587\b", str(self.dovecot.submission), text))
        return text.replace("OS-DEFAULT", self.dovecot.certificate) + more

    def home(self, name, text):
        """Writes a file in the home folder that only its user can read."""
        self.world.make(os.path.join("home", os.path.dirname(name)))
        path = self.world.write(os.path.join("home", name), text)
        os.chmod(path, 0o600)
        return path

    def call(self, *words, input="", **environment):
        return subprocess.run(words, env={**self.world.environment, **environment}, cwd=self.world.path("home"), input=input.encode(),
                              capture_output=True, timeout=LIMIT, check=False)

    def token(self, *words):
        return self.world.run("token", "--account", "work", *words).out.strip()

    def refuse(self):
        """Revokes the token at the provider. lodge does not know this."""
        old = self.token()
        web.send(f"{self.provider.issuer}/revoke", form={"token": old, "client_id": "lodge"})
        return old

    def expire(self):
        """Makes the token expire: the servers reject it, and lodge knows that it has expired."""
        old = self.refuse()
        export = json.loads(self.world.run("accounts", "export", "--reveal-secrets").out)
        for account in export["accounts"]:
            account["received"] -= 7200
        removed = self.world.run("accounts", "remove", "work")
        imported = self.world.run("accounts", "import", input=json.dumps(export))
        if removed.status or imported.status:
            raise RuntimeError(f"{removed}\n{imported}")
        return old


def run(checks, world):
    for package in ("dovecot-imapd", "dovecot-submissiond", "msmtp"):
        world.require(package)
    if not shutil.which("openssl") or os.geteuid() == 0 and not shutil.which("setpriv"):
        raise Unavailable("openssl or setpriv is not installed")
    mail = Mail(checks, world)
    checks.ends("sign-in --name", sign_in(world, "work", "--name", "work"), 0, "The account is called work.")
    responses(checks, mail)
    msmtp(checks, mail)
    refresh(checks, mail)
    isync(checks, mail)
    offlineimap(checks, mail)
    if shutil.which("tmux"):
        for name in ("mutt", "neomutt"):
            mutt(checks, mail, name)
        aerc(checks, mail)
    else:
        mail.skip("mutt, neomutt and aerc, because tmux is not installed")
    imported(checks, mail)
    set_up(checks, mail)


def responses(checks, mail):
    """Sends the SASL responses directly to the servers."""
    for server, accepts in (("imap", mail.dovecot.imap_accepts), ("submission", mail.dovecot.submission_accepts)):
        for mechanism in ("xoauth2", "oauthbearer"):
            def response(*words, mechanism=mechanism):
                return mail.token("--sasl", mechanism, *words)
            name = f"{server}, {mechanism}"
            checks.check(f"{name}: the server accepts the response of token --sasl", accepts(mechanism, response()), mail.dovecot.log)
            checks.check(f"{name}: the server rejects the token for another user",
                         not accepts(mechanism, response("--user", "li.ming@contoso.example")))
            before = response()
            mail.refuse()
            checks.check(f"{name}: the server rejects a revoked token", response() == before and not accepts(mechanism, before))
            mail.expire()
            after = response()
            checks.check(f"{name}: lodge refreshes an expired token", after != before and accepts(mechanism, after),
                         mail.dovecot.log)
            wrong = base64.b64encode(base64.b64decode(after).replace(b"Bearer ", b"Bearer x")).decode()
            checks.check(f"{name}: the server rejects a wrong token", not accepts(mechanism, wrong))


def msmtp(checks, mail):
    text = mail.configuration("msmtp", f"tls_trust_file {mail.dovecot.certificate}\n")
    for mechanism in ("xoauth2", "oauthbearer"):
        mail.home(".msmtprc", text.replace("auth xoauth2", f"auth {mechanism}"))

        def send(subject, mechanism=mechanism):
            return mail.call("msmtp", "--account=work", "bob@contoso.example",
                             input=f"Subject: {subject}-{mechanism}\nFrom: {USER}\nTo: bob@contoso.example\n\nA mail.\n")
        for subject in ("first", "after expiry"):
            sent = send(subject)
            checks.check(f"msmtp, {mechanism}: the mail arrives ({subject})",
                         sent.returncode == 0 and eventually(mail.dovecot.has_mail(f"{subject}-{mechanism}")), sent)
            mail.expire()
        mail.token()
        mail.refuse()
        refused = send("refused")
        checks.check(f"msmtp, {mechanism}: with a rejected token no mail is sent",
                     refused.returncode == 77 and not mail.dovecot.has_mail(f"refused-{mechanism}")(), refused)
        mail.token("--refresh")
        checks.check(f"msmtp, {mechanism}: after token --refresh the mail is sent", send("again").returncode == 0)
    # A command of msmtp has at most 4,094 characters of base64.
    long = "x" * 2800
    path = mail.home("long", long + "\n")
    mail.home(".msmtprc", text.replace("lodge token --account work", f"cat {path}"))
    debug = mail.call("msmtp", "--debug", "--account=work", "bob@contoso.example", input="Subject: long\n\n")
    checks.check("msmtp sends a token of 2,800 characters", long in base64.b64decode(
        (re.search(rb"--> ([A-Za-z0-9+/=]{3000,})", debug.stdout + debug.stderr) or [b"", b""])[1]).decode("utf-8", "replace"),
        debug.stderr[-500:])


def refresh(checks, mail):
    """The crontab line of the help page, run like cron: without a terminal and with few variables."""
    line = mail.block("Keep sign-ins that you rarely use")
    fields, arguments = re.fullmatch(r"((?:[0-9*]+ ){5})/usr/local/bin/lodge( .*)\n", line).groups()
    # The program to check is in the PATH, not where `make install` puts it.
    command = "lodge" + arguments
    before = mail.token()
    done = mail.call("/bin/sh", "-c", command)
    checks.check("cron: accounts refresh --all refreshes the token and prints no output",
                 len(fields.split()) == 5 and done.returncode == 0 and not done.stdout + done.stderr and mail.token() != before, done)
    empty = mail.call("/bin/sh", "-c", command, LODGE_STORE=mail.world.path("empty"))
    checks.check("cron: without an account the command prints a message", empty.returncode == 3 and b"No accounts yet" in empty.stderr, empty)


def isync(checks, mail):
    if not shutil.which("mbsync") or not glob.glob("/usr/lib/*/sasl2/libkdexoauth2.so*"):
        return mail.skip("mbsync, because isync or libsasl2-modules-kdexoauth2 is not installed")
    text = mail.configuration("isync")
    mail.home(".mbsyncrc", text.replace("SSLType IMAPS\n", f"SSLType IMAPS\nCertificateFile {mail.dovecot.certificate}\n"))
    mail.world.make("home/mail")
    mail.expire()
    done = mail.call("mbsync", "work")
    checks.check("mbsync downloads the mails with a refreshed token",
                 done.returncode == 0 and len(glob.glob(mail.world.path("home", "mail", "INBOX", "new", "*"))) >= 4, done)


def offlineimap(checks, mail):
    if not shutil.which("offlineimap"):
        return mail.skip("offlineimap, which is not installed")
    mail.home(".offlineimaprc", mail.configuration("offlineimap"))
    mail.expire()
    done = mail.call("offlineimap", "-o", "-u", "basic")
    checks.check("offlineimap downloads the mails with a refreshed token",
                 done.returncode == 0 and len(glob.glob(mail.world.path("home", "offline-mail", "INBOX", "*", "*"))) >= 4, done)


def mutt(checks, mail, name):
    if not shutil.which(name):
        return mail.skip(f"{name}, which is not installed")
    mail.home(".muttrc", mail.configuration(
        "mutt and neomutt", f"set certificate_file = \"{mail.dovecot.certificate}\"\nset header_cache = \"\"\nset editor = true\n"))
    mail.expire()
    sent = mail.call(name, "-s", f"sent by {name}", "bob@contoso.example", input="A mail.\n")
    checks.check(f"{name} sends a mail with a refreshed token",
                 sent.returncode == 0 and eventually(mail.dovecot.has_mail(f"sent by {name}")), sent)
    mail.expire()
    window = respawn(mail.world, 160, 60, f"cd; {name}")
    checks.check(f"{name} lists the mailbox with a refreshed token", window.wait(f"sent by {name}"), window.screen)
    window.keys("q")
    window.stop()
    mail.refuse()
    window = respawn(mail.world, 160, 60, f"cd; {name}")
    checks.check(f"{name} shows that the server rejects the token",
                 eventually(lambda: re.search(r"(?i)authentication failed|unable to open mailbox", window.screen)), window.screen)
    window.stop()
    mail.token("--refresh")


def aerc(checks, mail):
    if not shutil.which("aerc"):
        return mail.skip("aerc, which is not installed")
    mail.home(".config/aerc/accounts.conf", mail.configuration("aerc"))
    os.chmod(mail.world.path("home", ".config", "aerc"), 0o700)
    mail.home(".config/aerc/aerc.conf", "[compose]\nheader-layout=To,Subject\neditor=/bin/true\n")
    mail.expire()
    variables = f"SSL_CERT_FILE={shlex.quote(mail.dovecot.certificate)} XDG_CONFIG_HOME=$HOME/.config"
    window = respawn(mail.world, 160, 60, f"{variables} aerc")
    checks.check("aerc lists the mailbox with a refreshed token", window.wait("first-xoauth2"), window.screen)
    window.keys("-l", ":compose -H \"To: bob@contoso.example\" -H \"Subject: sent by aerc\"")
    window.keys("Enter")
    shown = eventually(lambda: "Send this email" in window.screen)
    window.keys("y")
    checks.check("aerc sends a mail", shown and eventually(mail.dovecot.has_mail("sent by aerc")), window.screen)
    window.stop()


def imported(checks, mail):
    """Imports a token file of mutt_oauth2.py that is encrypted with GPG."""
    if not shutil.which("gpg"):
        return mail.skip("the import from mutt_oauth2.py, because gpg is not installed")
    export = json.loads(mail.world.run("accounts", "export", "--reveal-secrets").out)["accounts"][0]
    folder = mail.world.make("home/.gnupg")
    mail.home(".gnupg/passphrase", "a passphrase\n")
    mail.home(".gnupg/gpg.conf", f"batch\nquiet\npinentry-mode loopback\npassphrase-file {folder}/passphrase\n")
    token = json.dumps({
        "registration": "own", "authflow": "localhostauthcode", "email": USER, "access_token": "old",
        "access_token_expiration": "2026-01-01T00:00:00.000000", "refresh_token": export["refreshToken"], "client_id": "lodge",
        "client_secret": ""})
    file = mail.world.path("home", "ada.tokens")
    made = mail.call("gpg", "--symmetric", "--output", file, input=token)
    mail.world.closers.append(lambda: mail.call("gpgconf", "--kill", "gpg-agent"))
    checks.check("gpg encrypts the token file", made.returncode == 0, made)
    store = {"LODGE_STORE": mail.world.path("imported")}
    told = mail.world.run("accounts", "import", file, **store)
    checks.ends("accounts import shows the command that decrypts the file", told, 2, f"gpg --decrypt {file} | lodge accounts import")
    line = mail.block("Import an account of mutt_oauth2.py or oama").replace("FILE", shlex.quote(file))
    done = mail.call("/bin/sh", "-c", line, **store)
    token = mail.world.run("token", **store)
    checks.check("accounts import accepts the decrypted file, and the server accepts the token",
                 done.returncode == 0 and mail.dovecot.imap_accepts("xoauth2", base64.b64encode(
                     f"user={USER}\x01auth=Bearer {token.out.strip()}\x01\x01".encode()).decode()), f"{done}\n{token}")


def set_up(checks, mail):
    """The commands of the help page that add the account types, and the sign-in command."""
    for title in ("Microsoft 365", "Gmail"):
        lines = mail.block(title).replace(" ID ", " client-1 ").replace("FILE", "secret")
        added, sign_in_line = re.fullmatch(r"((?:.*\\\n)+.*\n)(.*)\n", lines).groups()
        mail.home("secret", "s3cret\n")
        folder = mail.world.make(f"settings-{title.split()[0]}")
        environment = {"XDG_CONFIG_HOME": folder, "LODGE_SETTINGS": ""}
        done = mail.call("/bin/sh", "-c", added, **environment)
        shown = mail.world.run("providers", "show", "work", "-o", "json", **environment)
        scopes = (shown.json or {}).get("scopes", [])
        wanted = {"Microsoft 365": "https://outlook.office.com/SMTP.Send", "Gmail": "https://mail.google.com/"}[title]
        checks.check(f"{title}: the commands of the help page add the type", done.returncode == 0 and wanted in str(scopes), f"{done}\n{shown}")
        checks.check(f"{title}: the last command is the sign-in", sign_in_line == "lodge sign-in work --name work", sign_in_line)
    mail.home(".config/pizauth.conf", f"""account "officesmtp" {{
        auth_uri = "{mail.provider.issuer}/authorize"; token_uri = "{mail.provider.issuer}/token"; // local
        client_id = "client-2"; scopes = ["openid"];\n}}\n""")
    read = mail.call("/bin/sh", "-c", mail.block("Print the account types for a configuration of pizauth or oama").strip() + " --output json")
    reason = json.loads(read.stdout or b"[{}]")[0].get("reason", "")
    written = mail.world.write("pizauth.json", "{\"types\": {" + reason.partition("sign in: ")[2] + "}}")
    shown = mail.world.run("--settings", written, "providers", "show", "officesmtp")
    checks.check("accounts import prints an account type for a configuration of pizauth", read.returncode == 3 and shown.status == 0,
                 f"{read}\n{shown}")
    # The topic mail_programs runs these lines.
    checks.check("the page has the line of each address book", len(mail.block("Complete addresses").splitlines()) >= 2, mail.page)
    titles = set(re.findall(r"^([A-Za-z].*):$\n\n  ", mail.page, re.M))
    unused = [title for title in titles if not any(title.startswith(used) for used in mail.used)]
    checks.check("these checks ran every command of the help page", not unused or not mail.is_complete, unused)
