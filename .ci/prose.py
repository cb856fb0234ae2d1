#!/usr/bin/env python3
"""Finds wording that WRITING.md forbids in Swift, Markdown and Python files, and suggests standard terms.

usage: prose.py [--root DIR] [--user-visible] [--kind KIND[,KIND]] [--rule NAME] [--count] [--files N]
                [--max N] [--rules] [--commits [N]] [PATH...]

Kinds: string, test-string, doc (///), summary (of a function or initializer, if it does not start with a verb),
comment (// and #), test (test name), markdown, commit.
--root DIR       resolve paths relative to this folder (default: .)
--user-visible   check only strings in Sources and Examples, README.md and CHANGELOG.md
--kind KINDS     show only hits of these kinds
--rule NAME      show only hits of this rule
--count          print only counts; --files N lists the N files with the most hits (default: 20)
--max N          exit with status 1 if there are more than N hits; lower N with each change
--rules          list the rules with their suggestions
--commits [N]    check the subjects of the last N commits instead (default: 100): wording, at most 72 characters
"""
import argparse, collections, io, pathlib, re, signal, subprocess, sys, tokenize

RULES = [line.strip().split(" => ") for line in r"""
anew => \banew\b => again; from scratch; "reopen", "refetch", "redraw"
meanwhile => \bmeanwhile\b => say what happened: "another process removed the account"
whoever => \b[Ww]h(o|om|at|ich)ever\b|\bwhom\b => anyone who; any; "the user that …"; "if … fails"
of-own => \bof (one's|its|their|your|his|a \w+'s|\w+'s) own\b|\bone's\b => your; "its own X", "custom X", "separate X"
else => (?:^|[,;:(]\s?)\belse\b(?! \{)|(?:^|\. )Else\b => otherwise; or
told => \b(is|are|was|were|be|been|being) told\b(?! to)|\btell(s|ing)? (of|everybody|apart)\b|\btold (of|apart)\b => name the actor: "lodge reports", "posts an event", "distinguishes"
said => \b(is|are|was|were|be) said\b|\bsays? (so|nothing|more)\b => "lodge prints", "reports", "shows"
looked-at => \b(is|are|was|were|be|been) looked (at|for|up|into|through|after)\b => checks; searches for; looks up (active)
asked => \b(is|are|was|were|be|been) (not )?asked\b => "lodge requests", "queries", "prompts you"
passive => \b(is|are|was|were|be|been) (begun|meant|wanted|brought|got|had|handed|waited for|gone|done anyway|given (away|up|back)|searched for|understood|assumed)\b => active verb with its actor
kept => \b(is|are|was|were|be|been) kept\b => "lodge stores/saves/caches …"
left-as => \bas it (is|comes|came)\b|\b(it|one|so|that) stays\b|\bstays? (so|where|registered)\b|\buntouched\b|\bleft (as (it|they) (is|are|was|were)|alone|out)\b|\bleaves? (the )?\w+ alone\b => unchanged; not modified; omitted
nobody => \b[Nn]obody\b|\b[Nn]othing (is|was|says|accepted|came|has|had|can)\b => "no results"; "no account is signed in"; "no other process"
somebody => \b[Ss]omebody\b => someone; a user; another process (name it)
everybody => \b[Ee]verybody\b => all users; everyone; all callers
is-none => \b(is|are|was|were|has|have|had) none\b|\bnone is\b|\b(offers?|gives?|gave|names?|knows?) (no|none)\b => "does not support/return"; "not set", "there isn't one", "does not have one"
is-no => (?<![Tt]here )\b(is|are|was|were|be) no (?!longer\b|more\b|such\b|need\b|way\b)[a-z]+ => "is not a …"
what-is => \b[Ww]hat (is|are|was|were|came|comes|stands|follows|cannot|may|must|belongs|goes|went|there|somebody|remains)\b => name the thing: "the data that …", "the records that …"
who-is => (?:^|[.;:(,] ?|\b(?:of|to|from|by|for|says?|shows?|asks?|about|and) )[Ww]ho (?=[a-z]) => name the actor: "the user that …"
the-one => \bthe one (that|which|who|of|whose|with|signed|in)\b => repeat the noun: "the account that …"
that-of => \b(that|those) of\b|\bthose (that|which)\b => repeat the noun: "the port of …"
of-first => (?:^|\. )Of (?!course\b)\w+ => put the subject first
where-if => (?:^|[.;:(] ?)Where (?!to\b|is\b|are\b|the \w+ (?:is|are) (?:stored|kept)\b)|, where (?:one|that|it|there|they|none|no) |\bwhere (?:there|none|one|nothing) (?:is|are)\b => if; when
by-itself => \bby (itself|themselves|oneself)\b => automatically; on its own
stands => \bstands?\b(?= (twice|in|there|where|alone|outside|before|behind|on|at|here|below|between|beside)) => is; appears ("appears twice", "is in")
alone => \b(you|service|it|one|them|that|copy|number|option|file) alone\b => only
go-on => \bgo(es|ne|ing)? on\b => continues; resumes
goes-with => \b(go|goes) (with|without|by)\b|\bexclude each other\b => requires; "cannot be combined with"; uses
come-back => \bc[ao]mes? back\b => retry in N s; returns; redirects
good-for => \b(is|are|be|still|stays?|longer) good\b|\bgood (for|enough)\b => valid; "covers the scopes"
at-once => (?<!all )(?<!data )\bat once\b => immediately; in one request; together
beside => \bbesides?\b => next to; in addition to; as well as
further => \b[Ff]urther (?!reading|changes|than)\w+ => additional; other; more
also => \balso (where|when|with|of|by|in|without|for|if|to|one|those|from|after|on)\b => even if; including; "too" at the end
another-than => \banother (\w+ ){1,2}than\b => a different X from
hand => \bhand(s|ed|ing)? (over|on|it|them|the)\b => pass
make => \b(make|makes|made) (a|an|the|one|no|this|that)( new)? (key|file|store|account|copy|connection|list|folder|directory|record|sign-in|index|type)\b(?! (writable|private)) => create
hint-verb => (?:^|[;,:] |\bor |\bto )(name (a|an|one|another|it|its|the|them)|give (one|it|at least|them|the|--)(?! up)|see (that|what|whether|which))\b => specify, use --option, set KEY; pass, enter; check that
per => \b(one|people|users|name|value|bytes|requests|folder|file|entry|identifier|address) an? (line|request|page|library|second|time|module|user|target)\b|(?:^|\. )How often\b => one per line; "The number of times …"
in-words => \bin (\w+ )?words\b(?! passed)|\bwords for (people|persons?)\b|\b(own|Graph's|service's) words\b => human-readable; in X syntax; verbatim
leads => \bleads? (elsewhere|nowhere|to no|back|to this|outside)\b|\breads? along\b => points to; redirects to; intercepts TLS
odd => \bnot known\b|\bbegin (again|anew)\b|\bbegun\b|\bunder way\b|\blets? go of\b|\bspoken here\b|\bunawares\b|\bfor want of\b|\ball the same\b|\bin (an|the|its) account\'s name\b|\bbe had\b => unknown; try again; started; in progress; releases; supported; unnoticed; without; anyway; available
old-words => \bmend(s|ed|ing)?\b|\bsmall letters\b|\btakes? the place of\b|\btroubles?\b|\b[Ff]ormer\b|\bas (a |an )?[\w.]+ (has|have) (it|them)\b => fix; lowercase; replaces; error; previous; the way X does
text => \b(a|no|any|is) text(?! (file|editor|field|message|block|format|representation))\b|\btruth values?\b => string; Boolean
wish => \b[Ww]ish(es|ed)?\b|\b[Ff]low?n\b => request; options; outcome
custody => \b[Cc]ustody\b => key storage; key location
place => \b(another|this|a|no|its|which|new|other|own|same|old) places?\b => location; path; file; position
renew => \b[Rr]enew(s|ed|al|als|ing|able)?\b => refresh (RFC 6749); retry
answer => \b[Aa]nswer(s|ed|ing)?\b => response (HTTP, OAuth); result (query); output (command)
question => \b[Qq]uestions?\b => request; query; prompt
the-person => \b([Tt]he|a|no) person\b => the user (OIDC: end-user)
""".strip().splitlines()]
TERMS = {"wish", "custody", "place", "renew", "answer", "question", "the-person", "text", "make"}
COMPILED = [(name, re.compile(pattern), hint) for name, pattern, hint in RULES]
NO_PROSE = re.compile(r"^\W*(SELECT|INSERT|UPDATE|DELETE|CREATE|PRAGMA|ALTER|WITH|, noted)\b|<!?\w+[ >]|^\s*[{#]")
NEXT = re.compile(r'//|/\*|#*"|`[^`\n]* [^`\n]*`')
PLAIN = [re.compile(r'[^"\\]+'), re.compile(r"[^()]+")]
SUMMARY = re.compile(r"((?:^[ \t]*///.*\n)+)(?:[ \t]*@.*\n)*[ \t]*(?:[\w()@]+ )*?(func|init)\b", re.M)


