import LodgePlatform

/// A kind of key location, with its word in the settings.
public enum KeyCustodyChoice: Sendable, Hashable {
    /// `key-file`: a file of mode 0600 in the folder of the records. This is the default.
    case keyFile
    /// `secret-service`: the desktop's keyring, over libsecret.
    case secretService
    /// `keychain`: the Keychain of Apple's systems.
    case keychain
    /// `passphrase`: in the storage of the records, encrypted with a key derived from a passphrase.
    case passphrase
    /// `fd` or `fd:3`: a file descriptor from the parent process.
    case descriptor(Int32?)

    private static let all: [KeyCustodyChoice] = [.keyFile, .secretService, .keychain, .passphrase, .descriptor(nil)]

    /// The words of the choices, in the order of messages.
    package static let words = all.map(\.word)

    /// Creates the choice for a word: one of ``words``, or `fd:` and a number.
    ///
    /// - Throws: ``KeyCustodyError`` with the nearest word.
    package init(_ text: String) throws(KeyCustodyError) {
        if let choice = Self.all.first(where: { $0.word == text }) {
            self = choice
            return
        }
        guard text.hasPrefix("fd:") else { throw Self.unknown(text) }
        guard let number = Int32(text.dropFirst(3)), (0...65_535).contains(number), number != 1, number != 2 else {
            throw KeyCustodyError(
                location: Self.subject,
                reason: "expected fd: and the number of a descriptor that can be read, found "
                    + text.prefix(40).debugDescription,
                hint: "write fd:3, and pass the key with 3< FILE")
        }
        self = .descriptor(number)
    }

    /// The subject of errors about a word.
    private static let subject = "the location of the key"

    private static let otherNames: [(name: String, word: String)] = {
        let keyring = Keychain.makeKey == nil ? "secret-service" : "keychain"
        return [
            ("keyring", keyring), ("libsecret", "secret-service"), ("gnome-keyring", "secret-service"),
            ("kwallet", "secret-service"), ("file", "key-file"), ("keyfile", "key-file"), ("password", "passphrase"),
        ]
    }()

    private static func unknown(_ text: String) -> KeyCustodyError {
        // Suggest the names that other programs use for these locations, too.
        let near = SpellingSuggestion.nearest(to: text, in: words + otherNames.map(\.name)).map { found -> Hint in
            "did you mean \(otherNames.first { $0.name == found }?.word ?? found)?"
        }
        return KeyCustodyError(
            location: subject,
            reason: "expected \(words.joined(separator: ", ")), found \(text.prefix(40).debugDescription)",
            hint: near ?? "write one of these words")
    }

    /// The word, without the number of a descriptor, which may differ each time.
    package var word: String {
        switch self {
        case .keyFile: "key-file"
        case .secretService: "secret-service"
        case .keychain: "keychain"
        case .passphrase: "passphrase"
        case .descriptor: "fd"
        }
    }

    /// The noun phrase for a sentence: "a key file".
    package var explanation: String {
        switch self {
        case .keyFile: "a key file"
        case .secretService: "the Secret Service (secret-service)"
        case .keychain: "the Keychain"
        case .passphrase: "a sealed copy that a passphrase opens"
        case .descriptor: "a descriptor of the program that starts it (fd)"
        }
    }
}

extension KeyCustodyChoice: CustomStringConvertible {
    /// The word, with the number of the descriptor.
    public var description: String {
        if case .descriptor(let number?) = self { return "fd:\(number)" }
        return word
    }
}
