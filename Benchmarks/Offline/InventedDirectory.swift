import DirectorySearch
import HTTPExchange
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A service with generated users: a list in pages of 999, then the changes.
final class InventedDirectory: Sendable {
    private static let base = "https://graph.microsoft.com/v1.0/users/delta"
    private let people: Int
    private let waiting = Mutex<(count: Int, round: Int)>((0, 0))

    init(people: Int) { self.people = people }

    /// Creates this many changes for the next request.
    func change(_ count: Int) {
        waiting.withLock { $0 = (count, $0.round + 1) }
    }

    func client() throws -> DirectoryClient {
        guard let address = URL(string: "https://graph.microsoft.com/") else { throw BenchmarkError("invalid URL") }
        return try DirectoryClient(graphAPI: address, transport: Transport(service: self)) { _ in "token" }
    }

    private struct Transport: HTTPTransport {
        let service: InventedDirectory
        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            let body = service.answer(request.url.absoluteString)
            return HTTPResponse(status: 200, fields: ["Content-Type": "application/json"], body: Data(body.utf8))
        }
    }

    private func answer(_ address: String) -> String {
        if address.contains("$deltatoken=") {
            let (count, round) = waiting.withLock { waiting in
                defer { waiting.count = 0 }
                return waiting
            }
            // Distributed over all users; every second one has a new name.
            let changed = (0..<count).map { number in
                Self.person((number * 997 + round) % people, title: "Title \(round)", renamed: number % 2 == 0)
            }
            return Self.page(changed, "deltaLink", "$deltatoken=\(round)")
        }
        let first = address.split(separator: "$skiptoken=").last.flatMap { Int($0) } ?? 0
        let end = min(first + 999, people)
        let page = (first..<end).map { Self.person($0, title: "Engineer", renamed: false) }
        return end < people
            ? Self.page(page, "nextLink", "$skiptoken=\(end)") : Self.page(page, "deltaLink", "$deltatoken=0")
    }

    private static func page(_ people: [String], _ link: String, _ query: String) -> String {
        #"{"value":[\#(people.joined(separator: ","))],"@odata.\#(link)":"\#(base)?\#(query)"}"#
    }

    static func id(_ number: Int) -> String {
        let digits = String(mixed(number, 3), radix: 16) + String(number, radix: 16)
        return String(repeating: "0", count: max(0, 32 - digits.count)) + digits
    }

    private static func person(_ number: Int, title: String, renamed: Bool) -> String {
        let name = name(renamed ? number &+ 31_337 : number)
        let address = "\(name.given).\(name.surname)\(number)@contoso.example".lowercased()
        return #"{"id":"\#(id(number))","displayName":"\#(name.given) \#(name.surname)","givenName":"\#(name.given)","#
            + #""surname":"\#(name.surname)","mail":"\#(address)","userPrincipalName":"\#(address)","jobTitle":"\#(title)","#
            + #""department":"Research","officeLocation":"18/\#(number % 1000)","businessPhones":["+1 425 555 0100"],"#
            + #""mobilePhone":null,"preferredLanguage":"en-US"}"#
    }

    private static let syllables = [
        "an", "ba", "cor", "da", "el", "fi", "gra", "ha", "in", "jo", "ka", "lu", "mar", "ne", "ol", "pe", "qui", "ro",
        "sa",
        "ti", "ul", "va", "wi", "xe", "ya", "zo", "bri", "ste", "ther", "lyn", "son", "man", "ova", "sky", "ber", "ger",
        "dé",
        "ü", "ñe", "ço",
    ]

    /// Returns the name of a user. Some of a few thousand given names are common; surnames are distributed more evenly.
    static func name(_ number: Int) -> (given: String, surname: String) {
        let spread = Double(mixed(number, 1) % 1_000_000) / 1_000_000
        return (word(Int(spread * spread * spread * 3000), 11), word(Int(mixed(number, 2) % 40_000), 12))
    }

    private static func word(_ number: Int, _ kind: UInt64) -> String {
        var text = ""
        for location in 0..<(2 + Int(mixed(number, kind) % 3)) {
            text += syllables[Int(mixed(number, kind &+ 100 &+ UInt64(location)) % UInt64(syllables.count))]
        }
        return text.prefix(1).uppercased() + text.dropFirst()
    }

    private static func mixed(_ number: Int, _ kind: UInt64) -> UInt64 {
        var value = (UInt64(truncatingIfNeeded: number) &+ 1) &* 0x9E37_79B9_7F4A_7C15 &+ kind &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 30)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