def swift(text):
    """Yields (line, kind, text) for strings, comments, back-quoted names and incorrect summaries in Swift source."""
    i, line, end = 0, 1, len(text)
    while found := NEXT.search(text, i):
        line += text.count("\n", i, found.start())
        i = found.start()
        if match := re.compile(r"(//+)[^\n]*(?:\n[ \t]*\1(?!/)[^\n]*)*").match(text, i):
            yield line, "doc" if match[1] == "///" else "comment", re.sub(r"(?m)^[ \t]*//+ ?", "", match[0])
            stop = match.end()
        elif text.startswith("/*", i):
            stop = text.find("*/", i) % (end - 1) + 2
            yield line, "doc" if text.startswith("/**", i) else "comment", text[i:stop]
        elif match := re.compile(r'(#*)("""|")').match(text, i):
            quote, escape = match[2] + match[1], "\\" + match[1]
            stop, depth, out = match.end(), 0, []
            while stop < end and (depth or not text.startswith(quote, stop)):
                step = 1
                if plain := PLAIN[depth > 0].match(text, stop):
                    step = len(plain[0])
                    out.append("" if depth else plain[0])
                elif not depth and text.startswith(escape + "(", stop):
                    depth, step = 1, len(escape) + 1
                    out.append("X")
                elif depth:
                    depth += (text[stop] == "(") - (text[stop] == ")")
                elif text.startswith(escape, stop):
                    step = len(escape) + 1
                    out.append("" if text[stop + step - 1:stop + step] == "\n" else " ")
                else:
                    out.append(text[stop])
                stop += step
            yield line, "string", "".join(out)
            stop += len(quote)
        elif match := re.compile(r"`([^`\n]* [^`\n]*)`").match(text, i):
            yield line, "test", match[1]
            stop = match.end()
        else:
            stop = i + 1
        line += text.count("\n", i, stop)
        i = stop
    for match in SUMMARY.finditer(text):
        first = match[1].split("\n")[0].lstrip("/ \t")
        verb = r"(Creates|Initializes)\b" if match[2] == "init" else r"(?!This|Its|Whose)[A-Z][a-z]+s\b"
        if not re.match(verb, first):
            yield text.count("\n", 0, match.start(1)) + 1, "summary", first


