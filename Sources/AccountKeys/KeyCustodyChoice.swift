import Platform

/// The places where a store's key may be kept, by the words that people write.
public enum KeyCustodyChoice: Sendable, Hashable {
    /// `key-file`: a file of mode 0600 beside the records. What a store uses unless told otherwise.
    case keyFile
    /// `secret-service`: the desktop's keyring, over libsecret.
    case secretService
    /// `keychain`: the Keychain of Apple's systems.
    case keychain
    /// `passphrase`: beside the records, sealed with a key made of a passphrase.
    case passphrase
    /// `fd` or `fd:3`: handed over in a file descriptor by whoever starts the program.
    case descriptor(Int32?)

    /// The words, in the order in which they are told.
    public static let words = ["key-file", "secret-service", "keychain", "passphrase", "fd"]

    /// The choice that a word means: one of ``words``, or `fd:` and a number.
    ///
    /// - Throws: ``KeyCustodyError`` that names the nearest word.
    public init(_ text: String) throws(KeyCustodyError) {
        switch text {
        case "key-file": self = .keyFile
        case "secret-service": self = .secretService
        case "keychain": self = .keychain
        case "passphrase": self = .passphrase
        case "fd": self = .descriptor(nil)
        default:
            guard text.hasPrefix("fd:") else { throw Self.unknown(text) }
            guard let number = Int32(text.dropFirst(3)), (0...65_535).contains(number), number != 1, number != 2 else {
                throw KeyCustodyError(
                    location: Self.asked,
                    reason: "expected fd: and the number of a descriptor that can be read, found "
                        + text.prefix(40).debugDescription,
                    hint: "write fd:3, and hand the key over with 3< FILE")
            }
            self = .descriptor(number)
        }
    }

    private static let asked = "the custody of the key"

    private static let otherNames: [(name: String, word: String)] = {
        let keyring = Keychain.makeKey == nil ? "secret-service" : "keychain"
        return [
            ("keyring", keyring), ("libsecret", "secret-service"), ("gnome-keyring", "secret-service"),
            ("kwallet", "secret-service"), ("file", "key-file"), ("keyfile", "key-file"), ("password", "passphrase"),
        ]
    }()

    private static func unknown(_ text: String) -> KeyCustodyError {
        // What others call these places leads to their words too.
        let near = SpellingSuggestion.nearest(to: text, in: words + otherNames.map(\.name)).map { found -> Hint in
            "did you mean \(otherNames.first { $0.name == found }?.word ?? found)?"
        }
        return KeyCustodyError(
            location: asked,
            reason: "expected \(words.joined(separator: ", ")), found \(text.prefix(40).debugDescription)",
            hint: near ?? "write one of these words")
    }

    /// The word for it, without the number of a descriptor, which may be another one each time.
    public var word: String {
        switch self {
        case .keyFile: "key-file"
        case .secretService: "secret-service"
        case .keychain: "keychain"
        case .passphrase: "passphrase"
        case .descriptor: "fd"
        }
    }

    /// What it is, for a sentence: "a key file".
    package var explanation: String {
        switch self {
        case .keyFile: "a key file"
        case .secretService: "the Secret Service (secret-service)"
        case .keychain: "the Keychain"
        case .passphrase: "a sealed copy that a passphrase opens"
        case .descriptor: "the hands of whoever starts the program (fd)"
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
