import LodgePlatform
import HTTPExchange
import JOSE
import OAuth2Protocol
import StrictJSON

/// The keys of an account type that select options of the specifications.
extension AccountTypeDecoder {
    func readProtocol(into type: inout AccountType) throws(SettingsError) {
        type.clientAssertionAudience = try address("clientAssertionAudience")?.text
        type.resources = try resources()
        type.authorizationDetails = try authorizationDetails()
        type.claims = try value("claims", "a dictionary", \.object)
        type.clientCapabilities = try capabilities()
        type.quirks = try quirks()
        type.pushedAuthorizationRequests = try flag("pushedAuthorizationRequests")
        for (key, member) in [
            ("requestObjectSigning", \AccountType.requestObjectSigning), ("dpop", \.dpop),
            ("allowsPasswordGrant", \.allowsPasswordGrant),
        ] {
            type[keyPath: member] = try flag(key) ?? false
        }
        if type.requestObjectSigning, type.clientKey == nil {
            throw missing("clientKey", "a private key", neededBy: "requestObjectSigning")
        }
        try readClientAssertion(into: &type)
        type.idTokenSigningAlgorithm = try algorithm("idTokenSigningAlgorithm", type)
        type.userinfoSigningAlgorithm = try algorithm("userinfoSigningAlgorithm", type)
    }

    func key() throws(SettingsError) -> AccountType.SecretSource? {
        guard let value = object["clientKey"] else { return nil }
        return try source(value, "clientKey", "{\"file\": PATH} or {\"environment\": NAME} of a private JWK")
    }

    /// Reads the paths of two PEM files.
    func certificate() throws(SettingsError) -> ClientCertificate? {
        guard let value = object["clientCertificate"] else { return nil }
        let expected = "{\"certificate\": PATH, \"key\": PATH}, PEM files"
        guard let files = value.object else { throw error("clientCertificate", expected, value.kind) }
        guard let certificate = files.text("certificate"), let key = files.text("key"), files.members.count == 2 else {
            throw error("clientCertificate", expected, "another dictionary")
        }
        return ClientCertificate(certificateFile: certificate, keyFile: key)
    }

    private func capabilities() throws(SettingsError) -> [String] {
        let names = try strings("clientCapabilities")
        for name in names where name.isEmpty || !name.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) {
            throw error("clientCapabilities", "names such as \"cp1\"", JSONValue.string(name).shown)
        }
        return names
    }

    private func resources() throws(SettingsError) -> [String] {
        let texts: [String] =
            if case .string(let text)? = object["resources"] { [text] } else { try strings("resources") }
        for text in texts {
            guard let url = URL(string: text, encodingInvalidCharacters: false), url.scheme != nil,
                !text.utf8.contains(UInt8(ascii: "#"))
            else { throw error("resources", "absolute URIs without a fragment", text.debugDescription) }
        }
        return texts
    }

    private func authorizationDetails() throws(SettingsError) -> [JSONObject] {
        let details = try value("authorizationDetails", "a list of dictionaries") { value -> [JSONObject]? in
            guard let elements = value.array, case let details = elements.compactMap(\.object) else { return nil }
            return details.count == elements.count ? details : nil
        }
        guard let details else { return [] }
        guard details.allSatisfy({ $0.text("type") != nil }) else {
            throw error("authorizationDetails", "dictionaries with a type", "one without")
        }
        return details
    }

    /// Reads the quirks. They are added to the quirks that are unambiguous for every provider, or replace them with
    /// `strict`.
    private func quirks() throws(SettingsError) -> TokenResponse.ResponseQuirks {
        let names = try strings("quirks")
        var quirks: TokenResponse.ResponseQuirks = names.contains("strict") ? .strict : .providers
        for name in names {
            guard let one = TokenResponse.ResponseQuirks(name: name) else {
                let known = TokenResponse.ResponseQuirks.allNames
                throw error(
                    "quirks", "names from \(known.joined(separator: ", "))",
                    String(name.prefix(100)).debugDescription, hint: SpellingSuggestion.hint(for: name, in: known))
            }
            quirks.formUnion(one)
        }
        return quirks
    }

    private func algorithm(_ key: String, _ type: AccountType) throws(SettingsError) -> String? {
        let known = JWSAlgorithm.allCases.map(\.rawValue).joined(separator: ", ")
        let algorithm = try value(key, "one of \(known)") { $0.string.flatMap(JWSAlgorithm.init(name:)) }
        if let algorithm, algorithm.isSymmetric, type.clientSecret == nil {
            throw missing("clientSecret", "a secret", neededBy: algorithm.rawValue)
        }
        return algorithm?.rawValue
    }
}
