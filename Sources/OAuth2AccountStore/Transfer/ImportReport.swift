import Platform
import HTTPExchange
import JOSE
import OAuth2Protocol
import StrictJSON

/// What an import did with each account of a file.
public struct ImportReport: Sendable {
    /// What became of an account.
    public enum Outcome: Sendable, Equatable {
        /// It is new.
        case added(Account)
        /// It was there and has the file's tokens now.
        case updated(Account)
        /// It was there with these tokens, or newer ones.
        case unchanged(Account)
        /// It was not taken, and why.
        case left(reason: String)
    }

    /// One account of the file.
    public struct Item: Sendable, Equatable {
        /// Where it stands in the file.
        public var location: String
        /// Its name, when the file has one. Text of the file: make control characters visible before showing it.
        public var name: String?
        /// What became of it.
        public var outcome: Outcome
    }

    /// The accounts, in the order of the file.
    public internal(set) var items: [Item] = []

    /// How many are in the store now that came from the file: added, updated or there before.
    public var count: Int { items.count { if case .left = $0.outcome { false } else { true } } }
}
