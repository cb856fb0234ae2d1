import OAuth2Protocol
import StrictJSON

/// What is known of one provider before anybody has an application there: endpoints, scopes, how clients authenticate, and
/// what is peculiar to it.
///
/// A settings file builds a type on a preset with `"provider": "github"`; its own keys win. The presets are the files of
/// `Settings/providers`, built into the library.
public struct ProviderPreset: Sendable, Equatable {
    /// A part of the preset's addresses that the person fills in, as a key of the type: `"tenant": "contoso.com"`.
    public struct Placeholder: Sendable, Equatable {
        /// The key.
        public let name: String
        /// What to write there, as a phrase.
        public let meaning: String
        /// What is meant where the key is missing; nil when it must be there.
        public let standard: String?
    }

    /// The name: `github`.
    public let name: String
    /// The provider in words.
    public let title: String
    /// Where the provider documents what the preset says.
    public let documentation: [String]
    /// What is filled into the addresses.
    public let placeholders: [Placeholder]
    /// The keys that the person must add, in order: usually `clientId`.
    public let needs: [String]
    /// What a person should know before the first sign-in.
    public let notes: [String]
    /// Further members of a dynamic registration that this provider wants (RFC 7591).
    public let registration: JSONObject
    /// The keys of the type, with `{placeholder}` in their strings.
    let type: JSONObject

    /// The presets in alphabetical order.
    public static let all: [ProviderPreset] = names.compactMap { ProviderPreset(named: $0) }

    /// The names of the presets in alphabetical order.
    public static var names: [String] { files.keys.sorted() }

    /// Creates the preset with the given name, or returns `nil` if there is none.
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
                standard: member.value.object?.text("default"))
        }
        needs = strings("needs")
        notes = strings("notes")
        registration = file["registration"]?.object ?? JSONObject()
        self.type = type
    }

    /// The issuer, the authority or the authorization endpoint, with the placeholders that have a standard filled in.
    public var address: String {
        let address = type.text("issuer") ?? type.text("authority") ?? type.text("authorizationEndpoint")
        return address.map { filled($0, with: [:]) } ?? "the issuer that you name"
    }

    /// The keys that a type built on this preset must have: placeholders without a standard, then ``needs``.
    public var requiredKeys: [String] { placeholders.filter { $0.standard == nil }.map(\.name) + needs }

    /// Whether it can be used as it is.
    public var isComplete: Bool { requiredKeys.isEmpty }

    /// The preset as a type of its own name.
    ///
    /// - Parameter filling: keys to add: what ``requiredKeys`` names, and whatever else shall differ.
    /// - Throws: ``SettingsError`` naming what is missing, and where to write it.
    public func accountType(filling: JSONObject = [:]) throws(SettingsError) -> AccountType {
        let file = "preset \(name)"
        var own = filling
        own["provider"] = .string(name)
        let whole = try Self.expand(own, file: file, path: "")
        return try AccountTypeDecoder(file: file, path: "", object: whole).type(named: name)
    }

    /// Whether the preset's addresses lead to an endpoint that discovery is asked at, or name every endpoint themselves.
    public var namesEndpoints: Bool { type["issuer"] == nil && type["authority"] == nil && !needs.contains("issuer") }

    func filled(_ text: String, with values: [String: String]) -> String {
        // One pass, so that a value with braces in it is not filled again.
        var result = ""
        var rest = text[...]
        while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
            let name = String(rest[rest.index(after: open)..<close])
            result += rest[..<open]
            let standard = placeholders.first { $0.name == name }?.standard
            result += values[name] ?? standard ?? String(rest[open...close])
            rest = rest[rest.index(after: close)...]
        }
        return result + rest
    }
}
