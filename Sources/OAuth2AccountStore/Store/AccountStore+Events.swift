extension AccountStore {
    /// Returns a stream of all changes of the accounts from now on, including the changes that other processes make.
    ///
    /// The stream loses no event. It buffers unread events without a limit, so end the iteration if you no longer need
    /// them.
    public nonisolated func events() -> AsyncStream<AccountEvent> { publisher.broadcaster.stream() }
}

#if NotificationCenter
    extension AccountStore {
        /// The user info key of the account, an ``Account``.
        public static let accountKey = NotificationKey.account
        /// The user info key of the identifier of a removed account, an ``Account/ID``.
        public static let accountIDKey = NotificationKey.accountID
        /// The user info key of an added account, an ``Account``.
        public static let newAccountKey = NotificationKey.newAccount
        /// The user info key of the name of the account type, a `String`.
        public static let accountTypeKey = NotificationKey.accountType
        /// The user info key of the error, an `Error`.
        public static let errorKey = NotificationKey.error
    }
#endif
