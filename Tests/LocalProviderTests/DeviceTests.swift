import Foundation
import HTTPExchange
import StrictJSON
import Testing

@testable import LocalProvider

/// The device side of the flow.
private struct Device {
    let signIn: SignIn
    let answer: TokenAnswer

    init(_ provider: LoopbackProvider) async throws {
        signIn = SignIn(provider)
        answer = try await signIn.post(
            "/device_authorization", ["client_id": "lodge", "scope": "openid offline_access User.Read"])
    }

    func poll() async throws -> TokenAnswer {
        try await signIn.token([
            "grant_type": "urn:ietf:params:oauth:grant-type:device_code", "device_code": answer["device_code"] ?? "",
        ])
    }

    var page: URL {
        get throws { try #require(answer["verification_uri_complete"].flatMap { URL(string: $0) }) }
    }
}

@Test func `a device receives tokens after the user approves`() async throws {
    let clock = HandClock()
    let device = try await Device(try await provider { $0.now = { clock.now() } })
    #expect(device.answer.object["interval"]?.number?.int64 == 5)
    #expect(device.answer["user_code"]?.wholeMatch(of: /[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}/) != nil)
    #expect(try await device.poll().error == "authorization_pending")
    clock.advance(by: 5)
    #expect(try await device.poll().error == "authorization_pending")
    try await Approval(as: "ayse.unal@contoso.example").approveDevice(try device.page, transport: transport)
    let tokens = try await device.poll()
    #expect(tokens.status == 200)
    #expect(tokens["id_token"] != nil && tokens["refresh_token"] != nil)
    let me = try await device.signIn.get("/v1.0/me", token: tokens.accessToken)
    #expect(me.json["displayName"]?.string == "Ayşe Ünal")
    #expect(try await device.poll().error == "invalid_grant")
    #expect(try await device.signIn.refresh(tokens.refreshToken).status == 200)
}

@Test func `a device that polls too fast receives slow_down`() async throws {
    let clock = HandClock()
    let device = try await Device(
        try await provider {
            $0.now = { clock.now() }
            $0.devicePollingInterval = .seconds(1)
        })
    #expect(try await device.poll().error == "authorization_pending")
    #expect(try await device.poll().error == "slow_down")
    clock.advance(by: 5)
    #expect(try await device.poll().error == "slow_down")
    clock.advance(by: 11)
    #expect(try await device.poll().error == "authorization_pending")
}

@Test func `a device receives access_denied or expired_token`() async throws {
    let clock = HandClock()
    let provider = try await provider { $0.now = { clock.now() } }
    let (first, second) = (try await Device(provider), try await Device(provider))
    try await Approval().denyDevice(try first.page, transport: transport)
    #expect(try await first.poll().error == "access_denied")
    clock.advance(by: 600)
    let page = try second.page
    await #expect(throws: ApprovalError.self) { try await Approval().approveDevice(page, transport: transport) }
    #expect(try await second.poll().error == "expired_token")
}

@Test func `the page accepts a user code in any case and spacing`() async throws {
    let device = try await Device(try await provider())
    let code = try #require(device.answer["user_code"])
    func decide(_ code: String, _ user: String = "ada@contoso.example") async throws -> HTTPResponse {
        let url = try #require(URL(string: device.signIn.provider.issuer.absoluteString + "/device"))
        var form = FormFields()
        for (name, value) in [("user_code", code), ("person", user), ("decision", "approve")] {
            form.append(name, value)
        }
        return try await transport.send(
            HTTPRequest(
                .post, url, fields: ["Content-Type": "application/x-www-form-urlencoded"],
                body: Data(form.encoded.utf8)))
    }
    #expect(try await decide("BBBB-BBBB").text.contains("No device waits"))
    #expect(try await decide("").text.contains("No device waits"))
    #expect(try await decide("<b>").text.contains("&lt;b&gt;"))
    #expect(try await decide(code, "nobody").text.contains("No user has this name"))
    #expect(try await device.poll().error == "authorization_pending")
    let typed = code.lowercased().replacingOccurrences(of: "-", with: " ")
    #expect(try await decide(typed).text.contains("The device continues automatically"))
    #expect(try await device.poll().status == 200)
}

@Test func `a device code is valid only for its client`() async throws {
    let device = try await Device(try await provider())
    try await Approval().approveDevice(try device.page, transport: transport)
    let stolen = try await device.signIn.token([
        "grant_type": "urn:ietf:params:oauth:grant-type:device_code", "device_code": device.answer["device_code"] ?? "",
        "client_id": "lodge-confidential", "client_secret": "not-a-secret",
    ])
    #expect(stolen.error == "invalid_grant")
    #expect(try await device.poll().status == 200)
}
