// Changes to the directory by the program that runs the provider. Delta queries return them.
extension LoopbackProvider {
    /// Returns the user with this identifier or user principal name, ignoring case, or `nil`.
    public func user(_ key: String) -> StoredUser? {
        core.state.withLock { state in state.directory.index(of: key).map { state.directory[$0] } }
    }

    /// Adds a user.
    ///
    /// - Returns: Whether the identifier and the user principal name were free.
    @discardableResult
    public func addUser(_ user: StoredUser) -> Bool {
        core.state.withLock { $0.directory.add(user) != nil }
    }

    /// Changes the user with this identifier or user principal name.
    ///
    /// - Returns: Whether the user exists and the new user principal name is free.
    @discardableResult
    public func updateUser(_ key: String, _ change: (inout StoredUser) -> Void) -> Bool {
        updateUser(key) { user, _, _ in
            change(&user)
            return true
        }
    }

    /// Sets or removes the manager of a user.
    ///
    /// - Returns: Whether both users exist.
    @discardableResult
    package func setManager(_ manager: String?, of key: String) -> Bool {
        updateUser(key) { user, index, directory in
            user.manager = manager.flatMap { directory.index(of: $0) }
            return manager == nil || user.manager != nil && user.manager != index
        }
    }

    /// Changes a user if the function returns `true`.
    private func updateUser(
        _ key: String, _ change: (inout StoredUser, _ index: Int, DirectoryContents) -> Bool
    ) -> Bool {
        core.state.withLock { state in
            guard let index = state.directory.index(of: key) else { return false }
            var user = state.directory[index]
            return change(&user, index, state.directory) && state.directory.change(index, to: user)
        }
    }

    /// Deletes the user with this identifier or user principal name.
    ///
    /// - Parameter permanently: Whether the user cannot be restored. Otherwise this is possible for 30 days.
    /// - Returns: Whether the user existed.
    @discardableResult
    public func deleteUser(_ key: String, permanently: Bool = false) -> Bool {
        let now = core.now
        return core.state.withLock { state in
            let index = state.directory.index(of: key) ?? state.directory.restorable(id: key, now: now)
            guard let index else { return false }
            state.directory.remove(index, isPermanent: permanently, now: now)
            return true
        }
    }

    /// Restores a user deleted in the last 30 days.
    ///
    /// - Returns: Whether the deleted user exists and the user principal name is still free.
    @discardableResult
    package func restoreUser(id: String) -> Bool {
        let now = core.now
        return core.state.withLock { state in
            guard let index = state.directory.restorable(id: id, now: now) else { return false }
            return state.directory.restore(index, now: now)
        }
    }

    /// Invalidates all page tokens: the service responds with `Directory_ExpiredPageToken`.
    package func expirePageTokens() { core.state.withLock { $0.generation += 1 } }

    /// Invalidates all delta tokens: the service responds with 410, and clients need a full synchronization.
    package func expireDeltaTokens() { core.state.withLock { $0.directory.forgetChanges() } }
}
