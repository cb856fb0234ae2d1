import LodgePlatform
import HTTPExchange
import StrictJSON
import TestSupport
import Testing

@testable import OAuth2Protocol

/// Tests the published device authorization cases with a virtual clock.
struct DeviceGrantTests {
    static let file = VectorFile("device-flow")
    static let authorizations = file.cases { $0.kind == "authorization" }
    static let polls = file.cases { $0.kind == "polling" }
    static let requests = file.cases { $0.kind == "request" && $0.expect["form"] != nil }
    static let prompts = file.cases { $0.expect["display_must_contain"] != nil }

    @Test(arguments: authorizations)
    func `a device authorization response is read as its case says`(vector: VectorCase) {
        check(vector.input.response, vector.expect, .providers)
    }

    @Test(arguments: VectorFile("provider-quirks").cases { ProviderQuirkTests.device.contains($0.id) })
    func `a provider's device authorization response is read as its case says`(vector: VectorCase) {
        check(vector.input.response, vector.expect["strict"]?.object ?? [:], .strict)
        check(vector.input.response, vector.expect["compat"]?.object ?? [:], .providers)
    }

    private func check(_ response: HTTPResponse, _ expect: JSONObject, _ quirks: TokenResponse.ResponseQuirks) {
        do {
            let device = try DeviceAuthorization.read(response, quirks: quirks)
            #expect(expect["outcome"] == "device_authorization")
            if let code = expect["device_code"]?.string { #expect(device.deviceCode.value == code) }
            #expect(device.userCode == expect["user_code"]?.string)
            #expect(device.verificationURI.absoluteString == expect["verification_uri"]?.string)
            if let complete = expect["verification_uri_complete"] {
                #expect(device.verificationURIComplete?.absoluteString == complete.string)
            }
            #expect(device.expiresIn == expect.int("expires_in"))
            #expect(device.interval == expect.int("interval"))
            for forbidden in expect.texts("display_must_not_contain") ?? [] {
                #expect(!"\(device)".contains(forbidden))
            }
        } catch {
            expectFailure(error, expect)
        }
    }

    private static let authorization: JSONObject = [
        "device_code": "secret", "user_code": "WDJB-MJHT", "verification_uri": "https://op.example.com/device",
        "expires_in": 900,
    ]

    @Test func `quoted numbers are accepted, and the interval even in strict mode`() throws {
        var members = Self.authorization
        members["interval"] = "7"
        members["expires_in"] = "900"
        let device = try DeviceAuthorization.read(.json(.object(members)))
        #expect(device.interval == 7 && device.expiresIn == 900)
        #expect(throws: OAuth2Error.self) {
            try DeviceAuthorization.read(.json(.object(members)), quirks: .strict)
        }
        members["expires_in"] = 900
        // The default of five seconds would violate the provider's interval.
        #expect(try DeviceAuthorization.read(.json(.object(members)), quirks: .strict).interval == 7)
        var polling = DevicePolling(device, now: 0)
        #expect(polling.start(now: 0) == .poll(at: 7))
        let slower = HTTPResponse.json(["error": "slow_down", "interval": "30"], status: 400)
        #expect(polling.next(.response(slower), now: 7) == .poll(at: 37))
    }

    @Test func `a user code has at most 128 bytes`() throws {
        var members = Self.authorization
        members["user_code"] = .string(String(repeating: "A", count: 128))
        #expect(try DeviceAuthorization.read(.json(.object(members))).userCode.utf8.count == 128)
        members["user_code"] = .string(String(repeating: "A", count: 129))
        #expect(throws: OAuth2Error.invalidResponse(member: "user_code", reason: "user_code is longer than 128 bytes"))
        {
            try DeviceAuthorization.read(.json(.object(members)))
        }
    }

