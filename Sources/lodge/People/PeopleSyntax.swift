import CommandLineKit

/// `search`
let searchSpec = CommandSpec(
    "search", "Find people.",
    discussion: """
        TEXT is the beginning of the given name. Several conditions must all hold; with --any one is enough. --search looks for \
        words of the display name instead. --all without a condition lists everybody; --count --limit 0 prints the number of people \
        and nobody. The request is an advanced one only where it has to be; --explain says why.
        """,
    examples: [
        "lodge search ada", "lodge search --surname O\\'Brien --output json",
        "lodge search --department Sales --fields mail,manager.displayName",
        "lodge search --all --output jsonl", "lodge search --department Sales --count --limit 0",
    ],
    arguments: [ArgumentSpec("TEXT", "beginning of the given name", optional: true, variadic: true)],
    options: [
        .value("given-name", "TEXT", "given name begins with"),
        .value("surname", "TEXT", "surname begins with"),
        .value("name", "TEXT", "display name begins with"),
        .value("mail", "TEXT", "mail address begins with"),
        .value("upn", "TEXT", "user principal name begins with"),
        .value("department", "TEXT", "department begins with"),
        .value("job-title", "TEXT", "job title begins with"),
        .value("office", "TEXT", "office begins with"),
        .flag("any", "one condition is enough"),
        .value("filter", "FILTER", "an OData filter, as it is"),
        .value(
            "search", "WORDS", "words of the display name, PROPERTY:TEXT, or a search in Graph's words"),
        .value("order", "FIELD", "sort by a field, FIELD:desc from the end", repeated: true),
        .flag("count", "say how many there are in all; with --limit 0 the number alone"),
        .value(
            "fields", "A,B", "fields to show, by Graph's names; manager.displayName for the manager's",
            completion: .field),
        .value("limit", "N", "at most this many people (100), 0 only with --count", is: .integer(0...10_000_000)),
        .flag("all", "everybody who is found, without a condition everybody there is"),
        .value("page-size", "N", "people a request (1 to 999)", is: .integer(1...999)),
        .flag("offline", "search the copy that sync keeps"),
        .flag("explain", "print the request and send nothing"),
    ], formats: OutputFormat.allCases)

/// `show`
let showSpec = CommandSpec(
    "show", "Show one person.",
    discussion: "What there is not, and what may not be seen, are told apart.",
    examples: ["lodge show ada@contoso.com", "lodge show ada@contoso.com --manager --groups --photo ada.jpg"],
    arguments: [ArgumentSpec("USER", "identifier, user principal name or mail address")],
    options: [
        .flag("manager", "show the manager too"),
        .flag("chain", "show the managers up to the top too"),
        .flag("reports", "show who reports to the person too"),
        .flag("groups", "show the groups and roles of the person too"),
        .value("photo", "FILE", "write the photo to this file", completion: .file),
        .value("fields", "A,B", "fields to show, by Graph's names", completion: .field),
        .flag("offline", "look into the copy that sync keeps"),
    ], formats: OutputFormat.allCases)

/// `lookup`
let lookupSpec = CommandSpec(
    "lookup", "Look many people up, one a line.",
    discussion: """
        A line is an identifier, a user principal name or a mail address. Without FILE they are read from standard input, as they come: \
        there may be any number of them. The answers come in the order of the names. Names that nobody has are \
        told on standard error, and the exit status is then 3.
        """,
    examples: ["lodge lookup names.txt --output csv", "cut -d, -f2 list.csv | lodge lookup --output jsonl"],
    arguments: [ArgumentSpec("FILE", "file with the names", optional: true, completion: .file)],
    options: [.value("fields", "A,B", "fields to show, by Graph's names", completion: .field)],
    formats: OutputFormat.allCases)
