import Foundation
import HTTPExchange
import OAuth2Protocol
import StrictJSON
import Testing

import LodgePlatform

@Suite struct ManagedIdentityTests {
    private typealias Request = ManagedIdentityRequest
    private static let url = URL(string: "http://127.0.0.1/token") ?? URL(filePath: "/")
    private static let now = 1_800_000_000.0

    private func request(
        _ endpoint: ManagedIdentityRequest.Endpoint = .imds(url), _ identity: ManagedIdentity.Identity? = nil
    ) throws -> ManagedIdentityRequest {
        try ManagedIdentityRequest(to: endpoint, resource: "https://graph.example", identity: identity)
    }

    private func response(
        _ object: JSONObject, status: Int = 200, _ fields: HTTPFields = [:]
    ) -> HTTPResponse {
        HTTPResponse(status: status, fields: fields, body: Data(JSONValue.object(object).serialized()))
    }

    @Test func `each source has its own parameters and header fields`() throws {
        let imds = try request(.imds(Self.url), .resourceID("/sub/x")).request
        #expect(
            imds.url.query(percentEncoded: true)
                == "api-version=2018-02-01&resource=https%3A%2F%2Fgraph.example&msi_res_id=%2Fsub%2Fx")
        #expect(imds.fields["Metadata"] == "true" && imds.method == .get && imds.connectTimeout == .seconds(2))
        #expect(imds.allowsLinkLocal && imds.redirects == .none && imds.timeout == .seconds(10))
        #expect(imds.maximumResponseSize == 65_536)
        let app = try request(.appService(Self.url, header: Secret("h")), .resourceID("/sub/x")).request
        #expect(app.url.query()?.contains("api-version=2019-08-01") == true)
        #expect(app.url.query()?.contains("&mi_res_id=") == true && app.fields["X-IDENTITY-HEADER"] == "h")
        #expect(app.fields["Metadata"] == nil)
        let learning = try request(.machineLearning(Self.url, secret: Secret("s")), .clientID("c")).request
        #expect(learning.url.query()?.contains("api-version=2017-09-01") == true)
        #expect(learning.url.query()?.hasSuffix("&clientid=c") == true && learning.fields["secret"] == "s")
        let shell = try request(.cloudShell(Self.url)).request
        #expect(shell.method == .post && shell.fields["Metadata"] == "true" && shell.url == Self.url)
        #expect(shell.body == Data("resource=https%3A%2F%2Fgraph.example".utf8))
        #expect(throws: OAuth2Error.self) { try request(.cloudShell(Self.url), .clientID("c")) }
        #expect(throws: OAuth2Error.self) {
            try request(.machineLearning(Self.url, secret: Secret("s")), .objectID("c"))
        }
        let probe = ManagedIdentityRequest.probe(Self.url)
        #expect(probe.fields["Metadata"] == nil && probe.connectTimeout == .seconds(1))
    }

    @Test func `expires_on as text or number has priority over expires_in`() throws {
        for end: JSONValue in ["1800003000", 1_800_003_000] {
            let token = try request().read(
                response([
                    "access_token": "at", "token_type": "Bearer", "expires_in": "10", "expires_on": end,
                    "refresh_token": "", "not_before": "1", "resource": "https://graph.example",
                ]), now: Self.now)
            #expect(token.expiresIn == .seconds(3000) && token.refreshToken == nil && token.additional.members.isEmpty)
        }
        let relative = try request().read(response(["access_token": "at", "expires_in": "3599"]), now: Self.now)
        #expect(relative.expiresIn == .seconds(3599) && relative.tokenType == "bearer")
        #expect(try request().read(response(["access_token": "at"]), now: Self.now).expiresIn == nil)
    }

    @Test func `a long token is refreshed at half its lifetime, or at the time in the response`() throws {
        let long = try request().read(response(["access_token": "at", "expires_in": "86400"]), now: Self.now)
        #expect(long.additional == ["refresh_in": 43_200])
        let named = try request().read(
            response(["access_token": "at", "expires_in": "86400", "refresh_in": "100"]), now: Self.now)
        #expect(named.additional == ["refresh_in": 100])
        let short = try request().read(response(["access_token": "at", "expires_in": "7199"]), now: Self.now)
        #expect(short.additional.members.isEmpty)
    }

    @Test func `the date of the response corrects a wrong clock`() throws {
        let object: JSONObject = ["access_token": "at", "expires_on": "1800003000"]
        let date = HTTPDate.text(Int(Self.now))
        let token = try request().read(response(object, ["Date": date]), now: Self.now + 1_000_000)
        #expect(token.expiresIn == .seconds(3000))
        #expect(throws: OAuth2Error.self) { try request().read(response(object), now: Self.now + 1_000_000) }
    }

    @Test func `an identity that the response does not confirm is refused`() throws {
        let arc = try request(.azureArc(Self.url), .clientID("ABC"))
        #expect(throws: OAuth2Error.self) { try arc.read(response(["access_token": "at"]), now: Self.now) }
        let other = response(["access_token": "at", "client_id": "def"])
        #expect(throws: OAuth2Error.self) { try arc.read(other, now: Self.now) }
        #expect(
            try arc.read(response(["access_token": "at", "client_id": "abc"]), now: Self.now).accessToken.value == "at")
        #expect(throws: OAuth2Error.self) { try request(.imds(Self.url), .clientID("abc")).read(other, now: Self.now) }
        let resource = response(["access_token": "at", "msi_res_id": "/SUB/x"])
        #expect(
            try request(.azureArc(Self.url), .resourceID("/sub/x")).read(resource, now: Self.now).accessToken.value
                == "at")
    }

    @Test func `the three shapes of errors are read`() throws {
        func error(_ object: JSONObject) -> ProviderError? {
            guard case .provider(let error) = ManagedIdentityRequest.failure(response(object, status: 400)) else {
                return nil
            }
            return error
        }
        #expect(
            error(["error": "invalid_request", "error_description": "Identity not found"])?.explanation
                == "Identity not found")
        #expect(error(["statusCode": 400, "message": "No identity"])?.explanation == "No identity")
        let nested = error(["error": ["code": "SecretHeaderNotFound", "message": "no header"]])
        #expect(nested?.code.rawValue == "SecretHeaderNotFound" && nested?.explanation == "no header")
        #expect(
            ManagedIdentityRequest.failure(HTTPResponse(status: 502, body: Data("<html>".utf8)))
                == .http(status: 502, retryAfter: nil))
    }

    @Test(arguments: [
        "Basic realm=/etc/shadow", "Basic realm=/tokens/../shadow.key", "Basic realm=/tokens/a/b.key",
        "Basic realm=/tokens/a.txt", "Basic realm=/tokens/.key", "Basic realm=/tokens2/a.key",
        "Bearer realm=/tokens/a.key",
        "Basic", "Basic realm=", "Basic realm=/tokens/a b.key",
    ])
    func `a challenge that names another file is refused`(_ field: String) {
        let response = HTTPResponse(status: 401, fields: ["WWW-Authenticate": field])
        #expect(throws: OAuth2Error.self) { try ManagedIdentityRequest.challengeFile(response, folder: "/tokens") }
    }

    @Test func `a challenge names a key in the folder of the agent`() throws {
        let plain = HTTPResponse(status: 401, fields: ["WWW-Authenticate": "Basic realm=/tokens/a-1.key"])
        #expect(try ManagedIdentityRequest.challengeFile(plain, folder: "/tokens") == "/tokens/a-1.key")
        let quoted = HTTPResponse(status: 401, fields: ["WWW-Authenticate": "Basic realm=\"/tokens/a-1.key\""])
        #expect(try ManagedIdentityRequest.challengeFile(quoted, folder: "/tokens") == "/tokens/a-1.key")
    }

    @Test func `the metadata service is retried as Microsoft documents`() {
        func delays(_ response: HTTPResponse?, isIMDS: Bool = true) -> [Double] {
            var policy = MetadataRetryPolicy(isIMDS: isIMDS)
            var delays: [Double] = []
            while let delay = policy.delay(after: response), delays.count < 20 { delays.append(delay / .seconds(1)) }
            return delays
        }
        for status in [404, 500, 503] { #expect(delays(HTTPResponse(status: status)) == [1, 2, 4]) }
        #expect(delays(nil) == [1, 2, 4])
        #expect(delays(HTTPResponse(status: 429)) == [2, 4, 8])
        #expect(delays(HTTPResponse(status: 429, fields: ["Retry-After": "7"])) == [7, 7, 7])
        #expect(delays(HTTPResponse(status: 410)) == [10, 10, 10, 10, 10, 10, 10])
        for status in [400, 401, 403] { #expect(delays(HTTPResponse(status: status)).isEmpty) }
        let unknown = response(["error": "invalid_request", "error_description": "Identity not found"], status: 400)
        #expect(delays(unknown) == [1, 2, 4])
        #expect(delays(HTTPResponse(status: 404), isIMDS: false).isEmpty && delays(unknown, isIMDS: false).isEmpty)
        #expect(delays(HTTPResponse(status: 503), isIMDS: false) == [1, 2, 4])
    }
}
