import Platform

/// An action that solves a problem of the key of a store.
public enum KeyRemedy: SuggestedAction {
    /// Move the key to another location.
    case moveKey(to: KeyCustodyChoice)
    /// Name the file descriptor that has the key.
    case nameDescriptor
    /// Name the file that has the passphrase.
    case namePassphraseFile

    /// The name of the action.
    public var description: String {
        switch self {
        case .moveKey(let choice): "move the key to \(choice.explanation)"
        case .nameDescriptor: "specify the descriptor, such as fd:3"
        case .namePassphraseFile: "specify a file that contains the passphrase"
        }
    }
}
