import CommandLineKit
import LodgePlatform

/// The value of `search --search`.
enum SearchOption: Equatable {
    /// Words of the display name.
    case words
    /// The start of a property: `mail:ada`.
    case property(String, String)
    /// A search in Graph's syntax, with double quotes.
    case raw

    init(_ text: String) {
        self = .words
        if text.contains("\"") {
            self = .raw
        } else if let colon = text.firstIndex(of: ":") {
            let name = text[..<colon]
            let isName = !name.isEmpty && name.utf8.allSatisfy { (0x41...0x5A).contains($0 & 0xDF) }
            if isName { self = .property(String(name), String(text[text.index(after: colon)...])) }
        }
    }
}

/// A description of a search without results, and another search to try.
struct SearchDescription {
    private typealias Input = SearchCommand.Input

    /// The search text, possibly empty.
    private let text: String
    /// The conditions of options: the option, the name of the property, and the text.
    private let conditions: [(option: String, property: String, text: String)]
    private let search: String?
    private let filter: String?
    private let isAny: Bool
    private let isOffline: Bool

    @MainActor init(_ invocation: Invocation) {
        text = invocation[Input.text].joined(separator: " ")
        let options = [
            (Input.givenName, "a given name"), (Input.surname, "a surname"), (Input.name, "a display name"),
            (Input.mail, "a mail address"), (Input.upn, "a user principal name"), (Input.department, "a department"),
            (Input.jobTitle, "a job title"), (Input.office, "an office"),
        ]
        conditions = options.compactMap { option, property in
            invocation[option].map { (option.spec.name, property, $0) }
        }
        search = invocation[Input.search]
        filter = invocation[Input.filter]
        isAny = invocation[Input.any]
        isOffline = invocation[Input.offline]
    }

    /// Prints the sentence and the hint.
    @MainActor func note(in context: CommandContext) {
        context.console.note(sentence)
        if let hint { context.console.note("hint: " + context.text(hint)) }
    }

    /// `No user has a surname that starts with "zzz".`
    var sentence: String {
        var parts: [String] = []
        if !text.isEmpty {
            let words = text.split(whereSeparator: \.isWhitespace).count
            parts.append(
                "a name or address that starts with \(Self.quoted(text))"
                    + (words > 1 ? " or names and addresses that start with each of its words" : ""))
        }
        parts += conditions.map { "\($0.property) that starts with \(Self.quoted($0.text))" }
        let word = isAny ? " or " : " and "
        var predicates = parts.isEmpty ? [] : ["has " + parts.joined(separator: word)]
        if let filter { predicates.append("matches the filter \(filter.visible)") }
        var found = predicates.joined(separator: word)
        if let search { found += (found.isEmpty ? "" : " and ") + Self.predicate(search) }
        let user = isOffline ? "No user in the offline copy" : "No user"
        return found.isEmpty ? "The \(isOffline ? "offline copy" : "directory") has no users." : "\(user) \(found)."
    }

    private static func predicate(_ search: String) -> String {
        switch SearchOption(search) {
        case .words: "has a display name with words that start with \(quoted(search))"
        case .property(let name, let start): "has the property \(name) that starts with \(quoted(start))"
        case .raw: "matches the search \(search.visible)"
        }
    }

    private static func quoted(_ text: String) -> String { "\"\(TerminalText.truncated(text.visible, to: 100))\"" }

    /// Another search that may find users, or `nil`.
    var hint: Hint? {
        let count = conditions.count + (text.isEmpty ? 0 : 1) + (filter == nil ? 0 : 1)
        if isOffline { return "to search the directory, run: \(run: "search")\(arguments())" }
        if count > 1, !isAny {
            return "to find users who match at least one condition, run: \(run: "search")\(arguments(["--any"]))"
        }
        if !text.isEmpty, count == 1, search == nil {
            return "to search all words of the display name, run: \(run: "search") --search \(text.shellWord)"
        }
        let names = ["given-name", "surname", "name", "mail", "upn"]
        if count == 1, search == nil, let condition = conditions.first, names.contains(condition.option) {
            return "to search all names and addresses, run: \(run: "search") \(condition.text.shellWord)"
        }
        if count == 0, let search, SearchOption(search) == .words {
            return "to search the start of names and addresses, run: \(run: "search") \(search.shellWord)"
        }
        return nil
    }

    /// Returns the conditions of the command line, for a command that repeats them.
    private func arguments(_ additional: [String] = []) -> String {
        var words = text.isEmpty ? [] : [text.shellWord]
        words += conditions.map { "--\($0.option)=\($0.text.shellWord)" }
        if let filter { words.append("--filter=\(filter.shellWord)") }
        if let search { words.append("--search=\(search.shellWord)") }
        if isAny { words.append("--any") }
        return (words + additional).map { " " + $0 }.joined()
    }
}
