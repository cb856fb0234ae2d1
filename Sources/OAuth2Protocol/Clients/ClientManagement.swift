import Platform
import HTTPExchange
import StrictJSON

/// Reads, changes or deletes a client that was registered dynamically. Valid only at the provider that registered it.
///
/// [RFC 7592 section 2](https://www.rfc-editor.org/rfc/rfc7592#section-2)
package struct ClientManagementRequest: Sendable {
    /// The request to send. It carries the registration access token: redirects are not followed.
    package let request: HTTPRequest

    /// Members that the provider sets and that a change may not send (section 2.2).
    private static let providerMembers: Set<String> = [
        "registration_access_token", "registration_client_uri", "client_secret_expires_at", "client_id_issued_at",
    ]

    private init(_ method: HTTPMethod, _ access: Access, body: JSONObject? = nil) {
        var fields: HTTPFields = [
            "Accept": "application/json", "Authorization": "Bearer " + access.token.value,
        ]
        if body != nil { fields["Content-Type"] = "application/json" }
        request = HTTPRequest(
            method, access.url, fields: fields, body: body.map { Data(JSONValue.object($0).serialized()) })
    }

    /// The URL and the token that manage a registration (section 3).
    package struct Access: Sendable, Equatable {
        /// The address: `registration_client_uri`.
        package let url: URL
        /// The token: `registration_access_token`. A secret.
        package let token: Secret

        /// Creates the access to one registration.
        ///
        /// - Throws: ``OAuth2Error/configuration(_:)`` if the address is not https.
        package init(url: String, token: Secret, allowsLoopbackHTTP: Bool = false) throws(OAuth2Error) {
            self.url = try EndpointURL.check(
                url, name: "registration_client_uri", allowsLoopbackHTTP: allowsLoopbackHTTP)
            self.token = token
        }

        init(url: URL, token: Secret) {
            self.url = url
            self.token = token
        }
    }

    /// Returns the request for the current registration (section 2.1). The response is read by ``ClientRegistration/read(_:of:allowsLoopbackHTTP:)``.
    package static func read(_ access: Access) -> ClientManagementRequest { ClientManagementRequest(.get, access) }

    /// Returns the request that replaces the registration (section 2.2). The provider resets omitted members.
    ///
    /// - Parameter metadata: everything that shall hold afterwards. `client_id` is added; members that are the provider's to
    ///   set are left out.
    package static func replace(
        _ registration: ClientRegistration, with metadata: JSONObject
    ) throws(OAuth2Error) -> ClientManagementRequest {
        guard let access = registration.access else { throw Self.unmanaged }
        var body = JSONObject(metadata.members.filter { !providerMembers.contains($0.name) })
        body["client_id"] = .string(registration.clientID)
        return ClientManagementRequest(.put, access, body: body)
    }

    /// Returns the request that deletes the client and its tokens (section 2.3).
    package static func delete(_ access: Access) -> ClientManagementRequest { ClientManagementRequest(.delete, access) }

    /// Reads the response to a deletion. It returns when the client is gone, and throws why it is not known to be.
    ///
    /// 401 and 404 mean that the provider does not know the registration or its token any more: see
    /// ``isAlreadyGone(_:)``.
    package static func readDeletion(_ response: HTTPResponse) throws(OAuth2Error) {
        // The specification says 204; some providers send 200.
        guard response.status != 204, response.status != 200 else { return }
        throw EndpointResponse.failure(response)
    }

    /// Whether the response to a deletion says that there is nothing to delete (any more): 401 is what a provider must answer
    /// for a client that does not exist (section 2.3), 404 and 410 are seen.
    package static func isAlreadyGone(_ response: HTTPResponse) -> Bool { [401, 404, 410].contains(response.status) }

    private static var unmanaged: OAuth2Error {
        .configuration("the registration has no registration_client_uri and cannot be managed")
    }
}

extension ClientManagementRequest.Access: Redacted {
    /// The address without its query, and no token.
    package var description: String { "the registration at \(url.addressWithoutQuery)" }
}

extension ClientRegistration {
    /// The URL and the token of this registration; `nil` if the provider does not offer it.
    package var access: ClientManagementRequest.Access? {
        guard let url = managementURL, let token = managementToken else { return nil }
        return ClientManagementRequest.Access(url: url, token: token)
    }

    /// Reads the response to a read or a change of a registration. The provider may have made a new secret and a new
    /// registration access token: the ones in the response count from now on (RFC 7592 section 3).
    ///
    /// - Parameter clientID: the client of the request; the response must be about it.
    package static func read(
        _ response: HTTPResponse, of clientID: String, allowsLoopbackHTTP: Bool = false
    ) throws(OAuth2Error) -> ClientRegistration {
        let registration = try read(response, allowsLoopbackHTTP: allowsLoopbackHTTP)
        guard bytesEqual(registration.clientID, clientID) else {
            throw ResponseObject.error("client_id", "belongs to another client")
        }
        return registration
    }
}
