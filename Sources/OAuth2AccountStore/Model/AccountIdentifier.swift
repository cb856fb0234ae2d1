import JOSE

extension Account.ID {
    private static let byteCount = 12

    /// Returns a new random identifier of 16 characters. It does not start with a hyphen, because users type it as an
    /// argument of commands.
    static func unused(_ random: (Int) throws -> [UInt8]) throws -> Account.ID {
        let text = Base64URL.encode(try random(byteCount))
        return Account.ID(rawValue: text.hasPrefix("-") ? "A" + text.dropFirst() : text)
    }
}
