import LodgePlatform
import OAuth2Protocol
import StrictJSON

/// The account types that a program can sign in to.
public struct Settings: Sendable, Equatable {
    /// The maximum size of a settings file, in bytes.
    package static let maximumSize = 1 << 20
    /// The name of the account type in the QuickStart's flat form.
    package static let flatTypeName = "myGraphService"

    /// An account type with invalid settings.
    public struct UnusableType: Sendable, Equatable, Identifiable {
        /// The name in the settings.
        public let name: String
        /// The first error in its settings.
        public let error: SettingsError
        /// The client identifier, verbatim: another type can have the same client.
        package let clientID: String?
        /// The hosts in the URLs of the type and its preset, and `resourceHosts`: entries as in ``AccountType/tokenHosts``.
        package let hosts: [String]

        /// The name.
        public var id: String { name }
    }

    /// The usable types, in the order of the file.
    public var types: [AccountType]
    /// The unusable types, in the order of the file. They do not disable the others, and no other type replaces them.
    public internal(set) var unusableTypes: [UnusableType] = []
    /// The name of the default type.
    public var defaultType: String
    /// The source of the settings, for messages.
    public var source: String
    /// The number of users of the device.
    public var deviceMode = DeviceMode.private
    /// The settings of the background process.
    package var agent = AgentSettings()

    /// Creates settings. The first type is the default.
    ///
    /// - Throws: ``SettingsError`` if there is no type, or if two have the same name.
    public init(
        types: [AccountType], defaultType: String? = nil, source: String = "settings",
        deviceMode: DeviceMode = .private
    ) throws(SettingsError) {
        try self.init(
            types: types, unusableTypes: [], defaultType: defaultType, source: source, deviceMode: deviceMode)
    }

    /// Creates settings with unusable types. The default type can be one of them.
    package init(
        types: [AccountType], unusableTypes: [UnusableType], defaultType: String?, source: String,
        deviceMode: DeviceMode
    ) throws(SettingsError) {
        let names = types.map(\.name) + unusableTypes.map(\.name)
        guard let first = names.first else {
            throw SettingsError(file: source, key: "types", expected: "at least one account type", found: "none")
        }
        var known = Set<String>()
        for name in names where !known.insert(name).inserted {
            throw SettingsError(file: source, key: "types.\(name)", expected: "one type of this name", found: "two")
        }
        let name = defaultType ?? first
        guard known.contains(name) else {
            throw SettingsError(
                file: source, key: "defaultType", expected: "one of \(names.joined(separator: ", "))",
                found: name.debugDescription,
                hint: SpellingSuggestion.nearest(to: name, in: names).map { "did you mean \($0.debugDescription)?" })
        }
        self.types = types
        self.unusableTypes = unusableTypes
        self.defaultType = name
        self.source = source
        self.deviceMode = deviceMode
    }

    /// Creates settings from a file: JSON, in which comments are allowed, or a property list with the same keys.
    ///
    /// The settings decide which server receives refresh tokens. So the file must belong to the user or to root, and
    /// only they and the user's own primary group can have write permission. Its folders must not be writable by
    /// others, unless they have the sticky bit. For settings from another source, such as a bundle, use
    /// ``init(bytes:source:environment:)``.
    ///
    /// A type with an error does not disable the others: ``unusableTypes`` has its error, which every use of the type throws. Call
    /// ``checkTypes()`` to accept only a file without errors.
    ///
    /// - Parameter environment: The variables that supply keys of the preset `entra-workload`. The default is the environment of
    ///   the process.
    /// - Throws: ``SettingsError`` with the file, the key, the expected value and the value that was found, if the error is not in one
    ///   type: in the file's owner, permissions or syntax, or in a key outside the types.
    public init(
        contentsOf url: URL, environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(SettingsError) {
        try self.init(
            bytes: SettingsFile.read(url.path(percentEncoded: false)), source: url.path(percentEncoded: false),
            environment: environment)
    }

    /// Creates settings from the bytes of a property list or of JSON.
    ///
    /// - Throws: ``SettingsError``, as ``init(contentsOf:environment:)``.
    public init(
        bytes: [UInt8], source: String, environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(SettingsError) {
        let object = try SettingsFile.parse(bytes, file: source)
        self = try SettingsDecoder(file: source, object: object, environment: environment).settings()
    }

    /// Returns the usable type with a name.
    public subscript(name: String) -> AccountType? { types.first { $0.name == name } }

    /// The names of all types: first the usable ones.
    public var typeNames: [String] { types.map(\.name) + unusableTypes.map(\.name) }

    /// Returns the type with a name, or `nil` if the settings do not have it.
    ///
    /// - Throws: The error of an unusable type.
    public func type(named name: String) throws(SettingsError) -> AccountType? {
        if let unusable = unusableTypes.first(where: { $0.name == name }) { throw unusable.error }
        return self[name]
    }

    /// Checks that every type is usable.
    ///
    /// - Throws: The error of the first unusable type.
    public func checkTypes() throws(SettingsError) {
        if let unusable = unusableTypes.first { throw unusable.error }
    }
}
