import LodgePlatform
import HTTPExchange
import JOSE
import OAuth2Protocol
import StrictJSON

/// The results of an import, for each account of the file.
public struct ImportReport: Sendable {
    /// The result for one account.
    public enum Outcome: Sendable, Equatable {
        /// The account is new.
        case added(Account)
        /// The store had the account, which now has the tokens of the file.
        case updated(Account)
        /// The store had the account with these tokens, or with newer ones.
        case unchanged(Account)
        /// The account was not imported, for this reason.
        case left(reason: String)
    }

    /// One account of the file.
    public struct Item: Sendable, Equatable {
        /// The location in the file.
        public var location: String
        /// The name of the account, if the file has one. It comes from the file: escape control characters before you
        /// show it.
        public var name: String?
        /// The result of the import.
        public var outcome: Outcome
    }

    /// The accounts, in the order of the file.
    public internal(set) var items: [Item] = []

    /// The number of accounts of the file that are in the store now: added, updated or unchanged.
    public var count: Int { items.count { if case .left = $0.outcome { false } else { true } } }
}
