import Foundation
import HTTPExchange
import LoopbackHTTP
import StrictJSON
import Synchronization

/// A resource, and the authorization server that issues its tokens, at another origin.
struct ResourceScene: Sendable {
    let resource: ScriptedProvider
    let server: ScriptedProvider
    private let issued = Counter()

    private final class Counter: Sendable {
        private let count = Mutex(0)
        func next() -> Int {
            count.withLock {
                $0 += 1
                return $0
            }
        }
    }

    static let resourceMetadata = "/.well-known/oauth-protected-resource"
    static let serverMetadata = "/.well-known/oauth-authorization-server"

    var url: String { resource.issuer + "/mcp" }

    init() throws {
        resource = try ScriptedProvider()
        server = try ScriptedProvider()
        describeServer()
        server.answer("/register", 201, #"{"client_id": "c7", "token_endpoint_auth_method": "none"}"#)
        server.answer("/authorize") { [issuer = server.issuer] in Self.redirect($0, ["iss": issuer]) }
        server.answer("/token") { [issued] request in
            let scope = Self.form(request)["code"].flatMap { $0.split(separator: "|").last.map(String.init) } ?? ""
            let number = issued.next()
            return Self.json(
                #"{"access_token": "t\#(number)", "token_type": "Bearer", "refresh_token": "r\#(number)", "scope": "\#(scope)"}"#
            )
        }
        challenge(#"scope="mcp:read", resource_metadata="\#(resource.issuer)/metadata""#)
        describeResource(at: "/metadata")
    }

    /// Makes the resource challenge requests without a token or with a token that is not in the list.
    func challenge(_ parameters: String, at path: String = "/mcp", accepting tokens: Set<String> = ["t1", "t2"]) {
        resource.answer(path) { request in
            let token = request.fields["Authorization"].map { $0.replacing("Bearer ", with: "") } ?? ""
            guard tokens.contains(token) else {
                return LoopbackResponse(
                    status: 401, fields: parameters.isEmpty ? [:] : ["WWW-Authenticate": "Bearer " + parameters])
            }
            return Self.json(#"{"token": "\#(token)"}"#)
        }
    }

    func describeResource(at path: String = "/metadata", resource named: String? = nil, servers: [String]? = nil) {
        let object: JSONObject = [
            "resource": .string(named ?? url), "scopes_supported": ["mcp:all"],
            "authorization_servers": .array((servers ?? [server.issuer]).map(JSONValue.string)),
        ]
        resource.answer(path, JSONValue.object(object).text())
    }

    func describeServer(at path: String = serverMetadata, _ changes: JSONObject = [:]) {
        let issuer = server.issuer
        var object: JSONObject = [
            "issuer": .string(issuer), "authorization_endpoint": .string(issuer + "/authorize"),
            "token_endpoint": .string(issuer + "/token"), "registration_endpoint": .string(issuer + "/register"),
            "token_endpoint_auth_methods_supported": ["none"],
            "code_challenge_methods_supported": ["S256"], "authorization_response_iss_parameter_supported": true,
        ]
        for member in changes.members { object[member.name] = member.value }
        server.answer(path, JSONValue.object(object).text())
    }

    static func json(_ text: String) -> LoopbackResponse {
        LoopbackResponse(status: 200, fields: ["Content-Type": "application/json"], body: Data(text.utf8))
    }

    static func form(_ request: LoopbackRequest) -> [String: String] {
        pairs(String(decoding: request.body, as: UTF8.self))
    }

    static func query(_ request: LoopbackRequest) -> [String: String] { pairs(request.query ?? "") }

    private static func pairs(_ text: String) -> [String: String] {
        Dictionary((FormEncoding.decode(Substring(text)) ?? []).map { ($0.name, $0.value) }) { first, _ in first }
    }

    /// Redirects the browser with a code that contains the scope.
    static func redirect(_ request: LoopbackRequest, _ more: [String: String]) -> LoopbackResponse {
        let query = query(request)
        var components = URLComponents(string: query["redirect_uri"] ?? "")
        components?.queryItems =
            [
                URLQueryItem(name: "code", value: "code|\(query["scope"] ?? "")"),
                URLQueryItem(name: "state", value: query["state"]),
            ] + more.map { URLQueryItem(name: $0.key, value: $0.value) }
        return LoopbackResponse(status: 302, fields: ["Location": components?.string ?? ""])
    }

    /// The paths of the requests of a sign-in: registration, code and token.
    var signInRequests: [String] {
        server.requests.map(\.path).filter { ["/register", "/authorize", "/token"].contains($0) }
    }

    func name(_ path: String = "") -> String { "127.0.0.1:\(resource.issuer.split(separator: ":").last ?? "")\(path)" }
}
