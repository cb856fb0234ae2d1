import Foundation
import HTTPExchange
import JOSE
import LoopbackHTTP
import OAuth2Protocol
import StoreTestSupport
import Synchronization

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage
import LodgePlatform

/// A token endpoint on loopback for other processes. It rotates refresh tokens and revokes all of them if one is used
/// twice.
final class TokenServer: Sendable {
    struct State {
        var good: Set<String> = []
        var issued = 0
        var refreshes = 0
        var reuses = 0
        /// The number of the next requests that get no response and have no effect.
        var stalls = 0
    }

    private let core = Core()
    private let listener: LoopbackListener
    var port: UInt16 { listener.port }

    init() throws {
        listener = try LoopbackListener(limits: .server) { [core] in await core.answer($0) }
    }

    /// A gate that a request without a response reaches.
    var stalled: Gate { core.stalled }

    /// The state, and the responses that depend on it.
    final class Core: Sendable {
        let state = Mutex(State())
        let stalled = Gate()

        func answer(_ request: LoopbackRequest) async -> LoopbackResponse {
            let text = "?" + String(decoding: request.body, as: UTF8.self)
            let sent = URLComponents(string: text)?.queryItems?.first { $0.name == "refresh_token" }?.value ?? ""
            let stalls = state.withLock { state in
                guard state.stalls > 0 else { return false }
                state.stalls -= 1
                return true
            }
            if stalls {
                try? await stalled.pass()
                return LoopbackResponse(status: 503)
            }
            let number = state.withLock { state -> Int? in
                state.refreshes += 1
                guard state.good.remove(sent) != nil else {
                    state.reuses += 1
                    state.good = []
                    return nil
                }
                state.issued += 1
                state.good.insert("RT-\(state.issued)")
                return state.issued
            }
            guard let number else { return response(400, #"{"error":"invalid_grant"}"#) }
            return response(
                200,
                #"{"access_token":"AT-\#(number)","token_type":"Bearer","refresh_token":"RT-\#(number)","expires_in":3600}"#
            )
        }

        private func response(_ status: Int, _ body: String) -> LoopbackResponse {
            LoopbackResponse(status: status, fields: ["Content-Type": "application/json"], body: Data(body.utf8))
        }
    }

    var counts: State { core.state.withLock { $0 } }
    func change(_ body: (inout State) -> Void) { core.state.withLock { body(&$0) } }

    /// Creates a store with one account whose token has expired.
    func makeStore(in directory: StoreLocation) async throws -> Account.ID {
        change { $0.good = ["RT-0"] }
        var type = try TestStore.type("graph", redirect: "http://127.0.0.1/callback")
        type.provider = .endpoints
        type.scope = ["read"]
        type.endpoints.token = URL(string: "http://127.0.0.1:\(port)/token")
        var dependencies = Dependencies(transport: Providers(all: []), environment: [:])
        dependencies.now = { Date().addingTimeInterval(-7200) }
        let store = try await AccountStore(
            settings: try Settings(types: [type]), storage: SQLiteStorage(directory: directory),
            custody: KeyFile(directory: directory), dependencies: dependencies)
        let answer = try TokenResponse.read(
            .json(["access_token": "AT-0", "refresh_token": "RT-0", "token_type": "Bearer", "expires_in": 3600]))
        return try await store.add(answer, toType: "graph").id
    }
}
