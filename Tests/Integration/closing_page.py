"""The final page of the sign-in in a browser: small and large, light and dark, with and without JavaScript.
With $LODGE_SHOTS set to a folder, saves screenshots there."""

import os
import sys

from provider import Provider
from world import PATIENT, address_shown, eventually
import web

SIZES = ((320, 640), (1400, 900))


def run(checks, world):
    sys.path.insert(0, os.path.join(world.peers, "browser"))
    from wd import Browser

    provider = Provider(world)
    world.use_settings(provider.settings)
    with Browser() as browser:
        ended(checks, world, browser, "signed in", "approve", 0,
              ("Ada Lovelace (ada@contoso.example)", "close this tab"))
        ended(checks, world, browser, "cancelled", "deny", 5, ("denied or cancelled", "try again in the program", "close this tab"))
        browser.cmd("POST", "/goog/cdp/execute",
                    {"cmd": "Emulation.setScriptExecutionDisabled", "params": {"value": True}})
        ended(checks, world, browser, "without JavaScript", "approve", 0, ("close this tab",), scripts=False)
    stray(checks, world)


def ended(checks, world, browser, name, decision, status, words, scripts=True):
    waiting = world.start("sign-in", "--no-browser", *PATIENT)
    redirect = web.decide(address_shown(waiting), decision)
    browser.get(redirect)
    body = browser.find("body")
    text = browser.text(body[0]) if body else ""
    checks.check(f"{name}: the page states the result and the next step", all(word in text for word in words), text)
    checks.check(f"{name}: the program ends without further input", waiting.finish().status == status, waiting.err)
    if not scripts:
        return
    html = browser.js("return document.documentElement.lang + '|' + document.title")
    checks.check(f"{name}: the page has a language and a title", html.startswith("en|") and len(html) > 5, html)
    loaded = browser.js("return performance.getEntriesByType('resource').map(entry => entry.name)"
                        ".filter(name => !name.endsWith('/favicon.ico'))")
    checks.check(f"{name}: the page loads no resources", loaded == [], loaded)
    checks.check(f"{name}: the page sets no cookie", browser.js("return document.cookie") == "" and not browser.cmd("GET", "/cookie"))
    refused = [entry for entry in browser.console() if "Content Security Policy" in str(entry)
               and "favicon" not in str(entry)]
    checks.check(f"{name}: the page does not violate its Content Security Policy", not refused, refused)
    for scheme in ("light", "dark"):
        for width, height in SIZES:
            look(checks, browser, name, scheme, width, height)
    browser.cmd("POST", "/goog/cdp/execute", {"cmd": "Emulation.clearDeviceMetricsOverride", "params": {}})


def look(checks, browser, name, scheme, width, height):
    for command, parameters in (
            ("Emulation.setDeviceMetricsOverride",
             {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}),
            ("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})):
        browser.cmd("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})
    # The window gets its new size and colors a moment later.
    eventually(lambda: browser.js("return innerWidth == arguments[0] && matchMedia(arguments[1]).matches", width,
                                  f"(prefers-color-scheme: {scheme})"), 20)
    facts = browser.js("""
        const root = document.documentElement, style = getComputedStyle(document.querySelector('p'));
        const probe = document.createElement('div');
        probe.style.setProperty('background-color', 'Canvas'); document.body.append(probe);
        const back = getComputedStyle(probe).backgroundColor; probe.remove();
        return {scroll: root.scrollWidth, inner: innerWidth, size: parseFloat(style.fontSize), ink: style.color, back,
                high: root.scrollHeight, window: innerHeight}""")
    place = f"{name}, {width} pixels, {scheme}"
    checks.check(f"{place}: the page fits in the window",
                 facts["inner"] == width and facts["scroll"] <= facts["inner"] and facts["high"] <= facts["window"], facts)
    checks.check(f"{place}: the text has at least 16 pixels and a contrast of at least 7 to 1",
                 facts["size"] >= 16 and contrast(facts["ink"], facts["back"]) >= 7, facts)
    shots = os.environ.get("LODGE_SHOTS")
    if shots:
        os.makedirs(shots, exist_ok=True)
        browser.shot(os.path.join(shots, f"{name.replace(' ', '-')}-{width}-{scheme}.png"))


def contrast(one, other):
    """Returns the contrast of two colors as defined by WCAG 2."""
    def luminance(text):
        parts = [float(part) / 255 for part in text[text.index("(") + 1:-1].split(",")[:3]]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def stray(checks, world):
    """Unrelated requests: the sign-in keeps waiting, and the responses set no cookie."""
    waiting = world.start("sign-in", "--no-browser", *PATIENT)
    url = address_shown(waiting)
    redirect = web.decide(url)
    origin = redirect[:redirect.index("/", len("http://"))]
    for sentence, address, status in (("another path", origin + "/favicon.ico", 404),
                                      ("an unknown state", redirect.split("?")[0] + "?code=x&state=y", 400)):
        answer = web.send(address)
        checks.check(f"{sentence} gets {status}, and the sign-in keeps waiting", answer.status == status
                     and "Set-Cookie" not in answer.fields and waiting.process.poll() is None, answer)
    last = web.send(redirect)
    fields = {name.lower(): value for name, value in last.fields.items()}
    checks.check("the page sets no cookie, is not cached, sends no referrer and has a strict policy",
                 "set-cookie" not in fields and fields.get("cache-control") == "no-store"
                 and fields.get("referrer-policy") == "no-referrer"
                 and "default-src 'none'" in fields.get("content-security-policy", ""), fields)
    checks.ends("the redirect of the provider ends the sign-in", waiting.finish(), 0, "Signed in")
