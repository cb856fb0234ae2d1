import Platform
import HTTPExchange
import JOSE
import OAuth2Protocol
import StrictJSON

/// The keys of an account type that choose among what the specifications offer.
extension AccountTypeDecoder {
    /// Their names.
    static let protocolKeys = [
        "clientKey", "clientCertificate", "clientAssertionAudience", "resources", "authorizationDetails", "claims",
        "quirks",
        "pushedAuthorizationRequests", "requestObjectSigning", "dpop", "idTokenSigningAlgorithm",
        "userinfoSigningAlgorithm", "allowsPasswordGrant",
    ]

    func readProtocol(into type: inout AccountType) throws(SettingsError) {
        if object["clientAssertionAudience"] != nil {
            type.clientAssertionAudience = try address("clientAssertionAudience").text
        }
        type.resources = try resources()
        type.authorizationDetails = try authorizationDetails()
        if let value = object["claims"] {
            guard let claims = value.object else { throw fault("claims", "a dictionary", Self.shown(value)) }
            type.claims = claims
        }
        type.tolerance = try tolerance()
        type.pushedAuthorizationRequests = try truth("pushedAuthorizationRequests")
        type.requestObjectSigning = try truth("requestObjectSigning") ?? false
        if type.requestObjectSigning, type.clientKey == nil {
            throw fault("clientKey", "a private key, which requestObjectSigning needs", "nothing")
        }
        type.dpop = try truth("dpop") ?? false
        type.idTokenSigningAlgorithm = try algorithm("idTokenSigningAlgorithm", type)
        type.userinfoSigningAlgorithm = try algorithm("userinfoSigningAlgorithm", type)
        type.allowsPasswordGrant = try truth("allowsPasswordGrant") ?? false
    }

    /// `clientKey`: like a secret, but never in the settings file itself.
    func key() throws(SettingsError) -> AccountType.SecretSource? {
        guard let value = object["clientKey"] else { return nil }
        let expected = "{\"file\": PATH} or {\"environment\": NAME} of a private JWK"
        guard let source = value.object else {
            // Neither the text nor the number is shown: it may be the key.
            throw fault("clientKey", expected, value.kind)
        }
        guard source.members.count == 1, let name = source.members[0].value.string, !name.isEmpty else {
            throw fault("clientKey", expected, "another dictionary")
        }
        switch source.members[0].name {
        case "file": return .file(name)
        case "environment": return .environment(name)
        default: throw fault("clientKey", expected, "a dictionary with another key")
        }
    }

    /// `clientCertificate`: the paths of two PEM files.
    func certificate() throws(SettingsError) -> ClientCertificate? {
        guard let value = object["clientCertificate"] else { return nil }
        let expected = "{\"certificate\": PATH, \"key\": PATH}, PEM files"
        guard let files = value.object else { throw fault("clientCertificate", expected, value.kind) }
        guard let certificate = files.text("certificate"), let key = files.text("key"), files.members.count == 2 else {
            throw fault("clientCertificate", expected, "another dictionary")
        }
        return ClientCertificate(certificateFile: certificate, keyFile: key)
    }

    private func resources() throws(SettingsError) -> [String] {
        let texts: [String] =
            if case .string(let text)? = object["resources"] { [text] } else { try strings("resources") }
        for text in texts {
            guard let url = URL(string: text, encodingInvalidCharacters: false), url.scheme != nil,
                !text.utf8.contains(UInt8(ascii: "#"))
            else { throw fault("resources", "absolute addresses without a fragment", text.debugDescription) }
        }
        return texts
    }

    private func authorizationDetails() throws(SettingsError) -> [JSONObject] {
        guard let value = object["authorizationDetails"] else { return [] }
        guard let elements = value.array, case let details = elements.compactMap(\.object),
            details.count == elements.count
        else { throw fault("authorizationDetails", "a list of dictionaries", Self.shown(value)) }
        guard details.allSatisfy({ $0.text("type") != nil }) else {
            throw fault("authorizationDetails", "dictionaries with a type", "one without")
        }
        return details
    }

    /// `quirks`: beside what means one thing only, whoever sends it; with `strict` instead of it.
    private func tolerance() throws(SettingsError) -> TokenResponse.ResponseQuirks {
        let names = try strings("quirks")
        var tolerance: TokenResponse.ResponseQuirks = names.contains("strict") ? .strict : .providers
        for name in names {
            guard let one = TokenResponse.ResponseQuirks(name: name) else {
                let known = TokenResponse.ResponseQuirks.allNames
                throw fault(
                    "quirks", "names out of \(known.joined(separator: ", "))",
                    String(name.prefix(100)).debugDescription,
                    hint: SpellingSuggestion.nearest(to: name, in: known).map { "did you mean \($0)?" })
            }
            tolerance.formUnion(one)
        }
        return tolerance
    }

    private func algorithm(_ key: String, _ type: AccountType) throws(SettingsError) -> String? {
        guard let value = object[key] else { return nil }
        guard let algorithm = value.string.flatMap(JWSAlgorithm.init(name:)) else {
            let known = JWSAlgorithm.allCases.map(\.rawValue).joined(separator: ", ")
            throw fault(key, "one of \(known)", Self.shown(value))
        }
        if algorithm.isSymmetric, type.clientSecret == nil {
            throw fault("clientSecret", "a secret, which \(algorithm.rawValue) needs", "nothing")
        }
        return algorithm.rawValue
    }

    private func truth(_ key: String) throws(SettingsError) -> Bool? {
        guard let value = object[key] else { return nil }
        guard let truth = value.bool else { throw fault(key, "true or false", Self.shown(value)) }
        return truth
    }
}
