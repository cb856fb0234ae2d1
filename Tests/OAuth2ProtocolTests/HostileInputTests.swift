import Foundation
import HTTPExchange
import JOSE
import StrictJSON
import TestSupport
import Testing

@testable import OAuth2Protocol

/// Tests randomly damaged responses and strings with control characters.
struct HostileInputTests {
    /// A random number generator with a fixed seed, so that a failure is reproducible.
    struct Dice: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ state >> 33
        }
    }

    static let seeds: [String] = {
        let files = ["token-responses", "other-endpoints", "provider-quirks"].map { VectorFile($0) }
        return files.flatMap(\.cases).map { String(decoding: $0.input.response.body, as: UTF8.self) } + [
            #"{"device_code":"d","user_code":"u","verification_uri":"https://a.example/","expires_in":9,"interval":1e300}"#,
            #"{"issuer":"https://as.example.com","token_endpoint":"https://as.example.com/t","scopes_supported":["a"]}"#,
            #"{"error":"slow_down","interval":1e308,"error_description":7}"#,
        ]
    }()

    @Test func `damaged responses are read or rejected without a crash`() throws {
        var dice = Dice(state: 42)
        let discovery = try Discovery(issuer: "https://as.example.com")
        let authority = try Discovery(authority: "https://login.microsoftonline.com/common")
        let splices = ["1e999", "-1", "9223372036854775808", "null", "[]", "{}", "\\u0000", "\"", "�", ",", "\\ud800"]
        let device = try DeviceAuthorization.read(
            HTTPResponse(status: 200, body: Data(Self.seeds[Self.seeds.count - 3].utf8)))
        var read = 0
        for _ in 0..<1000 {
            var body = Array((Self.seeds.randomElement(using: &dice) ?? "").utf8)
            for _ in 0..<Int.random(in: 1...3, using: &dice) where !body.isEmpty {
                let location = Int.random(in: 0..<body.count, using: &dice)
                switch Int.random(in: 0..<4, using: &dice) {
                case 0: body[location] = UInt8.random(in: 0...255, using: &dice)
                case 1: body.removeSubrange(location...)
                case 2: body.insert(contentsOf: (splices.randomElement(using: &dice) ?? "").utf8, at: location)
                default: body.remove(at: location)
                }
            }
            let status = [200, 200, 201, 400, 401, 503].randomElement(using: &dice) ?? 200
            let types = ["application/json", "text/plain", "application/x-www-form-urlencoded"]
            let response = HTTPResponse(
                status: status,
                fields: ["Content-Type": types.randomElement(using: &dice) ?? "", "Retry-After": "1e9"],
                body: Data(body))
            var polling = DevicePolling(device, now: 0)
            _ = polling.next(.response(response), now: 5)
            for quirks in [TokenResponse.ResponseQuirks.strict, .providers, .init(rawValue: .max)]
            where (try? TokenResponse.read(response, quirks: quirks)) != nil { read += 1 }
            _ = try? DeviceAuthorization.read(response)
            _ = try? Introspection.read(response, now: 0)
            _ = try? ClientRegistration.read(response)
            _ = try? PushedAuthorizationResponse.read(response)
            _ = try? UserInfo.read(response, subject: "s")
            _ = try? JWKSRequest.read(response)
            _ = try? discovery.read(response)
            _ = try? authority.read(response)
            let text = String(decoding: body, as: UTF8.self)
            _ = try? AuthorizationResponse(redirect: text)
            _ = AuthenticationChallenge.challenges(in: ["WWW-Authenticate": text])
            _ = try? RedirectURI(text)
            _ = HTTPResponse(status: 503, fields: ["Retry-After": text, "Date": text]).retryDelay
        }
        // Some damaged responses stay valid; otherwise the test would check only rejections.
        #expect(read > 20)
    }

    @Test(arguments: ["\u{1B}[2J", "\u{9B}2J", "\u{202E}", "\n2026 INFO ok", "\u{7F}", "\u{2028}"])
    func `errors escape control characters of received strings`(text: String) {
        let errors: [OAuth2Error] = [
            .provider(ProviderError(code: ErrorCode(rawValue: text), explanation: text, uri: text)),
            .unsupportedTokenType(text),
        ]
        for error in errors { #expect(!"\(error)\(String(reflecting: error))".contains(text)) }
        #expect(!"\(ProviderError(code: ErrorCode(rawValue: text)))".contains(text))
        do {
            _ = try EndpointURL.check(text, name: "n", allowsLoopbackHTTP: false)
            Issue.record("accepted")
        } catch {
            #expect(!"\(error)".contains(text))
        }
    }

    @Test func `errors shorten received strings`() {
        let error = OAuth2Error.unsupportedTokenType(String(repeating: "x", count: 1 << 20))
        #expect("\(error)".utf8.count < 400)
        #expect(quoted(String(repeating: "x", count: 200)).count == 202)
    }

    @Test func `a combining character does not hide a fragment`() {
        #expect(throws: OAuth2Error.self) {
            try EndpointURL.check("https://a.example/?x#\u{301}", name: "n", allowsLoopbackHTTP: false)
        }
    }

    @Test(arguments: [
        ("120", nil, 120), ("0.5", nil, 1), ("99999999999", nil, 86_400), ("-1", nil, nil), ("soon", nil, nil),
        ("Sun, 06 Nov 1994 08:49:37 GMT", nil, nil),
        ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:07 GMT", 30),
        ("Sun, 06 Nov 1994 08:49:07 GMT", "Sun, 06 Nov 1994 08:49:37 GMT", 0),
        ("Fri, 01 Mar 2024 00:00:10 GMT", "Thu, 29 Feb 2024 23:59:50 GMT", 20),
    ])
    func `Retry-After is read as seconds or as a date relative to Date`(value: String, date: String?, seconds: Int?) {
        var fields: HTTPFields = ["Retry-After": value]
        fields["Date"] = date
        #expect(HTTPResponse(status: 503, fields: fields).retryDelay == seconds.map { .seconds($0) })
    }

    @Test(arguments: [
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
    ])
    func `an HTTP date is parsed to seconds`(text: String, seconds: Int) {
        #expect(HTTPDate.parse(text)?.timeIntervalSince1970 == Double(seconds))
    }

    @Test func `ResponseQuirks has a settings name for each quirk`() {
        #expect(TokenResponse.ResponseQuirks(name: "commaSeparatedScope") == .commaSeparatedScope)
        #expect(TokenResponse.ResponseQuirks(name: "providers") == .providers)
        #expect(TokenResponse.ResponseQuirks(name: "anything") == nil)
    }
}
