/// The number of users of a device, as in MSAL.
public enum DeviceMode: String, Sendable, Equatable, CaseIterable {
    /// A device of one user, who can have any number of accounts.
    case `private`
    /// A device that several users share, for example in a shop or a hospital. A type has one signed-in user at a time:
    /// until they sign out, the store rejects other users and revokes their tokens. A sign-out is an event in every
    /// process that has the store open, and ends the browser session too. The account of the client itself does not
    /// count.
    case shared
}
