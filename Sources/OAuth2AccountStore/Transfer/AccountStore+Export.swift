import Platform
import OAuth2Protocol
import StrictJSON

extension AccountStore {
    /// The accounts with their tokens as JSON text, readable by whoever has it: for moving to another machine. The result is read
    /// again by ``AccountFile``.
    ///
    /// Validated claims are not part of it: what comes back from a file is not validated. Neither are the client's own accounts,
    /// which get new tokens by themselves.
    ///
    /// - Parameter ids: the accounts; nil: all of them.
    /// - Throws: ``AccountStoreError``, also when a record is damaged: a copy that lacks an account must not look whole.
    public func export(_ ids: [Account.ID]? = nil) async throws -> Secret {
        try await failing("cannot export the accounts") {
            let wanted = ids.map(Set.init)
            var found: [Account.ID] = []
            try await eachRecord(ofType: nil) { sealed in
                let id = Account.ID(rawValue: sealed.id)
                if wanted?.contains(id) ?? true { found.append(id) }
            }
            var accounts: [JSONValue] = []
            for id in found {
                if let record = try await read(id)?.record, record.renewal == nil {
                    accounts.append(.object(record.exported))
                }
            }
            let file: JSONValue = [
                "format": .string(AccountFile.exportFormat), "version": 1, "accounts": .array(accounts),
            ]
            return Secret(file.text(.indented) + "\n")
        }
    }

    /// Gives an account a name of one's own, by which it is shown and found; nil or an empty name takes it away.
    ///
    /// - Parameter name: at most 200 bytes, without control characters.
    /// - Throws: ``AccountStoreError``: `settings` when another account of the store has this name, or it is not one.
    public func rename(_ id: Account.ID, to name: String?) async throws -> Account {
        try await failing("cannot rename the account") {
            let name = name.flatMap { $0.isEmpty ? nil : $0 }
            if let name {
                func refused(_ reason: String) -> AccountStoreError {
                    AccountStoreError(
                        .settings, what: "cannot rename the account", reason: reason, remedy: .nothing,
                        hint: "choose another name")
                }
                let isVisible = name.unicodeScalars.allSatisfy {
                    ![.control, .format, .lineSeparator, .paragraphSeparator].contains($0.properties.generalCategory)
                }
                guard name.utf8.count <= 200, isVisible else {
                    throw refused("expected a name of at most 200 bytes, without control characters")
                }
                let taken = try await accounts().contains { other in
                    let names = [other.nickname, other.userName, other.id.rawValue]
                    return other.id != id && names.contains { $0?.lowercased() == name.lowercased() }
                }
                guard !taken else { throw refused("another account has this name") }
            }
            guard let saved = try await update(id, .profile, { $0.nickname = name }) else { throw unknown(id) }
            return Account(record: saved.record, position: saved.position)
        }
    }
}

extension AccountRecord {
    fileprivate var exported: JSONObject {
        var object: JSONObject = ["id": .string(id.rawValue), "type": .string(type), "clientId": .string(clientID)]
        let texts = [
            ("issuer", issuer), ("subject", subject), ("userName", userName), ("displayName", displayName),
            ("label", nickname), ("tokenOrigin", tokenOrigin), ("tokenType", tokens.type),
            ("accessToken", tokens.accessToken.value), ("refreshToken", tokens.refreshToken?.value),
            ("idToken", tokens.idToken?.value), ("additional", tokens.additional?.value),
            ("senderKey", senderKey?.value), ("policy", policy), ("homeAccountId", homeAccountID),
            ("grant", grant?.text),
        ]
        for (name, text) in texts {
            if let text, !text.isEmpty { object.append(name, .string(text)) }
        }
        object.append("scope", .string(tokens.scope.text))
        for (name, date) in [("received", tokens.received), ("created", created)] {
            if let number = JSONNumber(date.timeIntervalSince1970.rounded(.down)) {
                object.append(name, .number(number))
            }
        }
        if let lifetime = tokens.lifetime { object.append("lifetime", .number(JSONNumber(Int64(lifetime)))) }
        if let userData, let value = (try? JSONValue(parsing: userData))?.array?.first {
            object.append("userData", value)
        }
        return object
    }
}
