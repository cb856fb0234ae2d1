import CommandLineKit
import LodgePlatform

/// A SASL mechanism that signs a user in to a mail server with an access token.
enum SASLMechanism: String, CaseIterable, Sendable {
    /// The mechanism of Google and Microsoft.
    case xoauth2
    /// The mechanism of RFC 7628 section 3.1.
    case oauthbearer

    /// Returns the initial client response in base64.
    ///
    /// - Parameter user: The user name at the mail server, without control characters.
    func initialResponse(user: String, token: Secret) -> String {
        let authorization = "\u{1}auth=Bearer \(token.value)\u{1}\u{1}"
        let response =
            switch self {
            case .xoauth2: "user=\(user)\(authorization)"
            case .oauthbearer: "n,a=\(Self.saslName(user)),\(authorization)"
            }
        return Data(response.utf8).base64EncodedString()
    }

    /// Returns the user name as a saslname. See RFC 5801 section 4.
    private static func saslName(_ user: String) -> String {
        user.replacing("=", with: "=3D").replacing(",", with: "=2C")
    }

    /// Throws for a user name that would end a field of the response.
    static func check(user: String) throws(CommandError) {
        guard !user.isEmpty, !user.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw CommandError(
                .usage, "cannot print a SASL response",
                reason: "expected a user name without control characters, found \(UsageError.quoted(user))",
                hint: "pass the mail address with --user")
        }
    }
}
