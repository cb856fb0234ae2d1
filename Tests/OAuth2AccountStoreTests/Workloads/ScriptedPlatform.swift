import Foundation
import HTTPExchange
import LodgePlatform
import OAuth2Protocol
import StoreTestSupport
import StrictJSON
import Synchronization

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage

/// The services of a platform and of a provider, as a script: no request reaches the network.
final class ScriptedPlatform: HTTPTransport {
    typealias Handler = @Sendable (HTTPRequest) async throws -> HTTPResponse

    private struct State {
        var handler: Handler = { _ in throw HTTPTransportError(.cannotConnect, host: "", reason: "no route") }
        var requests: [HTTPRequest] = []
        var waits: [Double] = []
        var now = Date(timeIntervalSince1970: 1_800_000_000)
    }
    private let state = Mutex(State())

    var requests: [HTTPRequest] { state.withLock { $0.requests } }
    var waits: [Double] { state.withLock { $0.waits } }
    var now: Date { state.withLock { $0.now } }

    func answer(_ handler: @escaping Handler) { state.withLock { $0.handler = handler } }

    /// Responds with these responses in turn, then repeats the last one.
    func answer(inTurn responses: HTTPResponse...) {
        let left = Mutex(responses)
        answer { _ in left.withLock { $0.count > 1 ? $0.removeFirst() : $0.first ?? HTTPResponse(status: 500) } }
    }

    func advance(_ seconds: Double) { state.withLock { $0.now += seconds } }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let handler = state.withLock { state in
            state.requests.append(request)
            return state.handler
        }
        return try await handler(request)
    }

    /// Returns a store with one type named `t`. Waits of up to a minute take no time.
    func store(_ keys: JSONObject, environment: [String: String] = [:]) async throws -> AccountStore {
        var dependencies = Dependencies(transport: self, environment: environment)
        let timer = FakeTimer(automaticLimit: .seconds(60))
        dependencies.useTestTime(timer)
        dependencies.now = { self.now }
        dependencies.timer = { duration in
            if duration <= .seconds(60) { self.state.withLock { $0.waits.append(duration / .seconds(1)) } }
            try await timer.sleep(duration)
        }
        let settings = JSONValue.object(["types": .object(["t": .object(keys)])])
        return try await AccountStore(
            settings: Settings(bytes: settings.serialized(), source: "test"), storage: MemoryStorage(),
            custody: MemoryKey(), dependencies: dependencies, watchesOtherProcesses: false)
    }

    /// Returns a response of a service of Azure.
    static func token(_ token: String, _ members: JSONObject = [:]) -> HTTPResponse {
        var object: JSONObject = [
            "access_token": .string(token), "token_type": "Bearer", "expires_in": "3600", "refresh_token": "",
            "resource": "https://graph.microsoft.com", "client_id": "echo",
        ]
        for member in members.members { object[member.name] = member.value }
        return .grant(object)
    }
}
