import LodgePlatform
import HTTPExchange
import StrictJSON

/// Reads, changes or deletes a client that was registered dynamically. Valid only at the provider that registered it.
///
/// [RFC 7592 section 2](https://www.rfc-editor.org/rfc/rfc7592#section-2)
package struct ClientManagementRequest: Sendable {
    /// The request to send. It contains the registration access token, so the client follows no redirects.
    package let request: HTTPRequest

    /// Members that only the provider sets; the client must not send them (section 2.2).
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
        /// The URL: `registration_client_uri`.
        package let url: URL
        /// The token: `registration_access_token`. A secret.
        package let token: Secret

        /// Creates the access to one registration.
        ///
        /// - Throws: ``OAuth2Error/configuration(_:)`` if the URL is not https.
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

    /// Returns the request for the current registration (section 2.1).
    /// ``ClientRegistration/read(_:of:allowsLoopbackHTTP:)`` reads the response.
    package static func read(_ access: Access) -> ClientManagementRequest { ClientManagementRequest(.get, access) }

    /// Returns the request that replaces the registration (section 2.2). The provider resets omitted members.
    ///
    /// - Parameter metadata: The complete new metadata. This function adds `client_id` and omits members that only the
    ///   provider sets.
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

    /// Reads the response to a deletion. It throws an error unless the provider confirms the deletion.
    ///
    /// 401 and 404 mean that the provider no longer has the registration or its token: see
    /// ``isAlreadyGone(_:)``.
    package static func readDeletion(_ response: HTTPResponse) throws(OAuth2Error) {
        // The status is 204 in the specification; some providers send 200.
        guard response.status != 204, response.status != 200 else { return }
        throw EndpointResponse.failure(response)
    }

    /// Returns whether a response to a deletion means that the client does not exist. The specification requires the
    /// status 401 (section 2.3); some providers send 404 or 410.
    package static func isAlreadyGone(_ response: HTTPResponse) -> Bool { [401, 404, 410].contains(response.status) }

    private static var unmanaged: OAuth2Error {
        .configuration("the registration has no registration_client_uri and cannot be managed")
    }
}

extension ClientManagementRequest.Access: Redacted {
    /// The URL without its query and without the token.
    package var description: String { "the registration at \(url.addressWithoutQuery)" }
}

extension ClientRegistration {
    /// The URL and the token of this registration; `nil` if the provider does not support changes.
    package var access: ClientManagementRequest.Access? {
        guard let url = managementURL, let token = managementToken else { return nil }
        return ClientManagementRequest.Access(url: url, token: token)
    }

    /// Reads the response to a read or a change of a registration. The provider can issue a new secret and a new
    /// registration access token, which replace the previous ones (RFC 7592 section 3).
    ///
    /// - Parameter clientID: The client of the request. The response must have the same client identifier.
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
