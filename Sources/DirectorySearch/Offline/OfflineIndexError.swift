/// Why the offline index gave no answer or was not written.
///
/// What the disk or another process is the reason of comes as a `StorageError`, what the service says as a ``DirectoryError``.
public struct OfflineIndexError: Error, Sendable, Equatable {
    /// What went wrong, and with it what can be done.
    public enum Kind: Sendable, Equatable {
        /// Nothing is kept for this account.
        case missing
        /// The file is no offline index, or it is damaged.
        case damaged
        /// The file was written by a later version of this program.
        case laterVersion
        /// The file is that of another account.
        case anotherAccount
        /// The index was forgotten while it was being written. Nothing was written after that.
        case forgotten
    }

    /// What went wrong.
    public var kind: Kind
    /// The path of the file.
    public var place: String

    /// A failure of this kind.
    public init(_ kind: Kind, place: String) {
        self.kind = kind
        self.place = place
    }
}

extension OfflineIndexError: CustomStringConvertible {
    /// What happened and where, in one line.
    public var description: String { "\(summary) (\(place.visible(limit: 500)))" }

    /// What happened, in one sentence without a full stop.
    public var summary: String {
        switch kind {
        case .missing: "nobody is kept offline for this account"
        case .damaged: "the offline copy cannot be read"
        case .laterVersion: "the offline copy was written by a later version"
        case .anotherAccount: "the offline copy is that of another account"
        case .forgotten: "the offline copy was forgotten while it was being made"
        }
    }

    /// What to do, in one sentence without a full stop.
    public var remedy: String {
        switch kind {
        case .missing, .forgotten: "make a copy with DirectorySync, or ask the service"
        case .damaged, .laterVersion, .anotherAccount: "forget the copy and make a new one: nothing is lost"
        }
    }
}
