import HTTPExchange
import JOSE
import OAuth2Protocol
import StrictJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Compares signatures with `openssl speed`, and token responses with Foundation's decoder, in processor time on one
/// core.
@MainActor
enum JOSEBenchmark {
    private static let rounds = 3
    private static let seconds = 1

    static func run(_ show: @MainActor (Figure) -> Void) async throws {
        let environment = Environment.ofThisProcess
        let openssl = OpenSSLSpeed(path: try Program.find("openssl", in: environment), environment: environment)
        try await signatures(.rs256, openssl, .rsa2048, show)
        try await signatures(.es256, openssl, .ecdsaP256, show)
        try await tokenAnswers(show)
    }

    private static func signatures(
        _ algorithm: JWSAlgorithm, _ openssl: OpenSSLSpeed, _ operation: OpenSSLSpeed.Operation,
        _ show: @MainActor (Figure) -> Void
    ) async throws {
        let key = try JWK.generate(for: algorithm, keyID: "1")
        let token = try JWT.sign(claims, with: key, algorithm: algorithm, header: ["typ": "JWT", "kid": "1"])
        let keys = JWKSet([key])
        guard let publicKey = key.publicKey, let end = token.lastIndex(of: "."),
            let signature = Base64URL.decode(token[token.index(after: end)...])
        else { throw BenchmarkError("the signed token has no signature") }
        let content = Array(token[..<end].utf8)
        let peer = { @MainActor () throws -> Double in try openssl.verifications(operation, seconds: seconds) }
        // The operation of openssl speed, and the digest of the token, which it omits.
        let signatures = try await inTurns(
            rounds: rounds, warmUp: 1,
            ours: {
                try rate(seconds: Double(seconds), batch: 100) {
                    guard try publicKey.isSignature(signature, of: content, using: algorithm) else {
                        throw BenchmarkError("our own signature does not verify")
                    }
                }
            }, peer: peer)
        show(figure("\(algorithm) signatures verified", signatures, .atLeast(0.8)))
        let tokens = try await inTurns(
            rounds: rounds, warmUp: 1,
            ours: {
                try rate(seconds: Double(seconds), batch: 100) {
                    _ = try JWT(parsing: token).verified(with: keys, algorithms: [algorithm])
                }
            }, peer: peer)
        show(figure("\(algorithm) tokens read and verified", tokens, .none))
    }

    private static func figure(_ name: String, _ rates: (ours: [Double], peer: [Double]), _ goal: Goal) -> Figure {
        Figure(
            name: name, unit: "per second", digits: 0, ours: Samples(rates.ours), peerName: "openssl speed",
            peer: Samples(rates.peer), goal: goal)
    }

    /// The claims of an ID token.
    private static let claims: JSONObject = [
        "iss": "https://login.microsoftonline.com/9122040d-6c67-4c5b-b112-36a304b66dad/v2.0",
        "sub": "AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ", "aud": "6cb04018-a3f5-46a7-b995-940c78f5aef3",
        "exp": 1_536_361_411, "iat": 1_536_274_711, "nbf": 1_536_274_711, "name": "Abe Lincoln",
        "preferred_username": "AbeLi@microsoft.com", "oid": "00000000-0000-0000-66f3-3332eca7ea81",
        "tid": "9122040d-6c67-4c5b-b112-36a304b66dad", "nonce": "123523",
    ]

    /// The members that a decoder without checks reads.
    private struct Decoded: Decodable {
        var access_token: String
        var token_type: String
        var expires_in: Int
        var refresh_token: String?
        var scope: String?
    }

    private static func tokenAnswers(_ show: @MainActor (Figure) -> Void) async throws {
        let response = TokenAnswer.response(accessToken: TokenAnswer.standardToken)
        let rates = try await inTurns(
            rounds: 2 * rounds + 1, warmUp: 1,
            ours: { try rate(seconds: 0.5, batch: 1000) { _ = try TokenResponse.read(response) } },
            peer: {
                try rate(seconds: 0.5, batch: 1000) { _ = try JSONDecoder().decode(Decoded.self, from: response.body) }
            })
        show(
            Figure(
                name: "token responses read", unit: "per second", digits: 0, ours: Samples(rates.ours),
                peerName: "JSONDecoder", peer: Samples(rates.peer), goal: .oursAtLeast(100_000)))
    }
}
