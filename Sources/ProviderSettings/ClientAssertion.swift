import LodgePlatform
import StrictJSON

extension AccountType {
    /// The source of the JWTs that authenticate the client in place of a secret.
    ///
    /// See RFC 7523 section 2.2.
    public enum ClientAssertion: Sendable, Equatable {
        /// The client signs each JWT with the key of a certificate, as Microsoft Entra and AD FS require.
        case certificate(CertificateCredential)
        /// Another issuer signs each JWT, which the client gets from a source.
        case federated(FederatedCredential)
    }
}

extension AccountTypeDecoder {
    private typealias Reader = @Sendable (MemberDecoder) throws(SettingsError) -> AccountType.ClientAssertion

    /// The members of `clientAssertion`, of which a type has one.
    private static let assertionSources = [(name: "certificate", read: certificate)] + FederatedCredential.readers
    private static let certificate: Reader = { member throws(SettingsError) in
        .certificate(try member.certificateCredential())
    }

    func readClientAssertion(into type: inout AccountType) throws(SettingsError) {
        let key = "clientAssertion"
        guard let value = object[key] else { return }
        let names = Self.assertionSources.map(\.name)
        let expected = "a dictionary with one member: " + names.joined(separator: ", ")
        guard let members = value.object?.members else { throw error(key, expected, value.kind) }
        let sources = members.filter { names.contains($0.name) }
        var others = members.filter { !names.contains($0.name) }
        // Only a URL has other members.
        if sources.first?.name == "url" {
            others.removeAll { FederatedCredential.requestKeys.contains($0.name) }
            if let unknown = others.first {
                throw error(
                    "\(key).\(unknown.name)", "one of \(FederatedCredential.requestKeys.joined(separator: ", "))",
                    "an unknown key",
                    hint: SpellingSuggestion.hint(for: unknown.name, in: FederatedCredential.requestKeys))
            }
        }
        guard sources.count + others.count == 1 else {
            throw error(key, expected, members.isEmpty ? "an empty dictionary" : "\(members.count) members")
        }
        guard let member = sources.first, let source = Self.assertionSources.first(where: { $0.name == member.name })
        else {
            throw error(
                "\(key).\(others[0].name)", "one of \(names.joined(separator: ", "))", "an unknown key",
                hint: SpellingSuggestion.hint(for: others[0].name, in: names))
        }
        if type.clientSecret != nil { throw error(key, "either \(key) or clientSecret", "both") }
        // With signed authorization requests, the key is for these.
        if type.clientKey != nil, !type.requestObjectSigning {
            throw error(key, "either \(key) or clientKey", "both")
        }
        if let method = type.clientAuthentication, method != .privateKeyJWT {
            throw error("clientAuthentication", "private_key_jwt, because of \(key)", method.rawValue)
        }
        let assertion = try source.read(
            MemberDecoder(file: file, path: "\(path)\(key).", name: member.name, value: member.value))
        if case .federated(.request(let request)) = assertion {
            let decoder = MemberDecoder(file: file, path: path, name: key, value: value)
            type.clientAssertion = .federated(.request(try AssertionRequest(request.address, readingFrom: decoder)))
        } else {
            type.clientAssertion = assertion
        }
    }
}

/// The decoder of a member of a dictionary.
struct MemberDecoder: DictionaryDecoder {
    let file: String
    /// The path of the dictionary that contains the member.
    private let parent: String
    let name: String
    let value: JSONValue
    let object: JSONObject
    let path: String
    let writtenKeys: [String: String] = [:]

    /// Creates the decoder of a member.
    ///
    /// - Parameter path: The path of the dictionary with the member, with a dot at its end.
    init(file: String, path: String, name: String, value: JSONValue) {
        self.file = file
        parent = path
        self.name = name
        self.value = value
        object = value.object ?? JSONObject()
        self.path = "\(path)\(name)."
    }

    /// Returns the error for the value of the member itself.
    func mismatch(_ expected: String, _ found: String? = nil) -> SettingsError {
        SettingsError(file: file, key: parent + name, expected: expected, found: found ?? value.kind)
    }

    /// Throws unless the value is a dictionary with some of these keys.
    func requireKeys(_ keys: [String]) throws(SettingsError) {
        guard value.object != nil else { throw mismatch("a dictionary") }
        guard let unknown = unknownKey(keys) else { return }
        throw error(
            unknown, "one of \(keys.joined(separator: ", "))", "an unknown key",
            hint: SpellingSuggestion.hint(for: unknown, in: keys))
    }
}
