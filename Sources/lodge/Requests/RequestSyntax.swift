import CommandLineKit

let requestSpec = CommandSpec(
    "request", "Send a signed request to any API, and show the answer.",
    discussion: """
        The address is an https address of a host that the account type names (graphAPI, resourceHosts), or a path below its API, such \
        as /me. The token is renewed when it must be, and once more when the API refuses it. Content is one of --data, --json, --form \
        and --part; @FILE is the content of a file, @- that of standard input. With GET and HEAD the form joins the query. Redirects are \
        followed; the token stays with the origin. The exit status is 0 for 2xx, 4 for 401, 5 for 403, 3 for 404, 6 for 429, 502, 503 \
        and 504, 1 for other refusals; what the API says of them is shown. --output names a file here, and LODGE_OUTPUT=json makes \
        errors objects.
        """,
    examples: [
        "lodge request GET /me", "lodge request POST /users --json @person.json",
        "lodge request PUT https://api.example/photo --data @ada.jpg",
        "lodge request POST https://api.example/files --part file=@ada.pdf",
    ],
    arguments: [
        ArgumentSpec("METHOD", "GET, POST, PUT, PATCH, DELETE, HEAD or another"),
        ArgumentSpec("URL", "https address, or a path below the account type's API"),
    ],
    options: [
        .value(
            "header", "NAME: VALUE", "header field to send", repeated: true,
            environment: .named("LODGE_REQUEST_HEADER")),
        .value(
            "data", "TEXT", "content as it is, or @FILE, or @- for standard input", allowsEmpty: true,
            completion: .content, environment: .named("LODGE_REQUEST_DATA")),
        .value(
            "json", "JSON", "content as JSON, or @FILE, or @-", completion: .content,
            environment: .named("LODGE_REQUEST_JSON")),
        .value("form", "NAME=VALUE", "field of a form", repeated: true, environment: .named("LODGE_REQUEST_FORM")),
        .value(
            "part", "NAME=VALUE", "field of a form of several parts; NAME=@FILE;type=TYPE;filename=NAME for a file",
            repeated: true, completion: .part, environment: .named("LODGE_REQUEST_PART")),
        .value(
            "output", short: "o", "FILE", "write the content to this file", completion: .file,
            environment: .named("LODGE_REQUEST_OUTPUT")),
        .flag(
            "include", short: "i", "show the status and the header fields before the content",
            environment: .named("LODGE_REQUEST_INCLUDE")),
        .flag("no-account", "send it without a token", environment: .named("LODGE_REQUEST_NO_ACCOUNT")),
        .value(
            "scope", "SCOPE", "what the token must be good for", repeated: true,
            environment: .named("LODGE_REQUEST_SCOPE")),
    ], formats: OutputFormat.ofSentences)
