import Foundation
import LoopbackHTTP
import OAuth2AccountStore
import Synchronization

/// A provider on loopback that rotates refresh tokens. A used token revokes its grant, except that for some users, as
/// at many real providers, the previous token stays valid until the new one is used.
final class SoakProvider: Sendable {
    /// The grant of a sign-in: its valid refresh token and the previous one.
    struct Grant {
        let person: Int
        var current: String
        var previous: String?
        var isDead = false
    }

    struct State {
        var grants: [Grant] = []
        /// The grant of each refresh token, including used tokens.
        var grantOfToken: [String: Int] = [:]
        var personOfAccessToken: [String: Int] = [:]
        var issued = 0
        /// The number of used refresh tokens received, and how many of them were accepted.
        var reused = 0
        var forgiven = 0
    }

    private final class Core: Sendable {
        let state = Mutex(State())
    }
    private let core = Core()
    private let listener: LoopbackListener
    var port: UInt16 { listener.port }
    var counts: State { core.state.withLock { $0 } }

    init() throws {
        let core = core
        listener = try LoopbackListener(limits: .server) { Self.answer($0, core) }
    }

    /// Returns whether a user's provider accepts a refresh token again if its response was lost.
    static func forgives(_ person: Int) -> Bool { person % 2 == 0 }

    private static func answer(_ request: LoopbackRequest, _ core: Core) -> LoopbackResponse {
        if request.path == "/userinfo" {
            let token = request.fields["Authorization"]?.split(separator: " ").last.map(String.init) ?? ""
            guard let person = core.state.withLock({ $0.personOfAccessToken[token] }) else {
                return json(401, #"{"error":"invalid_token"}"#)
            }
            return json(200, #"{"sub":"person-\#(person)","preferred_username":"\#(person)@example.com"}"#)
        }
        let query = URLComponents(string: "?" + String(decoding: request.body, as: UTF8.self))?.queryItems ?? []
        func value(_ name: String) -> String { query.first { $0.name == name }?.value ?? "" }
        let body = core.state.withLock { state in
            value("grant_type") == "refresh_token"
                ? refresh(value("refresh_token"), &state) : signIn(value("code"), &state)
        }
        return body.map { json(200, $0) } ?? json(400, #"{"error":"invalid_grant"}"#)
    }

    private static func json(_ status: Int, _ body: String) -> LoopbackResponse {
        LoopbackResponse(status: status, fields: ["Content-Type": "application/json"], body: Data(body.utf8))
    }

    private static func signIn(_ code: String, _ state: inout State) -> String? {
        guard let person = Int(code) else { return nil }
        state.grants.append(Grant(person: person, current: ""))
        return issue(state.grants.count - 1, &state)
    }

    private static func refresh(_ token: String, _ state: inout State) -> String? {
        guard let number = state.grantOfToken[token] else { return nil }
        let grant = state.grants[number]
        guard !grant.isDead else { return nil }
        if token != grant.current {
            state.reused += 1
            guard forgives(grant.person), token == grant.previous else {
                state.grants[number].isDead = true
                return nil
            }
            state.forgiven += 1
        }
        state.grants[number].previous = token
        return issue(number, &state)
    }

    private static func issue(_ number: Int, _ state: inout State) -> String {
        state.issued += 1
        let token = "RT-\(state.issued)"
        state.grants[number].current = token
        state.grantOfToken[token] = number
        state.personOfAccessToken["AT-\(state.issued)"] = state.grants[number].person
        return
            #"{"access_token":"AT-\#(state.issued)","token_type":"Bearer","refresh_token":"\#(token)","expires_in":3600}"#
    }
}
