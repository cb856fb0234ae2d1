import Platform
import OAuth2Protocol

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
