import Platform
import OAuth2Protocol
import StrictJSON

/// The account types that a program can sign in to.
public struct Settings: Sendable, Equatable {
    /// The largest settings file that is read, in bytes.
    public static let maximumSize = 1 << 20
    /// The name that the QuickStart's flat form is read as.
    public static let flatTypeName = "myGraphService"

    /// The types, in the order of the file.
    public var types: [AccountType]
    /// The type to use where none is named.
    public var defaultType: String
    /// Where they were read from, for messages.
    public var source: String
    /// How many people use the device.
    public var deviceMode = DeviceMode.private

    /// Settings made in code. The first type is the default.
    ///
    /// - Throws: ``SettingsError`` when there is no type, or two of the same name.
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
    /// - Throws: ``SettingsError`` naming the file, the key, what was expected and what stood there.
    public init(contentsOf url: URL) throws(SettingsError) {
        try self.init(
            bytes: SettingsFile.read(url.path(percentEncoded: false)), source: url.path(percentEncoded: false))
    }

    /// Reads settings from the bytes of a property list or of JSON.
    ///
    /// - Throws: ``SettingsError``
    public init(bytes: [UInt8], source: String) throws(SettingsError) {
        let object = try SettingsFile.parse(bytes, file: source)
        var reader = SettingsDecoder(file: source, object: object)
        self = try reader.settings()
    }

    /// The type of this name.
    public subscript(name: String) -> AccountType? { types.first { $0.name == name } }
}
