import StrictJSON
import Testing

@testable import LocalProvider

/// A directory without a network that a test can query and change.
struct GraphBench {
    var contents: DirectoryContents
    var caller = DirectoryPrincipal(user: 0, permissions: ["User.Read.All", "User.ReadWrite.All"])
    var isStrict = false
    var now = 1_800_000_000
    var generation = 0
    static let base = "http://127.0.0.1:1/v1.0"

    init(users: Int = 60) { contents = DirectoryContents(UserTable(count: users, seed: 1)) }

    /// Sends a request. `path` may be a complete link, with a percent-encoded query.
    func ask(
        _ path: String, eventual: Bool = false, method: String = "GET", minimal: Bool = false
    ) -> GraphResponse {
        let path = path.hasPrefix(Self.base) ? String(path.dropFirst(Self.base.count)) : path
        let name = path.prefix { $0 != "?" }
        let request = GraphRequest(
            method: method, path: String(name),
            query: name.endIndex < path.endIndex ? String(path[path.index(after: name.endIndex)...]) : nil,
            consistencyLevel: eventual ? "eventual" : nil, base: Self.base, prefersMinimal: minimal)
        var resources = GraphResources(contents: contents)
        resources.withholdsNonBasicProperties = isStrict
        resources.now = now
        resources.generation = generation
        return resources.response(to: request, caller)
    }
}

extension GraphResponse {
    var json: JSONObject? {
        switch self {
        case .json(let object), .list(let object), .restoration(_, let object): object
        default: nil
        }
    }
    var rows: [JSONObject] { json?["value"]?.array?.compactMap(\.object) ?? [] }
    func column(_ name: String) -> [String] { rows.map { $0[name]?.string ?? "-" } }
    var error: GraphFailure? { if case .failure(let failure) = self { failure } else { nil } }
    var plainText: String? { if case .text(let text) = self { text } else { nil } }
    var nextLink: String? { json?["@odata.nextLink"]?.string }
    var deltaLink: String? { json?["@odata.deltaLink"]?.string }
}
