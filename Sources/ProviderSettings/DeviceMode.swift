/// The number of users of a device, as in MSAL.
public enum DeviceMode: String, Sendable, Equatable, CaseIterable {
    /// The device of one user, with any number of accounts.
    case `private`
    /// A device that several users share, such as in a shop or a hospital. A type has one signed-in user at a time: until they sign
    /// out, the store rejects other users and revokes their tokens. A sign-out is an event in every process that has the store open,
    /// and also ends the browser's session. The client's own account does not count.
    case shared
}
