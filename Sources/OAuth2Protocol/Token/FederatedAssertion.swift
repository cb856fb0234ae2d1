import JOSE
import LodgePlatform

/// A JWT of another issuer that authenticates the client. Only the provider verifies its signature.
///
/// [RFC 7523 section 3](https://www.rfc-editor.org/rfc/rfc7523#section-3)
package struct FederatedAssertion: Sendable {
    /// The JWT.
    package let token: Secret
    /// The values that the provider compares with the registration, exactly and with their case.
    package let issuer: String?
    package let subject: String?
    package let audiences: [String]
    /// The expiry in seconds since 1970.
    package let expiry: Double?

    /// The reason why bytes are not an assertion. It never contains them.
    package enum Problem: Error, Equatable, CustomStringConvertible {
        case empty
        case controlCharacters
        case notJWT
        case audience(found: [String], expected: String)

        /// The content of the source, as a phrase.
        package var description: String {
            switch self {
            case .empty: "nothing"
            case .controlCharacters: "control characters, spaces or other characters that no JWT has"
            case .notJWT: "text that is not a JWT"
            case .audience(let found, let expected):
                "a JWT for the audience \(found.isEmpty ? "of nobody" : found.map(quoted).joined(separator: ", ")), not "
                    + quoted(expected)
            }
        }

        /// How to solve the problem.
        package var hint: Hint? {
            if case .audience = self { return "request the audience that the application's federated credential has" }
            return nil
        }
    }

    /// Creates an assertion from the bytes of a source. White space around the JWT is ignored.
    ///
    /// - Parameter expected: The audience that the JWT must have, or `nil` for any.
    package init(_ bytes: [UInt8], audience expected: String? = nil) throws(Problem) {
        guard let text = Self.trimmed(bytes) else { throw .controlCharacters }
        guard !text.isEmpty else { throw .empty }
        guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { throw .controlCharacters }
        guard let jwt = try? JWT(parsing: text) else { throw .notJWT }
        let claims = jwt.unverifiedClaims
        token = Secret(text)
        issuer = (try? claims.issuer) ?? nil
        subject = (try? claims.subject) ?? nil
        audiences = ((try? claims.audience) ?? nil) ?? []
        expiry = (try? claims.expiration) ?? nil
        if let expected, !audiences.contains(where: { bytesEqual($0, expected) }) {
            throw .audience(found: audiences, expected: expected)
        }
    }

    /// Returns the text without white space around it, or `nil` if it is not UTF-8.
    package static func trimmed(_ bytes: [UInt8]) -> String? {
        let space: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D]
        guard let start = bytes.firstIndex(where: { !space.contains($0) }),
            let end = bytes.lastIndex(where: { !space.contains($0) })
        else { return "" }
        return String(validating: bytes[start...end], as: UTF8.self)
    }

    /// The maximum length of a program's message, in Unicode scalars.
    private static let maximumMessage = 200

    /// Returns the first line of a program's error output, without words that can be tokens.
    package static func message(_ bytes: [UInt8]) -> String {
        let text = String(decoding: bytes.prefix(4096), as: UTF8.self)
        let line = text.split(whereSeparator: \.isNewline).first ?? ""
        let words = line.split(separator: " ").map { word in
            // JWTs, keys and other tokens are long words without spaces.
            word.utf8.count >= 40 || word.hasPrefix("eyJ") ? Secret.mask : String(word)
        }
        return String(words.joined(separator: " ").prefix(maximumMessage)).visible
    }

    /// The values to compare with the registration, in one line.
    package var summary: String {
        "issuer \(issuer.map(quoted) ?? "missing"), subject \(subject.map(quoted) ?? "missing"), "
            + "audience \(audiences.isEmpty ? "missing" : audiences.map(quoted).joined(separator: ", "))"
    }

    /// Returns how long the assertion is valid, as a phrase.
    ///
    /// - Parameter now: Seconds since 1970.
    package func validity(at now: Double) -> String {
        guard let expiry else { return "without an expiry" }
        guard expiry > now else { return "expired" }
        return "valid for \(Int(min(expiry - now, 1e9) / 60)) min"
    }
}

extension FederatedAssertion: Redacted {
    /// The issuer, the subject and the audiences.
    package var description: String { summary }
}
