import JOSE
import OAuth2Protocol
import LodgePlatform

extension ProviderClient {
    func idTokenValidation() -> IDTokenValidation {
        var validation = IDTokenValidation(issuer: server.issuer ?? "", clientID: type.clientID)
        validation.algorithms = type.idTokenSigningAlgorithm.map { [$0] } ?? Set(server.idTokenSigningAlgorithms)
        if case .authority(let authority) = type.provider { validation.tenants = EntraTenants(authority: authority) }
        return validation
    }
}

extension IDTokenValidation {
    /// Validates an ID token by this machine's clock. If the token is too old or too new by it, validates it by the
    /// provider's clock.
    func validateByEitherClock(
        _ token: Secret, keys: JWKSet, clientSecret: Secret?, _ connection: ProviderClient
    ) throws(IDTokenError) -> IDToken {
        let now = connection.dependencies.now().timeIntervalSince1970
        do throws(IDTokenError) {
            return try validate(token, keys: keys, clientSecret: clientSecret, now: now)
        } catch {
            let theirs = connection.serverTime(of: connection.server.tokenEndpoint)
            guard error.isAboutTime, theirs != now else { throw error }
            return try validate(token, keys: keys, clientSecret: clientSecret, now: theirs)
        }
    }
}

extension IDTokenError {
    fileprivate var isAboutTime: Bool {
        [.expired, .issuedAtInFuture, .notYetValid, .authenticationTimeTooOld].contains(kind)
    }
}
