import CommandLineKit
import DirectorySearch
import OAuth2AccountStore
import StrictJSON

/// The claims of a user from the provider, for an account without a directory.
struct ClaimsRecord: UserRow {
    let claims: JSONObject

    init(_ claims: JSONObject) { self.claims = claims }

    /// The labels of common claims, in the order of the detail view (OpenID Connect Core 1.0 section 5.1).
    private static let labels = [
        ("name", "Name"), ("preferred_username", "User name"), ("email", "Mail"), ("phone_number", "Phone"),
        ("sub", "Subject"),
    ]

    var fields: [String]? { claims.members.map(\.name) }
    var cells: [String] { claims.members.map { Self.text($0.value) } }

    var detail: Detail {
        var detail = Detail()
        for (name, label) in Self.labels { detail.add(label, claims[name].map(Self.text)) }
        for member in claims.members where !Self.labels.contains(where: { $0.0 == member.name }) {
            detail.add(member.name, Self.text(member.value))
        }
        return detail
    }

    private static func text(_ value: JSONValue) -> String { value.string ?? (value.isNull ? "" : value.text()) }

    var json: JSONValue { .object(claims) }

    var vCard: VCard? {
        var user: JSONObject = [:]
        for (claim, property) in [
            ("sub", "id"), ("name", "displayName"), ("given_name", "givenName"), ("family_name", "surname"),
            ("email", "mail"), ("phone_number", "mobilePhone"),
        ] {
            if let text = claims.text(claim) { user.append(property, .string(text)) }
        }
        return VCard(User(json: user))
    }
}
