import JOSE
import OAuth2Protocol
import Platform

extension ProviderClient {
    /// The checks of an ID token for every grant.
    func idTokenValidation() -> IDTokenValidation {
        var validation = IDTokenValidation(issuer: server.issuer ?? "", clientID: type.clientID)
        validation.algorithms = type.idTokenSigningAlgorithm.map { [$0] } ?? Set(server.idTokenSigningAlgorithms)
        return validation
    }
}

extension IDTokenValidation {
    /// Validates by this machine's clock and, when that says that the token is too old or too new, by the provider's: a clock that
    /// is off keeps nobody out.
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
    /// Whether another clock could see it otherwise.
    fileprivate var isAboutTime: Bool {
        [.expired, .issuedAtInFuture, .notYetValid, .authenticationTimeTooOld].contains(kind)
    }
}
