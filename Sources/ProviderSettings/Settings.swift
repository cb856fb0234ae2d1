import Platform
import OAuth2Protocol
import StrictJSON

/// The account types that a program can sign in to.
public struct Settings: Sendable, Equatable {
    /// The maximum size of a settings file, in bytes.
    public static let maximumSize = 1 << 20
    /// The name of the account type in the QuickStart's flat form.
    public static let flatTypeName = "myGraphService"

    /// The types, in the order of the file.
    public var types: [AccountType]
    /// The name of the default type.
    public var defaultType: String
    /// The source of the settings, for messages.
    public var source: String
    /// The number of users of the device.
    public var deviceMode = DeviceMode.private

    /// Creates settings. The first type is the default.
    ///
    /// - Throws: ``SettingsError`` if there is no type, or if two have the same name.
    public init(
        types: [AccountType], defaultType: String? = nil, source: String = "settings",
        deviceMode: DeviceMode = .private
    ) throws(SettingsError) {
        guard let first = types.first else {
            throw SettingsError(file: source, key: "types", expected: "at least one account type", found: "none")
        }
        var names = Set<String>()
        for type in types where !names.insert(type.name).inserted {
            throw SettingsError(
                file: source, key: "types.\(type.name)", expected: "one type of this name", found: "two")
        }
        let name = defaultType ?? first.name
        guard names.contains(name) else {
            throw SettingsError(
                file: source, key: "defaultType", expected: "one of \(types.map(\.name).joined(separator: ", "))",
                found: name.debugDescription,
                hint: SpellingSuggestion.nearest(to: name, in: types.map(\.name)).map {
                    "did you mean \($0.debugDescription)?"
                })
        }
        self.types = types
        self.defaultType = name
        self.source = source
        self.deviceMode = deviceMode
    }

    /// Reads a settings file, a property list or JSON (in which comments are allowed). Both have the same keys.
    ///
    /// The settings decide which server receives refresh tokens. So the file must belong to the user or to root, and only they and
    /// the user's own primary group may write to it; others may write to its folders only with the sticky bit. For settings from
    /// another source, such as a bundle, use ``init(bytes:source:)``.
    ///
    /// - Throws: ``SettingsError`` with the file, the key, the expected value and the value that was found.
    public init(contentsOf url: URL) throws(SettingsError) {
        try self.init(
            bytes: SettingsFile.read(url.path(percentEncoded: false)), source: url.path(percentEncoded: false))
    }

    /// Reads settings from the bytes of a property list or of JSON.
    ///
    /// - Throws: ``SettingsError``
    public init(bytes: [UInt8], source: String) throws(SettingsError) {
        let object = try SettingsFile.parse(bytes, file: source)
        self = try SettingsDecoder(file: source, object: object).settings()
    }

    /// Returns the type with a name.
    public subscript(name: String) -> AccountType? { types.first { $0.name == name } }
}
