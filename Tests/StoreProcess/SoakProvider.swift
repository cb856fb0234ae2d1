import Foundation
import LoopbackHTTP
import OAuth2AccountStore
import Synchronization

/// A provider on loopback that rotates refresh tokens. One that was used before ends the sign-in it came from, except that some
/// people's provider takes the last one again as long as the one after it was not used, as many real ones do.
final class SoakProvider: Sendable {
    /// What came of one sign-in: the refresh token that is good now, and the one before it.
    struct Grant {
        let person: Int
        var current: String
        var previous: String?
        var isDead = false
    }

    struct State {
        var grants: [Grant] = []
        /// The grant of each refresh token, also of used ones.
        var grantOfToken: [String: Int] = [:]
        var personOfAccessToken: [String: Int] = [:]
        var issued = 0
        /// How many refresh tokens came that were used before, and how many of those were taken again.
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

    /// Whether a person's provider takes a refresh token again whose answer never arrived.
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
