public import Platform
public import HTTPExchange

/// Plays the person and the browser at a ``LoopbackProvider``: opens the sign-in page, fills in the form, and follows the
/// redirect to the application.
///
/// For demonstrations and tests. It goes to loopback addresses only.
public struct Approval: Sendable {
    /// The user principal name or mail address to sign in with; nil takes the person that the page proposes.
    public var userPrincipalName: String?

    /// Signs in as this person, or as the one that the page proposes.
    public init(as userPrincipalName: String? = nil) { self.userPrincipalName = userPrincipalName }

    /// Approves the request of this authorization URL and gives what the application's redirect page answered.
    ///
    /// - Throws: ``ApprovalError`` when the provider shows no form or sends the browser away from this machine, and what
    ///   the transport throws.
    @discardableResult
    public func approve(_ authorizationURL: URL, transport: any HTTPTransport) async throws -> HTTPResponse {
        try await decide("approve", authorizationURL, transport)
    }

    /// Denies the request of this authorization URL and gives what the application's redirect page answered.
    ///
    /// - Throws: As ``approve(_:transport:)``.
    @discardableResult
    public func deny(_ authorizationURL: URL, transport: any HTTPTransport) async throws -> HTTPResponse {
        try await decide("deny", authorizationURL, transport)
    }

    /// Approves and gives where the provider sends the browser, without going there: for an application whose redirect
    /// address nobody listens at.
    ///
    /// - Throws: As ``approve(_:transport:)``.
    public func redirect(approving authorizationURL: URL, transport: any HTTPTransport) async throws -> URL {
        try await destination("approve", authorizationURL, transport)
    }

    /// Approves the device of this verification URL, one that has the user code in it (RFC 8628 section 3.3.1).
    ///
    /// - Throws: ``ApprovalError`` when the provider shows no form or no device waits with the code, and what the
    ///   transport throws.
    public func approveDevice(_ verificationURLComplete: URL, transport: any HTTPTransport) async throws {
        try await decideDevice("approve", verificationURLComplete, transport)
    }

    /// Denies the device of this verification URL, one that has the user code in it.
    ///
    /// - Throws: As ``approveDevice(_:transport:)``.
    public func denyDevice(_ verificationURLComplete: URL, transport: any HTTPTransport) async throws {
        try await decideDevice("deny", verificationURLComplete, transport)
    }

    private func decideDevice(_ decision: String, _ url: URL, _ transport: any HTTPTransport) async throws {
        let (_, answer) = try await submit(decision, url, transport)
        let alert = SignInForm.alert(String(decoding: answer.body, as: UTF8.self))
        guard answer.status == 200, alert == nil else {
            throw ApprovalError(reason: "the provider answered \(answer.status)" + (alert.map { ": \($0)" } ?? ""))
        }
    }

    private func decide(
        _ decision: String, _ authorizationURL: URL, _ transport: any HTTPTransport
    ) async throws -> HTTPResponse {
        let destination = try await destination(decision, authorizationURL, transport)
        guard destination.isLoopback, destination.scheme == "http" else {
            throw ApprovalError(reason: "the redirect goes to \(destination.addressWithoutQuery), not to this machine")
        }
        return try await transport.send(HTTPRequest(.get, destination))
    }

    /// Opens the page and sends its form; gives where the form went and the answer, or the answer to the page itself when
    /// that is a redirect already.
    private func submit(
        _ decision: String, _ authorizationURL: URL, _ transport: any HTTPTransport
    ) async throws -> (URL, HTTPResponse) {
        guard authorizationURL.isLoopback else {
            throw ApprovalError(reason: "the authorization URL is not on this machine")
        }
        let page = try await transport.send(HTTPRequest(.get, authorizationURL))
        if Self.location(page, from: authorizationURL) != nil { return (authorizationURL, page) }
        guard page.status == 200, let form = SignInForm(page: String(decoding: page.body, as: UTF8.self)),
            let action = URL(string: form.action, relativeTo: authorizationURL)?.absoluteURL, action.isLoopback
        else {
            throw ApprovalError(
                reason: "the provider answered \(page.status) without a sign-in form"
                    + (SignInForm.alert(String(decoding: page.body, as: UTF8.self)).map { ": \($0)" } ?? ""))
        }
        var fields = form.fields
        if let userPrincipalName { fields.set("upn", userPrincipalName) }
        fields.set("decision", decision)
        let post = HTTPRequest(
            .post, action, fields: ["Content-Type": "application/x-www-form-urlencoded"],
            body: Data(fields.encoded.utf8))
        return (action, try await transport.send(post))
    }