def markdown(text):
    prose = re.sub(r"(?ms)^ *```.*?^ *```|^    [^\n]*|\(http[^)]*\)", lambda code: "\n" * code[0].count("\n"), text)
    for match in re.finditer(r"(?:[^\n]+\n?)+", prose):
        yield 1 + prose.count("\n", 0, match.start()), "markdown", match[0]


def python(text):
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING):
            kind = "comment" if token.type == tokenize.COMMENT else "string"
            yield token.start[0], kind, token.string.strip("rbfuRBFU'\"# ")


def hits(kind, text, length):
    """Yields (rule, match, hint, text). Skips code spans, SQL, HTML and single words."""
    if kind == "summary":
        yield "summary", None, "start with a verb: Returns, Creates, Saves …", text
    elif "string" not in kind or not NO_PROSE.search(text) and " " in text.strip():
        code = r"$^" if kind == "test" else r"`[^`]*`"
        flat = re.sub(code, lambda span: "X" * len(span[0]), text).replace("\n", " ")
        for name, pattern, hint in COMPILED:
            for match in pattern.finditer(flat):
                yield name, match, hint, text
    if kind == "commit" and length > 72:
        yield "long", None, f"{length} characters; at most 72", text


def pieces(options, root):
    if options.commits:
        log = ["git", "-C", str(root), "log", "--no-merges", f"-{options.commits}", "--format=%h %s"]
        for row in subprocess.run(log, capture_output=True, text=True, check=True).stdout.splitlines():
            commit, subject = row.split(" ", 1)
            yield commit, len(subject), "commit", subject
        return
    for given in options.paths or ["."]:
        for path in [root / given] if (root / given).is_file() else sorted((root / given).rglob("*")):
            relative = path.relative_to(root) if path.is_relative_to(root) else path
            reader = {".swift": swift, ".md": markdown, ".py": python}.get(path.suffix)
            if not reader or {".git", ".build", "Vectors"} & set(relative.parts):
                continue
            inner = bool({"Tests", "Benchmarks"} & set(relative.parts[:None if relative.is_absolute() else 1]))
            for line, kind, text in reader(path.read_text(errors="replace")):
                kind = "test-string" if kind == "string" and inner else kind
                if kind == "string" or relative.name in ("README.md", "CHANGELOG.md") or not options.user_visible:
                    yield str(relative), line, kind, text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for flag in ("--user-visible", "--count", "--rules"):
        parser.add_argument(flag, action="store_true")
    for name, default in (("--root", "."), ("--kind", ""), ("--rule", ""), ("--files", 20), ("--max", -1)):
        parser.add_argument(name, default=default, type=type(default))
    parser.add_argument("--commits", type=int, nargs="?", const=100)
    parser.add_argument("paths", nargs="*")
    options = parser.parse_args()
    if options.rules:
        return print("\n".join(f"{name:14} {hint}" for name, _, hint in COMPILED))
    kinds, files, rules, words = (collections.Counter() for _ in range(4))
    for path, line, kind, text in pieces(options, pathlib.Path(options.root).resolve()):
        if options.kind and kind not in options.kind.split(","):
            continue
        words[kind] += len(re.findall(r"[A-Za-z']+", text))
        for name, match, hint, shown in hits(kind, text, line):
            if options.rule and name != options.rule:
                continue
            for counter, key in ((kinds, kind), (files, path), (rules, name)):
                counter[key] += 1
            if not options.count:
                around = " ".join(shown[max(0, match.start() - 45):match.end() + 35].split()) if match else shown
                at = line + shown.count("\n", 0, match.start()) if match else line
                print(f"{path}:{at}: {kind}: [{name}] …{around}… => {hint}")
    total = sum(kinds.values())
    print(f"{total} hits, {sum(rules[name] for name in TERMS)} of them terms, in {len(files)} files")
    print("by kind: " + ", ".join(f"{kind} {n}" + f" ({1000 * n / max(1, words[kind]):.1f} per 1000 words)" * (kind != "summary")
                                  for kind, n in kinds.most_common()))
    print("by rule: " + ", ".join(f"{name} {n}" for name, n in rules.most_common()))
    print("".join(f"{n:5}  {path}\n" for path, n in files.most_common(options.files if options.count else 0)), end="")
    return int(0 <= options.max < total)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
