import Foundation
import HTTPExchange
import Testing

@testable import DirectorySearch

private func error(_ status: Int, _ body: String, _ fields: HTTPFields = [:]) -> DirectoryError {
    GraphErrorResponse.error(
        for: HTTPResponse(status: status, fields: fields, body: Data(body.utf8)), clientRequestID: "sent",
        permissions: ["User.ReadBasic.All"], now: testNow)
}

@Test(arguments: [
    (400, DirectoryError.Kind.badRequest), (401, .signInNeeded(claims: nil)),
    (403, .notPermitted(permissions: ["User.ReadBasic.All"])), (404, .notFound), (405, .badRequest),
    (410, .resyncNeeded),
    (416, .badRequest), (429, .throttled), (500, .unavailable), (501, .notSupported), (502, .unavailable),
    (503, .unavailable), (504, .unavailable), (302, .intercepted("a redirect (no content type, status 302)")),
    (204, .unreadable("an unexpected status (no content type, status 204)")),
])
func `the status determines the error kind`(status: Int, kind: DirectoryError.Kind) {
    #expect(error(status, "").kind == kind)
    #expect(error(status, #"{"error":{"code":"TooManyRequests","message":"404"}}"#).kind == kind)
}

@Test(arguments: [
    #"{"error":{"code":"C","message":"M","innerError":{"request-id":"R","client-request-id":"Q","date":"2026-01-15T09:30:00"}}}"#,
    #"{"error":{"innererror":{"requestId":"R","clientRequestId":"Q","date":"2026-01-15T09:30:00Z"},"message":"M","code":"C"}}"#,
    #"{"error":{"code":"","message":"M","innerError":{"code":"C","innererror":{"request-id":"R","client-request-id":"Q","date":"2026-01-15T09:30:00"}}}}"#,
    #"{"odata.error":{"code":"C","message":{"lang":"en","value":"M"},"requestId":"R","client-request-id":"Q","date":"2026-01-15T09:30:00"}}"#,
    #"{"Code":"C","Message":"M","RequestId":"R","clientRequestId":"Q","date":"2026-01-15T09:30:00"}"#,
])
func `the reader finds code, message and request ID in every error format`(body: String) {
    let error = error(400, body)
    #expect(error.code == "C")
    #expect(error.message == "M")
    #expect(error.requestID == "R")
    #expect(error.clientRequestID == "Q")
    #expect(error.date == testNow)
}

@Test func `header fields supply the request ID and date that the body lacks`() {
    let fields: HTTPFields = ["request-id": "R", "client-request-id": "Q", "Date": "Thu, 15 Jan 2026 09:30:00 GMT"]
    let error = error(504, "<html><title>504</title></html>", fields)
    #expect(error.kind == .unavailable)
    #expect(error.requestID == "R" && error.clientRequestID == "Q" && error.date == testNow)
    #expect(error.code == nil && error.message == nil)
    #expect(error.reference == "request R, client request Q, 2026-01-15T09:30:00Z")
}

@Test(arguments: [
    "", " ", "{", "{}", "null", "[]", "5", #"{"error":null}"#, #"{"error":[]}"#, #"{"error":{}}"#,
    #"{"error":{"code":5,"message":{},"innerError":[1],"innererror":"x"}}"#, "\u{FEFF}{}", "<html>",
])
func `every error body is readable`(body: String) {
    let error = error(404, body)
    #expect(error.kind == .notFound)
    #expect(error.clientRequestID == "sent")
    #expect(!error.description.isEmpty)
}

@Test func `the reader ignores deeply nested inner errors`() {
    let body =
        #"{"error":"# + String(repeating: #"{"innerError":"#, count: 60) + "{}" + String(repeating: "}", count: 61)
    #expect(error(500, body).kind == .unavailable)
    let deeper = String(repeating: #"{"innerError":"#, count: 100_000)
    #expect(error(500, deeper).kind == .unavailable)
}

@Test func `the reader accepts OAuth error responses`() {
    let error = error(401, #"{"error":"invalid_token","error_description":"expired"}"#)
    #expect(error.code == "invalid_token" && error.message == "expired")
}

@Test func `a missing license is not a missing permission`() {
    let body = #"{"error":{"code":"Authentication_RequestFromNonPremiumTenantOrB2CTenant","message":"m"}}"#
    #expect(error(403, body).kind == .notPermitted(permissions: []))
}

@Test func `a 403 names the missing permission and its remedy`() {
    let error = error(403, #"{"error":{"code":"Authorization_RequestDenied","message":"Insufficient privileges."}}"#)
    #expect(
        error.description
            == "the directory does not permit this without User.ReadBasic.All: Insufficient privileges.")
    #expect(error.remedy == .askAdministrator(permissions: ["User.ReadBasic.All"]))
    #expect(error.remedy.description == "ask an administrator to grant User.ReadBasic.All, then sign in with it")
    #expect(error.reference?.hasPrefix("code Authorization_RequestDenied, ") == true)
}

@Test func `error texts from the service are shortened and escape control characters`() {
    let body =
        #"{"error":{"code":"\u001b[2J","message":"a\u001b]0;x\u0007\u202eb\r\nc"#
        + String(repeating: "é", count: 100_000) + #""}}"#
    let error = error(400, body)
    #expect(error.message?.unicodeScalars.count == 4096)
    #expect(error.message?.hasPrefix("a\u{1B}]0;x\u{7}") == true)
    let shown = error.description + (error.reference ?? "") + error.remedy.description
    #expect(shown.hasPrefix(#"the directory refuses the request (status 400): a\u{1B}]0;x\u{7}\u{202E}b  c"#))
    #expect(shown.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F && $0.value != 0x202E })
    #expect(shown.unicodeScalars.count < 1000)
}

@Test(arguments: [
    DirectoryError.Kind.emptySearch, .invalidQuery("x"), .invalidURL("x"), .signInNeeded(claims: nil),
    .signInNeeded(claims: "{}"), .notPermitted(permissions: []), .notPermitted(permissions: ["a", "b"]), .notFound,
    .ambiguous, .throttled, .unavailable, .badRequest, .notSupported, .resyncNeeded, .unreadable("x"),
    .foreignNextLink(host: "x"), .endlessPages, .tooManyResults(maximum: 7), .copyTooLarge(maximumUsers: 7),
])
func `every error has a summary and a remedy`(kind: DirectoryError.Kind) {
    let error = DirectoryError(kind)
    #expect(!error.summary.isEmpty && !error.summary.hasSuffix("."))
    #expect(!error.remedy.description.isEmpty)
    #expect(error.displayMessage == nil)
    #expect(error.reference == nil)
}
