import CommandLineKit

/// Where the command line said that accounts and settings are. What a hint has the person type next is about these places: without them
/// it would be about others, and a key would be moved that nobody meant.
struct TypedPlaces: Sendable {
    /// The store of `--store`; nil where it is found without.
    var store: String?
    /// The file of `--settings`; nil where it is found without.
    var settings: String?

    /// Those that need none of the places.
    private static let without = ["help", "completion", "demo", "serve"]
    private static let program = "lodge "

    /// A hint with the places behind the words of each command in it.
    func named(in hint: String) -> String {
        guard store != nil || settings != nil else { return hint }
        var rest = hint[...]
        var result = ""
        while let start = rest.firstRange(of: Self.program) {
            result += rest[..<start.upperBound]
            let isWord = start.lowerBound == rest.startIndex || !rest[..<start.lowerBound].hasSuffix("-")
            rest = rest[start.upperBound...]
            guard isWord, let end = endOfCommand(rest) else { continue }
            let isAboutSettings = rest.hasPrefix("providers")
            result += rest[..<end]
            if let store, !isAboutSettings { result += " --store=" + Self.quoted(store) }
            if let settings { result += " --settings=" + Self.quoted(settings) }
            rest = rest[end...]
        }
        return result + rest
    }

    /// Where the words of the command end that a text begins with; nil where that is no command, or needs no place.
    private func endOfCommand(_ text: Substring) -> Substring.Index? {
        var end: Substring.Index?
        var command = commandSyntax.root
        var rest = text
        while true {
            let word = rest.prefix { ("a"..."z").contains($0) || $0 == "-" }
            guard let next = command.subcommand(String(word)), end != nil || !Self.without.contains(next.name) else {
                return end
            }
            command = next
            end = word.endIndex
            rest = rest[word.endIndex...]
            guard rest.first == " " else { return end }
            rest = rest.dropFirst()
        }
    }

    /// A path as one word of a shell.
    private static func quoted(_ path: String) -> String {
        let isPlain =
            !path.isEmpty
            && path.utf8.allSatisfy { byte in
                (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7A || byte >= 0x30 && byte <= 0x39
                    || "/._-+@%".utf8.contains(byte)
            }
        return isPlain ? path : "'" + path.replacing("'", with: "'\\''") + "'"
    }
}

extension Invocation {
    /// The places that were typed. What the environment names holds for the next command too.
    var typedPlaces: TypedPlaces {
        func typed(_ option: Option<String?>) -> String? { source(of: option) == .option ? self[option] : nil }
        return TypedPlaces(store: typed(GlobalOptions.store), settings: typed(GlobalOptions.settings))
    }
}
