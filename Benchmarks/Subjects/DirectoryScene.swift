import HTTPExchange
import LoopbackHTTP
import OAuth2Protocol
import OAuth2AccountStore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A signed-in account, and a directory on loopback whose pages of 999 users are identical.
@MainActor
final class DirectoryScene {
    static let peopleOfPage = 999

    let folder: TemporaryFolder
    let listener: LoopbackListener
    private let environment: [String: String]

    init(environment: [String: String]) async throws {
        folder = try TemporaryFolder()
        let people = Self.people
        listener = try LoopbackListener { request in
            // The next link contains the number of the page; the API version contains the number of pages.
            let parts = request.target.split { $0 == "?" || $0 == "&" || $0 == "/" }
            func number(_ name: String) -> Int? {
                parts.first { $0.hasPrefix(name + "=") }.flatMap { Int($0.dropFirst(name.count + 1)) }
            }
            let last = parts.first.flatMap { Int($0.dropFirst(1)) } ?? 1
            let page = number("page") ?? 1
            var body = Data("{\"value\":[".utf8) + people
            if page < last {
                let host = request.fields["Host"] ?? ""
                body += Data("],\"@odata.nextLink\":\"http://\(host)/v\(last)/users?page=\(page + 1)\"}".utf8)
            } else {
                body += Data("]}".utf8)
            }
            return LoopbackResponse(status: 200, fields: ["Content-Type": "application/json"], body: body)
        }
        var environment = environment
        environment["LODGE_STORE"] = nil
        environment["HOME"] = folder.path
        self.environment = environment
        let settings = SearchScene.settings(port: listener.port)
        for people in [100_000, 1_000_000] {
            try folder.write(
                settings.replacing("\"v1.0\"", with: "\"v\(Self.pages(people))\""), to: "settings-\(people).json")
        }
        try folder.write(String(decoding: people, as: UTF8.self), to: "people.json")
        let store = try await AccountStore(
            settings: try Settings(contentsOf: URL(filePath: folder.path + "/settings-100000.json")),
            storage: SQLiteStorage(directory: StoreLocation(folder.path + "/store")),
            custody: KeyFile(directory: StoreLocation(folder.path + "/store")), watchesOtherProcesses: false)
        _ = try await store.add(
            try TokenResponse.read(TokenAnswer.response(accessToken: TokenAnswer.standardToken)), toType: "graph")
    }

    func close() {
        listener.close()
        folder.remove()
    }

    static func pages(_ people: Int) -> Int { (people + peopleOfPage - 1) / peopleOfPage }

    /// The users of a page, without the brackets around them.
    static let people = Data(
        (0..<peopleOfPage).map { number in
            """
            {"businessPhones":["+1 425 555 0\(100 + number)"],"displayName":"Ada Lovelace \(number)","givenName":"Ada",\
            "jobTitle":"Engineer","mail":"ada\(number)@contoso.example","mobilePhone":null,"officeLocation":"18/2111",\
            "preferredLanguage":"en-GB","surname":"Lovelace","userPrincipalName":"ada\(number)@contoso.example",\
            "id":"87d349ed-44d7-43e1-9a83-5f2406d\(10_000 + number)"}
            """
        }.joined(separator: ",").utf8)

    /// Returns the `lodge` program that lists this many users as lines of JSON.
    func command(_ binary: CommandBinary, people: Int) -> Program {
        Program(
            path: binary.path,
            arguments: [
                "search", "ada", "--all", "--output", "jsonl", "--settings", folder.path + "/settings-\(people).json",
                "--store", folder.path + "/store",
            ], environment: environment)
    }

    /// Returns an equivalent Python program, which uses the library `requests` if it is installed.
    func python(_ path: String, people: Int) -> Program {
        Program(
            path: path,
            arguments: ["-c", Self.listing, "http://127.0.0.1:\(listener.port)/v\(Self.pages(people))/users"],
            environment: environment)
    }

    /// Returns curl, which only fetches the same pages.
    func curl(_ path: String, people: Int) -> Program {
        let pages = Self.pages(people)
        return Program(
            path: path, arguments: ["-s", "http://127.0.0.1:\(listener.port)/v\(pages)/users?page=[1-\(pages)]"],
            environment: environment)
    }

    /// Returns a Python program that parses and writes this many users without a network, and prints the seconds.
    func pythonParsing(_ path: String, people: Int) -> Program {
        Program(
            path: path, arguments: ["-c", Self.parsing, folder.path + "/people.json", "\(Self.pages(people))"],
            environment: environment)
    }

    private static let listing = """
        import json, sys
        try:
            import requests
            session = requests.Session()
            fetch = lambda link: session.get(link).json()
        except ImportError:
            import urllib.request
            fetch = lambda link: json.load(urllib.request.urlopen(link))
        link = sys.argv[1]
        while link:
            page = fetch(link)
            for user in page["value"]:
                sys.stdout.write(json.dumps(user, separators=(",", ":")) + "\\n")
            link = page.get("@odata.nextLink")
        """

    private static let parsing = """
        import json, sys, time
        page = b'{"value":[' + open(sys.argv[1], "rb").read() + b']}'
        out = open("/dev/null", "w")
        start = time.perf_counter()
        for _ in range(int(sys.argv[2])):
            for user in json.loads(page)["value"]:
                out.write(json.dumps(user, separators=(",", ":")) + "\\n")
        print(time.perf_counter() - start)
        """
}
