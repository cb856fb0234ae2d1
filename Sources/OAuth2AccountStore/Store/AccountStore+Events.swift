extension AccountStore {
    /// Returns a stream of all changes of the accounts from now on, including those of other processes.
    ///
    /// The stream loses no event: it keeps unread events without a limit, so end it when you no longer read it.
    public nonisolated func events() -> AsyncStream<AccountEvent> { publisher.broadcaster.stream() }
}

#if NotificationCenter
    extension AccountStore {
        /// User info: the account concerned, an ``Account``.
        public static let accountKey = NotificationKey.account
        /// User info: the identifier of the account that was removed, an ``Account/ID``.
        public static let accountIDKey = NotificationKey.accountID
        /// User info: the account that was added, an ``Account``.
        public static let newAccountKey = NotificationKey.newAccount
        /// User info: the name of the account's type, a `String`.
        public static let accountTypeKey = NotificationKey.accountType
        /// User info: why it failed, an `Error`.
        public static let errorKey = NotificationKey.error
    }
#endif
