import OAuth2Protocol
import StrictJSON

/// The known settings of a provider: endpoints, scopes, client authentication and quirks.
///
/// In a settings file, `"provider": "github"` builds a type on a preset; the type's own keys have precedence. The presets are the
/// files of `Settings/providers`, which the build embeds.
public struct ProviderPreset: Sendable, Equatable {
    /// A part of the preset's URLs that the user adds as a key of the type: `"tenant": "contoso.com"`.
    package struct Placeholder: Sendable, Equatable {
        /// The key.
        package let name: String
        /// The meaning of the value, as a phrase.
        package let meaning: String
        /// The value if the key is missing, or `nil` if the key is required.
        package let defaultValue: String?
    }

    /// The name: `github`.
    public let name: String
    /// The name of the provider in messages.
    package let title: String
    /// The URLs of the provider's documentation.
    package let documentation: [String]
    /// The placeholders in the URLs.
    package let placeholders: [Placeholder]
    /// The keys that the user must add, usually `clientId`, in order.
    package let needs: [String]
    /// The steps that register a client with the provider, in order.
    public let registrationSteps: [String]
    /// Notes for the user before the first sign-in.
    package let notes: [String]
    /// The tests of this preset and their servers.
    public let tests: [String]
    /// Whether the provider can offer dynamic registration (RFC 7591).
    public let offersRegistration: Bool
    /// Additional members of a dynamic registration that this provider requires (RFC 7591).
    package let registration: JSONObject
    /// The keys of the type, with `{placeholder}` in their strings.
    let type: JSONObject

    /// The presets in alphabetical order.
    package static let all: [ProviderPreset] = names.compactMap { ProviderPreset(named: $0) }

    /// The names of the presets in alphabetical order.
    public static var names: [String] { files.keys.sorted() }

    /// Creates the preset with the given name, or returns `nil` if it does not exist.
    public init?(named name: String) {
        guard let file = Self.files[name] else { return nil }
        self.init(file())
    }

    init?(_ text: [UInt8]) {
        guard let file = (try? JSONValue(parsing: text, options: .init(rejectsDuplicates: true)))?.object,
            let name = file.text("name"), let type = file["type"]?.object
        else { return nil }
        func strings(_ key: String) -> [String] { file[key]?.array?.compactMap(\.string) ?? [] }
        self.name = name
        title = file.text("title") ?? name
        documentation = strings("documentation")
        placeholders = (file["placeholders"]?.object?.members ?? []).map { member in
            Placeholder(
                name: member.name, meaning: member.value.object?.text("meaning") ?? "",
                defaultValue: member.value.object?.text("default"))
        }
        needs = strings("needs")
        registrationSteps = strings("register")
        notes = strings("notes")
        tests = strings("tested")
        offersRegistration = file["registration"] != nil
        registration = file["registration"]?.object ?? JSONObject()
        self.type = type
    }

    /// The issuer, the authority or the authorization endpoint, with the default values of the placeholders.
    package var address: String {
        let address = type.text("issuer") ?? type.text("authority") ?? type.text("authorizationEndpoint")
        return address.map { filled($0, with: [:]) } ?? "the issuer in your settings"
    }

    /// The keys that a type built on this preset must have: placeholders without a default value, then the other required keys.
    public var requiredKeys: [String] { placeholders.filter { $0.defaultValue == nil }.map(\.name) + needs }

    /// A Boolean value that indicates whether environment variables can supply the required keys.
    package var readsEnvironment: Bool { name == WorkloadEnvironment.preset }

    /// A Boolean value that indicates whether the preset needs no additional keys.
    public var isComplete: Bool { requiredKeys.isEmpty }

    /// Returns the account type of the preset, with the preset's name.
    ///
    /// - Parameters:
    ///   - filling: The keys to add: ``requiredKeys``, and replacements for keys of the preset.
    ///   - environment: The variables that supply keys of the preset `entra-workload`. The default is an empty environment.
    /// - Throws: ``SettingsError`` that names the missing key.
    public func accountType(
        filling: JSONObject = [:], environment: [String: String] = [:]
    ) throws(SettingsError) -> AccountType {
        var own = filling
        own["provider"] = .string(name)
        let decoder = try AccountTypeDecoder(file: "preset \(name)", path: "", reading: own, environment: environment)
        return try Self.expand(decoder).type(named: name)
    }

    /// A Boolean value that indicates whether the preset contains the endpoints, instead of using discovery.
    package var namesEndpoints: Bool { type["issuer"] == nil && type["authority"] == nil && !needs.contains("issuer") }

    func filled(_ text: String, with values: [String: String]) -> String {
        // Replace in one pass, so that braces in a value have no effect.
        var result = ""
        var rest = text[...]
        while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
            let name = String(rest[rest.index(after: open)..<close])
            result += rest[..<open]
            let defaultValue = placeholders.first { $0.name == name }?.defaultValue
            result += values[name] ?? defaultValue ?? String(rest[open...close])
            rest = rest[rest.index(after: close)...]
        }
        return result + rest
    }
}
