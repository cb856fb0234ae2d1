import Foundation
import Testing

@testable import HTTPExchange

@Test(arguments: [
    (200, "<!DOCTYPE html>", true), (200, "\u{FEFF} \n<html>", true), (201, "<html>", true), (400, "<html>", true),
    (403, "<html>", true), (302, "", true), (307, "{}", true), (511, "", true), (511, "{}", true),
    (200, "{\"a\":\"<html>\"}", false), (200, "", false), (400, "", false), (400, "{}", false), (403, "{}", false),
    (401, "<html>", false), (404, "<html>", false), (429, "<html>", false), (500, "<html>", false),
    (503, "<html>", false),
])
func `a response of a captive portal or proxy is detected`(status: Int, body: String, isIntercepted: Bool) throws {
    let fields: HTTPFields = [
        "Location": "http://portal.example/login?token=secret", "Content-Type": "application/json",
    ]
    let response = HTTPResponse(status: status, fields: fields, body: Data(body.utf8))
    let url = try #require(URL(string: "https://id.example/token"))
    var found: HTTPTransportError?
    do throws(HTTPTransportError) { try response.checkIsFromServer(of: url) } catch { found = error }
    #expect((found?.kind == .intercepted) == isIntercepted)
    #expect(found?.description.contains("secret") != true)
    if [302, 307].contains(status) { #expect(found?.reason.contains("portal.example") == true) }
}
