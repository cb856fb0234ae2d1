import LodgePlatform

/// A remedy for a problem with the key of a store.
package enum KeyRemedy: SuggestedAction {
    /// Move the key to another location.
    case moveKey(to: KeyCustodyChoice)
    /// Pass the number of the file descriptor with the key.
    case nameDescriptor
    /// Pass the path of the file with the passphrase.
    case namePassphraseFile

    /// The name of the action.
    package var description: String {
        switch self {
        case .moveKey(let choice): "move the key to \(choice.explanation)"
        case .nameDescriptor: "specify the descriptor, such as fd:3"
        case .namePassphraseFile: "specify a file that contains the passphrase"
        }
    }
}
