/// How many people use a device, as MSAL has it.
public enum DeviceMode: String, Sendable, Equatable, CaseIterable {
    /// One person's device: any number of accounts.
    case `private`
    /// A device that people hand on, such as one of a shop or a hospital. A type has one signed-in person at a time; whoever else
    /// signs in is refused until that one signs out, and their tokens are given back. A sign-out reaches every process that has the
    /// store open, as an event, and ends the browser's session too. The client's own account does not count.
    case shared
}
