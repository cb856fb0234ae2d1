import LodgePlatform

/// An error of the offline copy itself.
///
/// Errors of the disk and other processes are a `StorageError`, errors of the service a ``DirectoryError``.
public struct OfflineIndexError: Error, Sendable, Equatable {
    /// The kind of an error. It decides the remedy.
    public enum Kind: Sendable, Equatable {
        /// The account has no copy.
        case missing
        /// The file is not an offline copy, or it is damaged.
        case damaged
        /// A later version of this program wrote the file.
        case laterVersion
        /// An earlier version of this program wrote the file.
        case earlierVersion
        /// The file belongs to another account.
        case anotherAccount
        /// Another process removed the copy during the sync. The sync wrote nothing after that.
        case forgotten
        /// The file belongs to another user of this machine.
        case ownedByAnotherUser
        /// The file cannot be created, for this reason.
        case notCreated(reason: String)
    }

    /// The kind of the error.
    public var kind: Kind
    /// The path of the file.
    public var path: String

    /// Creates an error.
    package init(_ kind: Kind, path: String) {
        self.kind = kind
        self.path = path
    }
}

extension OfflineIndexError: CustomStringConvertible {
    /// The error and the path in one line.
    public var description: String { "\(summary) (\(path.visible(limit: 500)))" }

    /// The error in one sentence without a full stop.
    package var summary: String {
        switch kind {
        case .missing: "this account has no offline copy"
        case .damaged: "the offline copy cannot be read"
        case .laterVersion: "the offline copy was written by a later version"
        case .earlierVersion: "the offline copy was written by an earlier version"
        case .anotherAccount: "the offline copy belongs to another account"
        case .forgotten: "another process removed the offline copy during the sync"
        case .ownedByAnotherUser: "the offline copy belongs to another user"
        case .notCreated(let reason): "the offline copy cannot be created: \(reason)"
        }
    }

    /// The remedy for the problem.
    public var remedy: DirectoryRemedy {
        switch kind {
        case .missing, .forgotten: .sync
        case .damaged, .laterVersion, .earlierVersion, .anotherAccount: .replaceCopy
        case .ownedByAnotherUser: .chooseOwnStore
        case .notCreated: .makeRoom
        }
    }
}

extension OfflineIndexError: LocalizedError {
    /// The failure in a sentence, for an alert.
    public var errorDescription: String? { "Cannot use the offline copy of the directory." }
    /// The reason in a sentence.
    public var failureReason: String? { description.sentence }
    /// The remedy in a sentence.
    public var recoverySuggestion: String? { remedy.description.sentence }
}
