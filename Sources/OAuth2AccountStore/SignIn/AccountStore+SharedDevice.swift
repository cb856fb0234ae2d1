import Platform
import OAuth2Protocol

/// How many people use a device, as MSAL has it.
public enum DeviceMode: String, Sendable, Equatable, CaseIterable {
    /// One person's device: any number of accounts.
    case `private`
    /// A device that people hand on, such as one of a shop or a hospital. A type has one signed-in person at a time; whoever else
    /// signs in is refused until that one signs out, and their tokens are given back. A sign-out reaches every process that has the
    /// store open, as an event, and ends the browser's session too. The client's own account does not count.
    case shared
}

extension AccountStore {
    /// How many people use the device, as the settings say.
    public nonisolated var deviceMode: DeviceMode { settings.deviceMode }

    /// On a shared device the person who is signed in is the one who is expected: they may sign in again.
    func expectSignedInPerson(in wishes: inout AuthorizationParameters, _ type: AccountType) async throws {
        guard deviceMode == .shared, wishes.request.loginHint == nil else { return }
        wishes.request.loginHint = try await accounts(ofType: type.name).first { !$0.isClient }?.userName
    }

    /// Refuses another person's sign-in on a shared device. The type's lock is held.
    func refuseSecondPerson(_ tokens: TokenSet, _ connection: ProviderClient) async throws {
        guard deviceMode == .shared,
            let other = try await accounts(ofType: connection.type.name).first(where: { !$0.isClient })
        else { return }
        // Nothing of them stays on the device.
        _ = await revoke(tokens, connection)
        throw AccountStoreError(
            .refused, what: "cannot sign in",
            reason: "this is a shared device, and \(other.label) is signed in to \(other.type)", remedy: .nothing,
            hint: "\(other.label) has to sign out first")
    }
}
