import OAuth2Protocol
import StrictJSON

/// The clients in a settings file, used when an account type is added. The file can have no types yet.
package struct ConfiguredClients: Sendable {
    /// The usable account types of the file.
    package private(set) var types: [AccountType] = []
    /// The names of all account types of the file, usable or not.
    package private(set) var typeNames: [String] = []
    /// The URL of the client's metadata document, or `nil` if it is missing.
    package private(set) var metadataDocument: String?
    private var keys: [String: JSONObject] = [:]

    /// The keys of a type that belong to its client. A client is valid at one issuer only.
    private static let clientKeys = [
        "clientId", "clientSecret", "clientAuthentication", "clientKey", "clientCertificate", "clientAssertion",
        "clientAssertionAudience",
        "redirectUri", "scopeSeparator", "requestsPerOrigin", "caFile", "pinnedKeys", "pushedAuthorizationRequests",
        "requestObjectSigning", "dpop", "quirks",
    ]

    /// Creates the clients of a settings file. Without a file there are no clients.
    ///
    /// - Throws: ``SettingsError``
    package init(bytes: [UInt8]?, file: String) throws(SettingsError) {
        guard let bytes else { return }
        let object = try SettingsFile.parse(bytes, file: file)
        let decoder = SettingsDecoder(file: file, object: object)
        let dictionary = object["types"]?.object
        if dictionary == nil, object["clientMetadataDocument"] == nil {
            let settings = try decoder.settings()
            (types, typeNames) = (settings.types, settings.typeNames)
            return
        }
        metadataDocument = try decoder.clientMetadataDocument()
        guard let dictionary else { return }
        let read = try decoder.types()
        (types, typeNames) = (read.usable, read.names)
        for member in dictionary.members where types.contains(where: { $0.name == member.name }) {
            guard let type = member.value.object else { continue }
            let own = try AccountTypeDecoder(file: file, path: "types.\(member.name).", reading: type)
            keys[member.name] = try ProviderPreset.expand(own).object
        }
    }

    /// Returns the first type with this issuer, compared byte by byte.
    package func type(ofIssuer issuer: String) -> AccountType? { types.first { $0.hasIssuer(issuer) } }

    /// Returns the keys of a type's client, for another type with the same issuer.
    package func clientKeys(of type: AccountType) -> JSONObject {
        JSONObject((keys[type.name]?.members ?? []).filter { Self.clientKeys.contains($0.name) })
    }
}

extension AccountType {
    /// Returns whether the type discovers its provider from this issuer.
    package func hasIssuer(_ issuer: String) -> Bool {
        guard case .issuer(let own) = provider else { return false }
        return bytesEqual(own, issuer)
    }
}
