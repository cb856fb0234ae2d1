import StrictJSON

extension UserPages {
    /// Returns the same pages, each sorted by relevance.
    ///
    /// - Parameters:
    ///   - text: The search text that the users match.
    ///   - additional: The properties that only the ranking needs. The results do not contain them.
    ///   - limit: The maximum number of users; `nil` for all. The query's own limit applies before the ranking, so a
    ///     page larger than this limit gives better results.
    public func ranked(by text: SearchText, removing additional: Set<String> = [], limit: Int? = nil) -> UserPages {
        UserPages { RankedPages(source: makeSource(), text: text, additional: additional, left: limit) }
    }
}

private struct RankedPages: UserPageSource {
    var source: any UserPageSource
    let text: SearchText
    let additional: Set<String>
    var left: Int?

    mutating func next() async throws -> UserPage? {
        guard left != 0, var page = try await source.next() else { return nil }
        page.users = text.ranked(page.users)
        if let left {
            page.hasMore = page.hasMore || page.users.count > left
            page.users = Array(page.users.prefix(left))
            self.left = left - page.users.count
        }
        if !additional.isEmpty {
            page.users = page.users.map {
                User(json: JSONObject($0.json.members.filter { !additional.contains($0.name) }))
            }
        }
        return page
    }
}