    @Test(arguments: polls)
    func `polling follows the schedule of its case`(vector: VectorCase) throws {
        let body = JSONValue.object(try #require(vector.input["device_authorization"]?.object)).serialized()
        let device = try DeviceAuthorization.read(HTTPResponse(status: 200, body: .init(body)))
        let run = Self.run(device, vector.input["script"]?.array?.compactMap(\.object) ?? [])

        let earliest = vector.expect["poll_at_not_before"]?.array?.compactMap { $0.number?.double } ?? []
        let late = vector.expect["max_late"]?.number?.double ?? 1
        #expect(run.times.count >= earliest.count)
        for (time, earliest) in zip(run.times, earliest) { #expect(time >= earliest && time <= earliest + late) }
        if let end = vector.expect["must_end_by"]?.number?.double { #expect(run.times.allSatisfy { $0 <= end }) }
        if let polls = vector.expect.int("polls") { #expect(run.times.count == polls) }
        if let most = vector.expect.int("polls_at_most") { #expect(run.times.count <= most) }
        if let nonces = vector.expect["nonce_in_poll"]?.array { #expect(run.nonces == nonces.map(\.string)) }
        switch (vector.outcome, run.end) {
        case ("token", .tokens), ("denied", .denied), ("expired", .expired): break
        case ("oauth_error", .failed(.provider(let error))):
            #expect(error.code.rawValue == vector.expect["error"]?.string)
        case ("invalid_response", .failed(.invalidResponse)), ("http_error", .failed(.http)): break
        default: Issue.record("ended with \(run.end), expected \(vector.outcome)")
        }
        // The polling ended without a new device code: that needs a new sign-in.
        if let isForbidden = vector.expect["must_not_restart_without_user"]?.bool {
            #expect((run.end == .expired) == isForbidden)
        }
    }

    /// Runs a script and returns the time and nonce of each poll.
    private static func run(
        _ device: DeviceAuthorization, _ script: [JSONObject]
    ) -> (times: [Double], nonces: [String?], end: DevicePolling.Step) {
        var polling = DevicePolling(device, now: 0)
        var step = polling.start(now: 0)
        var now = 0.0
        var times: [Double] = [], nonces: [String?] = [], nonce: String?
        for answer in script {
            switch step {
            case .poll(let time): now = time
            case .pollWithNonce(let fresh): nonce = fresh
            default: return (times, nonces, step)
            }
            times.append(now)
            nonces.append(nonce)
            now += answer["takes"]?.number?.double ?? 0
            if answer["timeout"]?.bool == true {
                step = polling.next(.timedOut, now: now)
            } else if answer["connection_error"]?.bool == true {
                step = polling.next(.connectionFailed, now: now)
            } else {
                step = polling.next(.response(answer.response), now: now)
            }
        }
        return (times, nonces, step)
    }

    @Test func `a second nonce request in a row ends the polling`() throws {
        let body = #"{"device_code":"d","user_code":"u","verification_uri":"https://a.example/d","expires_in":1800}"#
        let device = try DeviceAuthorization.read(HTTPResponse(status: 200, body: .init(body.utf8)))
        var polling = DevicePolling(device, now: 0)
        let answer = HTTPResponse(
            status: 400, fields: ["DPoP-Nonce": "n"], body: .init(#"{"error":"use_dpop_nonce"}"#.utf8))
        #expect(polling.next(.response(answer), now: 5) == .pollWithNonce("n"))
        guard case .failed = polling.next(.response(answer), now: 5) else {
            Issue.record("polling continued")
            return
        }
    }

    @Test func `repeated errors slow down the polling until the device code expires`() throws {
        let body = #"{"device_code":"d","user_code":"u","verification_uri":"https://a.example/d","expires_in":1800}"#
        let device = try DeviceAuthorization.read(HTTPResponse(status: 200, body: .init(body.utf8)))
        let run = Self.run(device, Array(repeating: ["status": 502], count: 1000))
        #expect(run.end == .failed(.http(status: 502, retryAfter: nil)))
        #expect(run.times.count < 40)
        #expect(run.times.allSatisfy { $0 < 1800 })
    }

    @Test(arguments: requests)
    func `a device authorization request is created as its case says`(vector: VectorCase) throws {
        var server = AuthorizationServer()
        server.deviceAuthorizationEndpoint = .init(string: "https://as.example.com/device")
        let client = Client(id: try #require(vector.input["client"]?.object?["id"]?.string))
        let scope = Scope(vector.input.texts("scope") ?? [])
        let request = try DeviceAuthorizationRequest(server: server, client: client, scope: scope).request
        #expect(request.method.rawValue == vector.expect["method"]?.string)
        #expect((request.url.query == nil) == vector.expect["must_not_have_query"]?.bool)
        #expect(request.fields["Content-Type"] == vector.expect["content_type"]?.string)
        for member in (vector.expect["form"]?.object ?? [:]).members {
            #expect(form(request)[member.name] == [member.value.string ?? ""])
        }
    }

    @Test(arguments: prompts)
    func `descriptions show the user code but not the device code`(vector: VectorCase) throws {
        let body = JSONValue.object(try #require(vector.input["device_authorization"]?.object)).serialized()
        let device = try DeviceAuthorization.read(HTTPResponse(status: 200, body: .init(body)))
        var dumped = ""
        dump(device, to: &dumped)
        let shown = "\(device)" + String(reflecting: device) + dumped
        for part in vector.expect.texts("display_must_contain") ?? [] { #expect("\(device)".contains(part)) }
        for part in vector.expect.texts("display_must_not_contain") ?? [] { #expect(!shown.contains(part)) }
    }

    @Test func `a poll contains the device code and the client`() throws {
        let server = PKCETests.server
        let request = try TokenRequest(.deviceCode(Secret("d")), server: server, client: Client(id: "c")).request
        #expect(
            form(request) == [
                "grant_type": ["urn:ietf:params:oauth:grant-type:device_code"], "device_code": ["d"],
                "client_id": ["c"],
            ])
    }
}
