import OAuth2Protocol
import Platform
import SealedStorage
import StrictJSON

/// Writes accounts with their tokens as JSON text.
struct AccountExporter: Sendable {
    let repository: AccountRepository

    func export(_ ids: [Account.ID]?) async throws -> Secret {
        let selected = ids.map(Set.init)
        var found: [Account.ID] = []
        try await repository.reader.eachRecord(ofType: nil) { sealed in
            let id = Account.ID(rawValue: sealed.id)
            if selected?.contains(id) ?? true { found.append(id) }
        }
        var accounts: [JSONValue] = []
        for id in found {
            if let record = try await repository.read(id)?.record, record.serviceGrant == nil {
                accounts.append(.object(record.exported))
            }
        }
        let file: JSONValue = [
            "format": .string(AccountFile.exportFormat), "version": 1, "accounts": .array(accounts),
        ]
        return Secret(file.text(.indented) + "\n")
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
