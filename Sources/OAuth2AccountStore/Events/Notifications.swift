// The only file that needs all of Foundation: NotificationCenter with names and user info is not in its essentials. A program that does not
// listen to it is a third of the size without, and starts sooner.
#if NotificationCenter
    import Foundation

    /// The notifications of a store, as NXOAuth2 had them. The object is always the ``AccountStore``.
    ///
    /// Each is posted after the change is saved, on no particular thread.
    extension Notification.Name {
        /// An account was added or removed. User info: ``AccountStore/newAccountKey`` for an added one, and
        /// ``AccountStore/accountTypeKey``.
        public static let accountStoreAccountsDidChange = Notification.Name(
            "OAuth2AccountStoreAccountsDidChangeNotification")
        /// A sign-in failed. User info: ``AccountStore/accountTypeKey``, ``AccountStore/errorKey``.
        public static let accountStoreDidFailToRequestAccess =
            Notification.Name("OAuth2AccountStoreDidFailToRequestAccessNotification")
        /// The app's own data of an account changed. User info: ``AccountStore/accountKey``.
        public static let accountDidChangeUserData = Notification.Name("OAuth2AccountDidChangeUserDataNotification")
        /// An account has new tokens. User info: ``AccountStore/accountKey``.
        public static let accountDidChangeAccessToken = Notification.Name(
            "OAuth2AccountDidChangeAccessTokenNotification")
        /// An account needs a sign-in. User info: ``AccountStore/accountKey``.
        public static let accountDidLoseAccessToken = Notification.Name("OAuth2AccountDidLoseAccessTokenNotification")
        /// A fresh access token could not be had. User info: ``AccountStore/accountKey``, ``AccountStore/errorKey``.
        public static let accountDidFailToGetAccessToken =
            Notification.Name("OAuth2AccountDidFailToGetAccessTokenNotification")
    }

    extension AccountStore {
        /// User info: the account concerned, an ``Account``.
        public static let accountKey = "account"
        /// User info: the account that was added, an ``Account``.
        public static let newAccountKey = "newAccount"
        /// User info: the name of the account's type, a `String`.
        public static let accountTypeKey = "accountType"
        /// User info: why it failed, an `Error`.
        public static let errorKey = "error"

        /// Posts an event to NotificationCenter under its classic name.
        nonisolated func notify(_ event: AccountEvent) {
            let (name, info): (Notification.Name, [String: Any]) =
                switch event {
                case .added(let account):
                    (.accountStoreAccountsDidChange, [Self.newAccountKey: account, Self.accountTypeKey: account.type])
                case .removed(_, let type): (.accountStoreAccountsDidChange, [Self.accountTypeKey: type])
                case .accessTokenChanged(let account): (.accountDidChangeAccessToken, [Self.accountKey: account])
                case .accessTokenLost(let account): (.accountDidLoseAccessToken, [Self.accountKey: account])
                case .userDataChanged(let account): (.accountDidChangeUserData, [Self.accountKey: account])
                case .profileChanged(let account):
                    (.accountStoreAccountsDidChange, [Self.accountKey: account, Self.accountTypeKey: account.type])
                case .signInFailed(let type, let error):
                    (.accountStoreDidFailToRequestAccess, [Self.accountTypeKey: type, Self.errorKey: error])
                case .accessTokenFailed(let account, let error):
                    (.accountDidFailToGetAccessToken, [Self.accountKey: account, Self.errorKey: error])
                case .manyChanges: (.accountStoreAccountsDidChange, [:])
                }
            NotificationCenter.default.post(name: name, object: self, userInfo: info)
        }
    }
#else
    extension AccountStore {
        /// Built without the trait NotificationCenter: ``events()`` tells.
        nonisolated func notify(_ event: AccountEvent) {}
    }
#endif
