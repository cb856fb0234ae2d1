"""HTTP requests and a browser for the tests. They use no proxy. Only the browser follows redirects."""

import base64
import html.parser
import http.cookies
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


def send(url, form=None, bearer=None, basic=None, ca_file=None, limit=60, cookies=None, origin=None):
    """Sends a POST request with the form, or a GET request without one. `cookies` maps the names of one server's
    cookies to their values. The function sends them, and adds the cookies of the response."""
    body = None if form is None else urllib.parse.urlencode(form).encode()
    request = urllib.request.Request(url, data=body)
    if bearer:
        request.add_header("Authorization", f"Bearer {bearer}")
    if basic:
        request.add_header("Authorization", "Basic " + base64.b64encode(":".join(basic).encode()).decode())
    if cookies:
        request.add_header("Cookie", "; ".join(f"{name}={value}" for name, value in cookies.items()))
    if origin:
        request.add_header("Referer", origin + "/")
    handlers = [urllib.request.ProxyHandler({}), _Stay()]
    if ca_file:
        handlers.append(urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=ca_file)))
    try:
        with urllib.request.build_opener(*handlers).open(request, timeout=limit) as response:
            answer = Answer(response.status, response.headers, response.read().decode("utf-8", "replace"))
    except urllib.error.HTTPError as error:
        answer = Answer(error.code, error.headers, error.read().decode("utf-8", "replace"))
    if cookies is not None:
        for field in answer.fields.get_all("Set-Cookie", []):
            cookies.update((name, morsel.value) for name, morsel in http.cookies.SimpleCookie(field).items())
    return answer


class Form:
    """A form of a page. `fields` has the names and values of its hidden fields and selected radio buttons. `names` has
    the names of the fields that the user fills in. `buttons` has the names and values of its submit buttons."""

    def __init__(self, attributes):
        self.action, self.is_post = attributes.get("action") or "", (attributes.get("method") or "").lower() == "post"
        self.fields, self.names, self.buttons = [], [], []


class _Forms(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.forms = []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "form":
            self.forms.append(Form(attributes))
        elif tag in ("input", "button") and self.forms:
            form, pair = self.forms[-1], (attributes.get("name") or "", attributes.get("value") or "")
            kind = attributes.get("type", "text" if tag == "input" else "submit")
            if kind == "submit":
                form.buttons.append(pair)
            elif kind == "hidden" or kind == "radio" and "checked" in attributes:
                form.fields.append(pair)
            elif kind != "radio":
                form.names.append(pair[0])


def forms(page):
    """Returns the forms of a page."""
    reader = _Forms()
    reader.feed(page.body)
    return reader.forms


def decide(url, decision="approve", person=None):
    """Opens the URL of a sign-in at the local provider, and submits the decision if the provider shows a page. Returns
    the URL of the redirect."""
    page = send(url)
    if page.status in (302, 303):
        return page.fields["Location"]
    found = forms(page)
    if not found:
        raise ValueError(f"no form on the sign-in page: {page}")
    fields = found[0].fields + ([("upn", person)] if person else []) + [("decision", decision)]
    answer = send(urllib.parse.urljoin(url, found[0].action), form=fields)
    if answer.status not in (302, 303):
        raise ValueError(f"no redirect after the sign-in page: {answer}")
    return answer.fields["Location"]


class Browser:
    """A browser with cookies, whose user fills in the forms of one server. `entries` maps the names of fields to the
    values that the user enters. `buttons` has the submit buttons that the user presses, the preferred button first, as
    pairs of name and value. A button without a name has an empty name."""

    def __init__(self, entries=(), buttons=()):
        self.entries, self.buttons = dict(entries), list(buttons)
        self.cookies = {}
        self.seen = []

    def visit(self, url, back):
        """Loads the URL, and follows redirects and submits forms until a redirect to a URL that begins with `back`.
        Returns this URL, or None if no form matches or after 12 responses. `seen` has the responses."""
        self.seen, form, origin = [], None, None
        for _ in range(12):
            page = send(url, form=form, cookies=self.cookies, origin=origin)
            self.seen.append(page)
            origin = "{0.scheme}://{0.netloc}".format(urllib.parse.urlsplit(url))
            if page.status in (301, 302, 303, 307):
                url, form = urllib.parse.urljoin(url, page.fields["Location"]), None
                if url.startswith(back):
                    return url
                continue
            chosen = self._choose(forms(page))
            if not chosen:
                return None
            url, form = urllib.parse.urljoin(url, chosen[0]), chosen[1]
        return None

    def _choose(self, found):
        """Returns the action and the fields of the POST form to submit: the form with a button that the user presses,
        or the first form with a field that the user fills in. Returns None if there is no such form."""
        posts = [form for form in found if form.is_post]
        for button in self.buttons:
            for form in posts:
                if button in form.buttons:
                    return form.action, form.fields + self._filled(form) + ([button] if button[0] else [])
        return next(((form.action, form.fields + self._filled(form)) for form in posts if self._filled(form)), None)

    def _filled(self, form):
        return [(name, self.entries[name]) for name in form.names if name in self.entries]
