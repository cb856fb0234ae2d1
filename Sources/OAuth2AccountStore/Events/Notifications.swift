// Only this file and one other need all of Foundation: FoundationEssentials does not have NotificationCenter. Without
// the trait, a program is a third of the size and starts faster.
#if NotificationCenter
    import Foundation
    import Synchronization

    /// The notifications of a store: one name for each event, with the meaning of NXOAuth2Client. The object is always
    /// the ``AccountStore``.
    ///
    /// The store posts them after it saves the change, on any thread.
    extension Notification.Name {
        /// Accounts were added or removed. Posted in addition to ``accountStoreDidAddAccount``,
        /// ``accountStoreDidRemoveAccount`` or ``accountStoreDidChangeManyAccounts``.
        ///
        /// User info, only for an added account and as in NXOAuth2Client: ``AccountStore/newAccountKey``,
        /// ``AccountStore/accountTypeKey``.
        public static let accountStoreAccountsDidChange = Notification.Name(
            "OAuth2AccountStoreAccountsDidChangeNotification")
        /// An account was added. User info: ``AccountStore/newAccountKey``, ``AccountStore/accountTypeKey``.
        public static let accountStoreDidAddAccount = Notification.Name("OAuth2AccountStoreDidAddAccountNotification")
        /// An account was removed. User info: ``AccountStore/accountIDKey``, ``AccountStore/accountTypeKey``.
        public static let accountStoreDidRemoveAccount = Notification.Name(
            "OAuth2AccountStoreDidRemoveAccountNotification")
        /// Another process made too many changes to list them: read the accounts again. No user info.
        public static let accountStoreDidChangeManyAccounts = Notification.Name(
            "OAuth2AccountStoreDidChangeManyAccountsNotification")
        /// A sign-in failed. User info: ``AccountStore/accountTypeKey``, ``AccountStore/errorKey``.
        public static let accountStoreDidFailToRequestAccess =
            Notification.Name("OAuth2AccountStoreDidFailToRequestAccessNotification")
        /// The app's own data of an account changed. User info: ``AccountStore/accountKey``.
        public static let accountDidChangeUserData = Notification.Name("OAuth2AccountDidChangeUserDataNotification")
        /// The user of an account signed in again, or the account was renamed. User info: ``AccountStore/accountKey``.
        public static let accountDidChangeProfile = Notification.Name("OAuth2AccountDidChangeProfileNotification")
        /// An account has new tokens. User info: ``AccountStore/accountKey``.
        public static let accountDidChangeAccessToken = Notification.Name(
            "OAuth2AccountDidChangeAccessTokenNotification")
        /// An account needs a sign-in. User info: ``AccountStore/accountKey``.
        public static let accountDidLoseAccessToken = Notification.Name("OAuth2AccountDidLoseAccessTokenNotification")
        /// The store could not get a valid access token.
        ///
        /// User info: ``AccountStore/accountKey``, ``AccountStore/errorKey``.
        public static let accountDidFailToGetAccessToken =
            Notification.Name("OAuth2AccountDidFailToGetAccessTokenNotification")
    }

    /// Posts events to NotificationCenter under the names of NXOAuth2Client.
    final class NotificationPoster: Sendable {
        private struct Sender { weak var object: (any AnyObject & Sendable)? }
        private let sender = Mutex(Sender())

        /// Sets the object of the notifications. Without an object, no notification is posted.
        func setObject(_ object: any AnyObject & Sendable) { sender.withLock { $0.object = object } }

        func post(_ event: AccountEvent) {
            guard let object = sender.withLock({ $0.object }) else { return }
            typealias Key = NotificationKey
            let (name, info): (Notification.Name, [String: Any]?) =
                switch event {
                case .added(let account):
                    (.accountStoreDidAddAccount, [Key.newAccount: account, Key.accountType: account.type])
                case .removed(let id, let type):
                    (.accountStoreDidRemoveAccount, [Key.accountID: id, Key.accountType: type])
                case .accessTokenChanged(let account): (.accountDidChangeAccessToken, [Key.account: account])
                case .accessTokenLost(let account): (.accountDidLoseAccessToken, [Key.account: account])
                case .userDataChanged(let account): (.accountDidChangeUserData, [Key.account: account])
                case .profileChanged(let account): (.accountDidChangeProfile, [Key.account: account])
                case .signInFailed(let type, let error):
                    (.accountStoreDidFailToRequestAccess, [Key.accountType: type, Key.error: error])
                case .accessTokenFailed(let account, let error):
                    (.accountDidFailToGetAccessToken, [Key.account: account, Key.error: error])
                case .manyChanges: (.accountStoreDidChangeManyAccounts, nil)
                }
            let center = NotificationCenter.default
            center.post(name: name, object: object, userInfo: info)
            // Observers of NXOAuth2Client check the user info for a new account.
            switch event {
            case .added: center.post(name: .accountStoreAccountsDidChange, object: object, userInfo: info)
            case .removed, .manyChanges:
                center.post(name: .accountStoreAccountsDidChange, object: object, userInfo: nil)
            default: break
            }
        }
    }
#else
    /// Does nothing without the trait NotificationCenter: only the stream of events reports changes.
    final class NotificationPoster: Sendable {
        func setObject(_ object: any AnyObject & Sendable) {}
        func post(_ event: AccountEvent) {}
    }
#endif

/// The keys of a notification's user info.
enum NotificationKey {
    static let account = "account"
    static let accountID = "accountID"
    static let newAccount = "newAccount"
    static let accountType = "accountType"
    static let error = "error"
}
