import LodgePlatform
import HTTPExchange
import OAuth2Protocol
import StrictJSON

extension ServiceDialect {
    /// SCIM 2.0.
    ///
    /// Errors are in the service's `detail`, and their code is `scimType`. SCIM defines no permissions: for a 403, the
    /// error contains the scopes of the challenge.
    ///
    /// See RFC 7644 section 3.12 and RFC 6750 section 3.1.
    static let scim = ServiceDialect(namesRequests: false) { error, response in
        if case .notPermitted = error.kind {
            let scope = AuthenticationChallenge.challenges(in: response.fields).compactMap { $0.parameters["scope"] }
            error.kind = .notPermitted(
                permissions: scope.first?.split(separator: " ").prefix(20).map { String($0).visible(limit: 100) } ?? [])
        }
        guard response.body.first != nil, let object = (try? JSONValue(parsing: response.body))?.object,
            object["detail"] != nil || object["scimType"] != nil
        else { return }
        error.code = object["scimType"]?.string?.clipped(to: 256)
        error.message = object["detail"]?.string?.clipped(to: 4096)
    }
}
