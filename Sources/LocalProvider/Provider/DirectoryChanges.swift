// Changes of the directory by whoever runs the provider. Delta queries tell of them.
extension LoopbackProvider {
    /// The person with this identifier or user principal name, whatever its case; nil when there is none.
    public func person(_ key: String) -> StoredUser? {
        core.state.withLock { state in state.directory.index(of: key).map { state.directory[$0] } }
    }

    /// Adds a person.
    ///
    /// - Returns: Whether that was possible: the identifier and the user principal name must be free.
    @discardableResult
    public func addPerson(_ person: StoredUser) -> Bool {
        core.state.withLock { $0.directory.add(person) != nil }
    }

    /// Changes the person with this identifier or user principal name.
    ///
    /// - Returns: Whether there is such a person and the new user principal name is free.
    @discardableResult
    public func changePerson(_ key: String, _ change: (inout StoredUser) -> Void) -> Bool {
        core.state.withLock { state in
            guard let index = state.directory.index(of: key) else { return false }
            var person = state.directory[index]
            change(&person)
            return state.directory.change(index, to: person)
        }
    }

    /// Makes one person the manager of another, or leaves them without one.
    ///
    /// - Returns: Whether both were found.
    @discardableResult
    public func setManager(_ manager: String?, of key: String) -> Bool {
        core.state.withLock { state in
            guard let index = state.directory.index(of: key) else { return false }
            var person = state.directory[index]
            if let manager {
                guard let place = state.directory.index(of: manager), place != index else { return false }
                person.manager = place
            } else {
                person.manager = nil
            }
            return state.directory.change(index, to: person)
        }
    }

    /// Deletes the person with this identifier or user principal name.
    ///
    /// - Parameter permanently: Whether the person can come back no more. Otherwise it can be restored for 30 days.
    /// - Returns: Whether there was such a person.
    @discardableResult
    public func deletePerson(_ key: String, permanently: Bool = false) -> Bool {
        let now = core.now
        return core.state.withLock { state in
            let index = state.directory.index(of: key) ?? state.directory.restorable(id: key, now: now)
            guard let index else { return false }
            state.directory.remove(index, isPermanent: permanently, now: now)
            return true
        }
    }

    /// Restores a person who was deleted in the last 30 days.
    ///
    /// - Returns: Whether there is one with this identifier, and the user principal name is still free.
    @discardableResult
    public func restorePerson(id: String) -> Bool {
        let now = core.now
        return core.state.withLock { state in
            guard let index = state.directory.restorable(id: id, now: now) else { return false }
            return state.directory.restore(index, now: now)
        }
    }

    /// Makes every page token of now expired: the service answers `Directory_ExpiredPageToken`.
    public func expirePageTokens() { core.state.withLock { $0.generation += 1 } }

    /// Makes every delta token of now too old: the service answers 410, and a full synchronisation is needed.
    public func expireDeltaTokens() { core.state.withLock { $0.directory.forgetChanges() } }
}
