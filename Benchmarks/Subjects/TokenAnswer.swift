import HTTPExchange

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A response of a token endpoint, as large as Microsoft's without an ID token.
enum TokenAnswer {
    static let standardToken = "eyJ0eXAiOiJKV1QifQ." + String(repeating: "a", count: 1200) + ".c2lnbmF0dXJl"

    static func body(
        accessToken: String = standardToken,
        refreshToken: String = "0.AX0A" + String(repeating: "b", count: 700)
    ) -> Data {
        Data(
            """
            {"token_type":"Bearer","scope":"User.Read User.ReadBasic.All profile openid email","expires_in":3600,\
            "ext_expires_in":3600,"access_token":"\(accessToken)","refresh_token":"\(refreshToken)"}
            """.utf8)
    }

    static func response(accessToken: String) -> HTTPResponse {
        HTTPResponse(
            status: 200, fields: ["Content-Type": "application/json; charset=utf-8"],
            body: body(accessToken: accessToken))
    }
}