    private func destination(
        _ decision: String, _ authorizationURL: URL, _ transport: any HTTPTransport
    ) async throws -> URL {
        let (action, answer) = try await submit(decision, authorizationURL, transport)
        guard let location = Self.location(answer, from: action) else {
            throw ApprovalError(
                reason: "the provider answered \(answer.status) instead of a redirect"
                    + (SignInForm.alert(String(decoding: answer.body, as: UTF8.self)).map { ": \($0)" } ?? ""))
        }
        return location
    }

    private static func location(_ response: HTTPResponse, from url: URL) -> URL? {
        guard (300..<400).contains(response.status), let text = response.fields["Location"] else { return nil }
        return URL(string: text, relativeTo: url)?.absoluteURL
    }
}

/// Why an ``Approval`` did not come to the end.
public struct ApprovalError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What happened. It holds no code and no token.
    public let reason: String

    /// The reason.
    public var description: String { "no sign-in at the local provider: \(reason)" }
}

/// The form on the sign-in page, read as a browser would: the fields that are sent without anybody touching it.
struct SignInForm {
    var action = ""
    var fields = FormFields()

    init?(page: String) {
        var isInForm = false
        for tag in Self.tags(page) {
            switch tag.name {
            case "form":
                isInForm = true
                action = tag.attributes["action"] ?? ""
            case "input":
                guard isInForm, let name = tag.attributes["name"] else { continue }
                let type = tag.attributes["type"] ?? "text"
                if type == "hidden" || type == "text" || type == "radio" && tag.attributes["checked"] != nil {
                    fields.append(name, tag.attributes["value"] ?? "")
                }
            default: continue
            }
        }
        guard isInForm else { return nil }
    }

    /// The text of the page's alert.
    static func alert(_ page: String) -> String? {
        let pieces = page.split(separator: "<")
        guard let piece = pieces.first(where: { $0.contains("role=\"alert\"") }),
            let open = piece.firstIndex(of: ">")
        else { return nil }
        return unescaped(piece[piece.index(after: open)...])
    }

    private static func tags(_ page: String) -> [(name: String, attributes: [String: String])] {
        page.split(separator: "<").compactMap { piece in
            guard let end = piece.firstIndex(of: ">") else { return nil }
            var rest = piece[..<end]
            let name = rest.prefix { $0 != " " }
            rest = rest[name.endIndex...]
            var attributes: [String: String] = [:]
            while true {
                rest = rest.drop { $0 == " " }
                let attribute = rest.prefix { $0 != "=" && $0 != " " }
                guard !attribute.isEmpty else { break }
                rest = rest[attribute.endIndex...]
                guard rest.hasPrefix("=\"") else {
                    attributes[attribute.lowercased()] = ""
                    continue
                }
                let value = rest.dropFirst(2).prefix { $0 != "\"" }
                attributes[attribute.lowercased()] = unescaped(value)
                rest = rest[value.endIndex...].dropFirst()
            }
            return (name.lowercased(), attributes)
        }
    }

    private static func unescaped(_ text: Substring) -> String {
        var rest = text
        var result = ""
        let entities = ["&lt;": "<", "&gt;": ">", "&quot;": "\"", "&#39;": "'", "&amp;": "&"]
        while let character = rest.first {
            if character == "&", let (entity, meaning) = entities.first(where: { rest.hasPrefix($0.key) }) {
                result += meaning
                rest = rest.dropFirst(entity.count)
            } else {
                result.append(character)
                rest = rest.dropFirst()
            }
        }
        return result
    }
}
