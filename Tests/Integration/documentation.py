"""The site of `make docs`, in a real browser: the first page, libraries, articles and symbols, without an error in the console. Then all
links of all pages lead to a page."""

import http.server
import json
import os
import shutil
import subprocess
import sys
import threading
import urllib.parse

from world import eventually

# The libraries for programs: the first page lists them, and the page of each has an example in code.
LIBRARIES = ("OAuth2AccountStore", "DirectorySearch", "FleetStorage", "OAuth2AccountStoreTesting", "LocalProvider", "HTTPExchange", "CurlHTTP",
             "URLSessionHTTP", "AccountStoreUI")
SITE = []


def prepare(arguments):
    """Builds the site, without a network. The compiler would delay the checks that measure time."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    folder = os.path.join(arguments.folder, "documentation")
    done = subprocess.run(["make", "-s", "docs", f"OUTPUT={folder}"], cwd=root, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    SITE.append((folder, done))


def browser_is_there():
    return shutil.which("chromium") and shutil.which("chromedriver")


def run(checks, world):
    folder, done = SITE[0]
    if not checks.check("make docs builds it without a warning of docc", done.returncode == 0 and os.path.isdir(folder),
                        (done.stdout + done.stderr)[-3000:]):
        return
    links(checks, folder)
    if not browser_is_there():
        return print("skipped: a look at the documentation, because there is no chromium", flush=True)
    sys.path.insert(0, os.path.join(world.here, "peers", "browser"))
    from wd import Browser

    site, base = serve(world, folder)
    with Browser() as browser:
        click_through(checks, browser, base)
    failed = [line for line in site.failed if "/favicon" not in line]
    checks.check("the server had every file that the pages load", not failed, failed[:20])


def serve(world, folder):
    """Starts what `make docs-serve` starts: a server of static files on loopback."""
    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *words):
            super().__init__(*words, directory=folder)

        def log_message(self, format, *words):
            pass

        def send_error(self, code, *words):
            self.server.failed.append(f"{code} {self.path}")
            super().send_error(code, *words)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.failed = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()

    def stop():
        server.shutdown()
        thread.join()
        server.server_close()
    world.closers.append(stop)
    return server, f"http://127.0.0.1:{server.server_port}"


def click_through(checks, browser, base):
    """What a reader does: opens the address of the server, and follows links."""
    def title():
        return browser.js("const head = document.querySelector('main h1, .documentation-hero h1'); return head ? head.innerText : ''").strip()

    def shows(wanted):
        return eventually(lambda: title() == wanted)

    def click(path, wanted):
        """Clicks on the link to a path. Returns whether its page is shown."""
        found = eventually(lambda: browser.js("""
            const link = [...document.querySelectorAll('main a[href]')].find(a => a.pathname.replace(/\\/$/, '') == arguments[0]);
            if (link) { link.click(); return true } return false""", path))
        return bool(found) and shows(wanted)

    def code():
        return browser.js("return [...document.querySelectorAll('main pre code')].map(code => code.innerText).join('\\n')")

    errors = []

    def report(sentence, held):
        """Checks a step, and takes the errors of its page."""
        errors.extend(entry for entry in browser.console() if entry.get("level") == "SEVERE")
        checks.check(sentence, held, f"{browser.url}\n{browser.page_text()[:1500]}")

    browser.get(base + "/")
    report("the address of the server leads to the first page", shows("lodge"))
    report("it has code", "import OAuth2AccountStore" in code())
    report("it leads to an article", click("/documentation/oauth2accountstore/gettingstarted", "Getting started"))
    browser.cmd("POST", "/back", {})
    report("and back, to a library", shows("lodge") and click("/documentation/oauth2accountstore", "OAuth2AccountStore"))
    report("which leads to an article", click("/documentation/oauth2accountstore/testedservers", "Tested servers"))
    browser.cmd("POST", "/back", {})
    report("and back, to a symbol", shows("OAuth2AccountStore") and click("/documentation/oauth2accountstore/accountstore", "AccountStore"))
    report("a symbol leads to its methods", eventually(lambda: "signOut(" in browser.page_text()))
    for library in LIBRARIES:
        browser.get(base + "/documentation/lodge")
        report(f"the first page leads to {library}, which has an example in code",
               click(f"/documentation/{library.lower()}", library) and "(" in code())
    browser.get(base + "/documentation/urlsessionhttp")
    report("URLSessionHTTP leads to the article of FoundationTransport",
           click("/documentation/urlsessionhttp/signingfoundationrequests", "Sign requests of Foundation") and "account.send(" in code())
    browser.get(base + "/documentation/lodge")
    report("the first page leads to the tutorial", click("/tutorials/directorysearch/buildapeoplebrowser", "Build a people browser"))
    report("the tutorial has its steps with their code",
           eventually(lambda: "Handle errors, and sign out" in browser.page_text() and "func showDetail(of id: String)" in code()))
    browser.get(base + "/tutorials/directorysearch")
    report("the table of contents leads to the tutorial", click("/tutorials/directorysearch/buildapeoplebrowser", "Build a people browser"))
    for path, wanted in (("lodge-commands", "The command lodge"), ("recipes", "Recipes for the command"),
                         ("migratingfromazurecli", "Migrating from az"), ("lodge-presets", "Providers")):
        browser.get(base + "/documentation/lodge")
        report(f"the first page leads to {path}", click(f"/documentation/lodge/{path}", wanted))
    report("the list of presets leads to the page of each", click("/documentation/lodge/lodge-preset-github", "GitHub"))
    report("the page of a preset tells how to register a client",
           all(word in browser.page_text() for word in ("New OAuth App", "lodge providers add github --client-id ID", "No test uses")))
    browser.get(base + "/documentation/oauth2accountstore/accountstore")
    report("a page can be opened and loaded again by its own address", shows("AccountStore"))
    checks.check("no page reports an error in the console", not errors, errors[:20])


def links(checks, folder):
    """Follows every link of every page without a browser."""
    pages, dead = set(), []
    data = os.path.join(folder, "data")
    for place, _, files in os.walk(data):
        pages.update("/" + os.path.relpath(os.path.join(place, file), data)[:-len(".json")] for file in files)
    for page in sorted(pages):
        with open(data + page + ".json", encoding="utf-8") as file:
            document = json.load(file)
        # The title above a tutorial is its chapter, which has no page and no link.
        chapters = {path[-1] for path in document.get("hierarchy", {}).get("paths", [])} if page.startswith("/tutorials/") else set()
        for identifier, reference in document.get("references", {}).items():
            if identifier in chapters and reference.get("url") not in pages:
                continue
            # Symbols of other packages, such as the standard library, have no page here.
            url = urllib.parse.unquote(reference.get("url") or "") if reference.get("type") != "unresolvable" else ""
            if url.startswith("/") and url.split("#")[0] not in pages:
                dead.append(f"{page}: {url}")
            for variant in reference.get("variants", []):
                if variant["url"].startswith("/") and not os.path.exists(folder + variant["url"]):
                    dead.append(f"{page}: {variant['url']}")
    checks.check(f"no link of {len(pages)} pages is dead", len(pages) > 1000 and not dead, "\n".join(dead[:40]))

    entries = []

    def collect(nodes):
        for node in nodes:
            entries.append(node)
            collect(node.get("children", []))
    with open(os.path.join(folder, "index", "index.json"), encoding="utf-8") as file:
        collect(json.load(file)["interfaceLanguages"]["swift"])
    wrong = [entry["path"] for entry in entries if "path" in entry and not entry.get("external")
             and urllib.parse.unquote(entry["path"]) not in pages]
    checks.check("no entry of the navigator is dead", len(entries) > 1000 and not wrong, wrong[:40])
