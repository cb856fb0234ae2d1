import JOSE

extension Account.ID {
    /// How many unpredictable bytes a new one is made of.
    private static let byteCount = 12

    /// A new one, of 16 letters. People type it on command lines, where one that began with a hyphen would be taken for an option.
    static func unused(_ random: (Int) throws -> [UInt8]) throws -> Account.ID {
        let text = Base64URL.encode(try random(byteCount))
        return Account.ID(rawValue: text.hasPrefix("-") ? "A" + text.dropFirst() : text)
    }
}
