@testable import DirectorySearch
import HTTPExchange
import LodgePlatform
import StrictJSON

let directoryReaders = [
    FuzzReader(
        "page",
        [
            .init("{\"value\":[", "{\"id\":\"a\",\"displayName\":\"b\"},", "{}]}"),
            .init("{\"value\":[{\"displayName\":\"", "a\\u0301", "\"}]}"),
            .init("{\"value\":[{", "\"businessPhones\":[],", "\"id\":\"a\"}]}"),
            .init("{\"value\":[],", "\"a\":1,", "\"b\":2}"),
            .init("{\"value\":[{\"businessPhones\":[", "\"1\",", "\"2\"]}]}"),
            .init("{\"value\":[{\"a\":", "[", "]}]}"),
        ], readPage),
    FuzzReader(
        "delta",
        [
            .init("{\"value\":[", "{\"id\":\"a\"},", "{\"id\":\"b\"}],\"@odata.deltaLink\":\"https://g.example/d\"}"),
            .init("{\"value\":[{\"id\":\"a\"", ",\"x\":1", "}],\"@odata.deltaLink\":\"https://g.example/d\"}"),
            .init("{\"value\":[],\"@odata.nextLink\":\"https://g.example/", "a", "\"}"),
            .init("{\"value\":[],\"@odata.nextLink\":\"https://g.example/?", "'\u{E9}", "\"}"),
        ], readDelta),
    FuzzReader(
        "resource",
        [
            .init("{", "\"schemas\":[],", "\"id\":\"a\"}"), .init("{\"emails\":[", "{\"value\":\"a\"},", "{}]}"),
            .init("{\"a\":1,", "\"Meta\":1,", "\"b\":2}"),
            .init("{\"phoneNumbers\":[", "{\"value\":\"a\",\"type\":\"mobile\"},", "{}]}"),
            .init("{", "\"etag\":1,", "\"id\":\"a\"}"), .init("{\"phones\":[", "{\"value\":\"1\"},", "{}]}"),
            .init("{\"organizations\":[", "{\"title\":\"a\"},", "{}]}"),
            .init("{\"addresses\":[", "{\"type\":\"work\"},", "{}]}"),
            .init("{", "\"a%N\":1,", "\"id\":\"a\"}"),
            .init("{\"schemas\":1,\"meta\":1", ",\"schemas\":1,\"x\":1", "}"),
            .init("{\"error\":{\"code\":\"", "a", "\"}}"),
            .init("{\"error\":{\"innerError\":", "{\"innerError\":", "{}}}}"), .init("{\"error\":[", "{},", "{}]}"),
        ], readResource),
    FuzzReader(
        "filter", [.init("", "'"), .init("", "\u{301}"), .init("", "\\"), .init("", "%")], readFilterText),
]

private func response(_ bytes: [UInt8], status: Int = 200) -> HTTPResponse {
    HTTPResponse(status: status, fields: ["Content-Type": "application/json"], body: Data(bytes))
}

private struct NoTransport: HTTPTransport {
    func send(_ request: HTTPRequest) async throws -> HTTPResponse { HTTPResponse(status: 500) }
}

private let client = URL(string: "https://g.example/").flatMap { url in
    try? DirectoryClient(graphAPI: url, transport: NoTransport()) { _ in "t" }
}

private func checkUser(_ user: User) {
    var line: [UInt8] = []
    user.writeJSON(to: &line)
    require((try? JSONValue(parsing: line))?.object != nil, "a user is written as an object")
    for entry in UserFields.entries(of: user) { require(!entry.values.isEmpty, "an entry has a value") }
    for field in ["displayName", "mail", "manager.displayName", "businessPhones"] {
        _ = UserFields.text(of: field, in: user)
    }
}

private func readPage(_ bytes: [UInt8]) {
    let page = try? DirectoryClient.Response(http: response(bytes), clientRequestID: "").page()
    for user in page?.page.users ?? [] { checkUser(user) }
    if let link = page?.link, let client, let url = try? client.checked(link) {
        require(url.host(percentEncoded: true)?.lowercased() == "g.example", "a link leads to the same host")
        require(url.scheme?.lowercased() == "https", "a link has the same scheme")
    }
    if let user = try? DirectoryClient.Response(http: response(bytes), clientRequestID: "").user() { checkUser(user) }
    _ = try? DirectoryClient.Response(http: response(bytes), clientRequestID: "").number()
}

private func readDelta(_ bytes: [UInt8]) {
    guard let client, let object = (try? JSONValue(parsing: bytes))?.object else { return }
    guard
        let page = try? client.changes(
            in: object, of: DirectoryClient.Response(http: response(bytes), clientRequestID: ""))
    else { return }
    for change in page.changes {
        switch change {
        case .user(let id, let user):
            require((1...256).contains(id.utf8.count), "an identifier has a limit")
            _ = IndexedText(user)
        case .removed(let id): require(!id.isEmpty, "an identifier is not empty")
        }
    }
    let link =
        switch page.next {
        case .page(let link), .changes(let link): link
        }
    require((try? client.checked(link)) != nil, "a link leads to the same server")
}

private func readResource(_ bytes: [UInt8]) {
    let error = GraphErrorResponse.error(
        for: response(bytes, status: 400), clientRequestID: "", permissions: [], now: Date(timeIntervalSince1970: 0))
    require((error.message?.unicodeScalars.count ?? 0) <= 4096, "a message has a limit")
    require(
        error.description.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }, "an error is one line")
    guard let object = (try? JSONValue(parsing: bytes))?.object else { return }
    checkUser(User(scim: object))
    checkUser(User(google: object))
}

private func readFilterText(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    _ = try? UserFilter.raw(text).odata()
    if let filter = try? UserFilter.givenName(startsWith: text).odata() {
        require(
            filter.utf8.starts(with: "startswith(givenName,'".utf8) && filter.utf8.suffix(2).elementsEqual("')".utf8),
            "each string is one literal")
        let literal = Substring(filter.utf8.dropFirst("startswith(givenName,'".utf8.count).dropLast(2))
        require(!String(literal).replacingBytes("''", with: "").utf8.contains(0x27), "each quote is doubled")
    }
    _ = SearchWords.words(text)
    let search = SearchText(text)
    _ = try? UserFilter.matching(search).odata()
    _ = search.ranked([User(json: ["displayName": .string(text)]), User(json: ["givenName": .string(text)])])
    if let phrase = FullText.phrase(text, isPrefix: true, isFirst: true) {
        require(phrase.utf8.count { $0 == 0x22 } == 2, "a phrase has two quotes")
    }
}
