import LodgePlatform
import HTTPExchange
import LoopbackHTTP
import StrictJSON

/// The directory with the API of Google's Directory API, version 1, read-only.
struct GoogleEndpoint {
    let provider: ProviderState
    static let path = "/admin/directory/v1"

    private struct GoogleFailure: Error {
        var status: Int
        var reason: String
        var message: String

        static func invalid(_ message: String) -> GoogleFailure {
            GoogleFailure(status: 400, reason: "invalid", message: message)
        }
    }

    func response(to request: LoopbackRequest, _ note: inout RequestNote) -> LoopbackResponse {
        provider.listResponse(
            to: request, &note,
            error: { Self.error(GoogleFailure(status: $0, reason: Self.reason($0), message: $1)) },
            respond: {
                do throws(GoogleFailure) {
                    return .json(try users(request))
                } catch {
                    return Self.error(error)
                }
            })
    }

    private static func reason(_ status: Int) -> String {
        switch status {
        case 401: "authError"
        case 403: "forbidden"
        case 404: "notFound"
        case 429: "rateLimitExceeded"
        default: status >= 500 ? "backendError" : "badRequest"
        }
    }

    private static func error(_ failure: GoogleFailure) -> LoopbackResponse {
        .json(
            [
                "error": [
                    "code": .integer(failure.status), "message": .string(failure.message),
                    "errors": [
                        [
                            "message": .string(failure.message), "domain": "global", "reason": .string(failure.reason),
                        ]
                    ],
                ]
            ], status: failure.status)
    }

    private func users(_ request: LoopbackRequest) throws(GoogleFailure) -> JSONObject {
        guard let parts = request.segments(after: Self.path), parts.first == "users", parts.count <= 2 else {
            throw GoogleFailure(status: 404, reason: "notFound", message: "Not Found")
        }
        guard request.method == .get || request.method == .head else {
            throw GoogleFailure(status: 403, reason: "forbidden", message: "This directory is for reading only.")
        }
        let (contents, generation) = provider.state.withLock { ($0.directory, $0.generation) }
        if parts.count == 2 {
            guard let index = Self.position(parts[1], contents) else {
                throw GoogleFailure(status: 404, reason: "notFound", message: "Resource Not Found: userKey")
            }
            return Self.user(contents[index], index)
        }
        guard let fields = request.options else { throw .invalid("Invalid Input") }
        guard fields["customer"] == "my_customer" || fields["domain"] == "contoso.example" else {
            throw GoogleFailure(status: 400, reason: "badRequest", message: "Bad Request")
        }
        var filter: ODataFilter?
        if let text = fields["query"] {
            guard let read = GoogleQuery.filter(text) else { throw .invalid("Invalid Input: query") }
            filter = read
        }
        let limit = fields["maxResults"].map { Int($0) ?? 0 } ?? 100
        guard (1...500).contains(limit) else {
            throw .invalid("Invalid value '\(fields["maxResults"] ?? "")'. Values must be within the range: [1, 500]")
        }
        let descending = fields["sortOrder"]?.uppercased() == "DESCENDING"
        var order: [UserSelection.Order] = []
        if let name = fields["orderBy"] {
            let properties: [String: UserProperty] = [
                "email": .userPrincipalName, "givenName": .givenName, "familyName": .surname,
            ]
            guard let property = properties[name] else { throw .invalid("Invalid value for orderBy: \(name)") }
            order = [(property, descending)]
        }
        // A token belongs to its query.
        let identity = "google \(generation) \(fields["query"] ?? "") \(fields["orderBy"] ?? "") \(descending)"
        var position = UserSelection.Position()
        if let text = fields["pageToken"] {
            guard let token = PageToken(text, for: identity), token.kind == .page, token.numbers.count == 2 else {
                throw .invalid("Invalid Input: pageToken")
            }
            position = .init(sample: token.numbers[0], irregular: token.numbers[1])
        }
        let page = UserSelection(contents, filter: filter, search: nil)
            .page(from: position, count: limit, order: order)
        var object: JSONObject = ["kind": "admin#directory#users", "etag": "\"local\""]
        // Google omits an empty list.
        if !page.found.isEmpty {
            object.append("users", .array(page.found.map { .object(Self.user(contents[$0], $0)) }))
        }
        if let next = page.next {
            let token = PageToken(kind: .page, numbers: [next.sample, next.irregular])
            object.append("nextPageToken", .string(token.encoded(for: identity)))
        }
        return object
    }

    // MARK: One user

    private static let keyPrefix = "10000"

    /// Returns the position for an identifier, a primary address or another address.
    private static func position(_ key: String, _ contents: DirectoryContents) -> Int? {
        if key.utf8.count == 21, key.hasPrefix(keyPrefix), let index = Int(key.dropFirst(keyPrefix.utf8.count)) {
            return index >= 0 && index < contents.positions && contents.isPresent(index) ? index : nil
        }
        guard key.contains("@") else { return nil }
        return contents.index(signingInAs: key)
    }

    private static func user(_ user: StoredUser, _ index: Int) -> JSONObject {
        var name = JSONObject()
        name.append("givenName", text: user.givenName)
        name.append("familyName", text: user.surname)
        name.append("fullName", text: user.displayName)
        var object: JSONObject = [
            "kind": "admin#directory#user",
            "id": .string(keyPrefix + SampleUsers.padded(UInt64(index), to: 16)),
            "etag": .string("\"\(user.id.prefix(8))\""), "primaryEmail": .string(user.userPrincipalName),
            "name": .object(name), "isAdmin": false, "isDelegatedAdmin": false,
            "suspended": .bool(!user.accountEnabled), "archived": false, "customerId": "C0local00",
            "orgUnitPath": "/", "isMailboxSetup": .bool(user.mail != nil),
            "creationTime": .string(String(user.createdDateTime.dropLast()) + ".000Z"),
        ]
        var emails: [JSONValue] = [["address": .string(user.userPrincipalName), "primary": true]]
        if let mail = user.mail, mail != user.userPrincipalName {
            emails.append(["address": .string(mail), "type": "work"])
        }
        object.append("emails", .array(emails))
        var phones = user.businessPhones.map { JSONValue.object(["value": .string($0), "type": "work"]) }
        if let mobile = user.mobilePhone { phones.append(["value": .string(mobile), "type": "mobile"]) }
        if !phones.isEmpty { object.append("phones", .array(phones)) }
        var organization: JSONObject = ["primary": true]
        organization.append("name", text: user.companyName)
        organization.append("title", text: user.jobTitle)
        organization.append("department", text: user.department)
        object.append("organizations", [.object(organization)])
        return object
    }
}
