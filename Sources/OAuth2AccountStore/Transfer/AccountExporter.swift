import OAuth2Protocol
import LodgePlatform
import SealedStorage
import StrictJSON

/// Exports accounts with their tokens as JSON.
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
        var object: JSONObject = ["id": .string(id.rawValue), "type": .string(type)]
        object.append(texts: [
            ("subject", subject), ("userName", userName), ("displayName", displayName), ("label", nickname),
            ("policy", policy), ("homeAccountId", homeAccountID),
        ])
        for member in policySignIn.exported.members { object.append(member.name, member.value) }
        object.append(created, as: "created")
        if let userData, let value = (try? JSONValue(parsing: userData))?.array?.first {
            object.append("userData", value)
        }
        if let others = policySignIns, !others.isEmpty {
            let members = others.sorted { $0.key < $1.key }.map { policy, signIn in
                JSONObject.Member(name: policy, value: .object(signIn.exported))
            }
            object.append("policies", .object(JSONObject(members)))
        }
        return object
    }
}

extension PolicySignIn {
    fileprivate var exported: JSONObject {
        var object: JSONObject = ["clientId": .string(clientID)]
        object.append(texts: [
            ("issuer", issuer), ("tokenOrigin", tokenOrigin), ("tokenType", tokens.type),
            ("accessToken", tokens.accessToken.value), ("refreshToken", tokens.refreshToken?.value),
            ("idToken", tokens.idToken?.value), ("additional", tokens.additional?.value),
            ("senderKey", senderKey?.value), ("grant", grant?.text),
        ])
        object.append("scope", .string(tokens.scope.text))
        object.append(tokens.received, as: "received")
        if let lifetime = tokens.lifetime { object.append("lifetime", .number(JSONNumber(Int64(lifetime)))) }
        return object
    }
}

extension JSONObject {
    fileprivate mutating func append(texts: [(name: String, text: String?)]) {
        for (name, text) in texts {
            if let text, !text.isEmpty { append(name, .string(text)) }
        }
    }

    fileprivate mutating func append(_ date: Date, as name: String) {
        if let number = JSONNumber(date.timeIntervalSince1970.rounded(.down)) { append(name, .number(number)) }
    }
}
