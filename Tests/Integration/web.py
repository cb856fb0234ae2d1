"""HTTP as a person's tools do it: no proxy, redirects followed only by hand."""

import base64
import html.parser
import json
import ssl
import urllib.error
import urllib.parse
import urllib.request


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


class Answer:
    def __init__(self, status, fields, body):
        self.status, self.fields, self.body = status, fields, body

    @property
    def json(self):
        try:
            return json.loads(self.body)
        except ValueError:
            return None

    def __str__(self):
        return f"{self.status} {self.body[:500]!r}"


def send(url, form=None, bearer=None, basic=None, ca_file=None, limit=20):
    """GET, or POST when there is a form."""
    body = None if form is None else urllib.parse.urlencode(form).encode()
    request = urllib.request.Request(url, data=body)
    if bearer:
        request.add_header("Authorization", f"Bearer {bearer}")
    if basic:
        request.add_header("Authorization", "Basic " + base64.b64encode(":".join(basic).encode()).decode())
    handlers = [urllib.request.ProxyHandler({}), _Stay()]
    if ca_file:
        handlers.append(urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=ca_file)))
    try:
        with urllib.request.build_opener(*handlers).open(request, timeout=limit) as answer:
            return Answer(answer.status, answer.headers, answer.read().decode("utf-8", "replace"))
    except urllib.error.HTTPError as error:
        return Answer(error.code, error.headers, error.read().decode("utf-8", "replace"))


class _Form(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.action, self.fields = None, []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "form":
            self.action = attributes.get("action", "")
        elif tag == "input" and self.action is not None and "name" in attributes:
            kind = attributes.get("type", "text")
            if kind == "hidden" or kind == "radio" and "checked" in attributes:
                self.fields.append((attributes["name"], attributes.get("value", "")))


def decide(url, decision="approve", person=None):
    """Fills in the local provider's sign-in page; gives the address that the browser is sent to."""
    page = send(url)
    if page.status in (302, 303):
        return page.fields["Location"]
    form = _Form()
    form.feed(page.body)
    if form.action is None:
        raise ValueError(f"no form on the sign-in page: {page}")
    fields = form.fields + ([("upn", person)] if person else []) + [("decision", decision)]
    answer = send(urllib.parse.urljoin(url, form.action), form=fields)
    if answer.status not in (302, 303):
        raise ValueError(f"no redirect after the sign-in page: {answer}")
    return answer.fields["Location"]
