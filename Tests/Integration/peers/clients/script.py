"""Shared by the scripts of this folder: the description of the provider, a browser without a user, and results as JSON lines."""

import html
import json
import re
import sys
import urllib.parse

import requests

with open(sys.argv[1], encoding="utf-8") as file:
    provider = json.load(file)
public, confidential = provider["clients"]
REDIRECT = "http://localhost:53682/callback"


def check(sentence, condition, detail=""):
    """Passes a check to the topic, which counts it."""
    print(json.dumps({"sentence": sentence, "holds": bool(condition), "detail": str(detail)[:2000]}), flush=True)


def refused(sentence, call, *words):
    """Checks that a call fails with an error that contains these words."""
    try:
        result = call()
    except Exception as error:
        result = f"{type(error).__name__}: {error}"
        check(sentence, all(word in result for word in words), result)
    else:
        check(sentence, False, f"no error: {result}")


def visit(url):
    """Opens a URL as a browser does, and returns the parameters that reach the application."""
    response = requests.get(url, allow_redirects=False, timeout=20)
    if response.is_redirect:
        parts = urllib.parse.urlsplit(response.headers["Location"])
        return dict(urllib.parse.parse_qsl(parts.query or parts.fragment)), response.headers["Location"]
    action = re.search(r'<form method="post" action="([^"]+)">', response.text)
    fields = dict(
        (html.unescape(name), html.unescape(value))
        for name, value in re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', response.text))
    if not action:
        raise ValueError(f"HTTP {response.status_code}: {response.text[-400:]}")
    return fields, html.unescape(action.group(1))
