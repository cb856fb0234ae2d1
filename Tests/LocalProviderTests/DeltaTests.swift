import StrictJSON
import Testing

@testable import LocalProvider

/// Follows the links of a delta round to its end.
private func round(
    _ bench: GraphBench, _ start: String, minimal: Bool = false
) throws -> (rows: [JSONObject], link: String, pages: Int) {
    var rows: [JSONObject] = []
    var path = start
    var pages = 0
    while pages < 100 {
        pages += 1
        let answer = bench.ask(path, minimal: minimal)
        #expect(answer.error == nil)
        rows += answer.rows
        if let link = answer.deltaLink { return (rows, link, pages) }
        path = try #require(answer.nextLink)
    }
    throw GraphFailure.badRequest("no end")
}

@Test func `the first round returns all users and the next one no users`() throws {
    let bench = GraphBench(users: 450)
    let (rows, link, pages) = try round(bench, "/users/delta")
    #expect(rows.compactMap { $0["id"]?.string } == bench.contents.all.map(\.id))
    #expect(pages == 3)
    let again = bench.ask(link)
    #expect(again.rows.isEmpty && again.error == nil)
    #expect(again.deltaLink != nil && again.nextLink == nil)
}

@Test func `the $select of the first request applies to all rounds`() throws {
    var bench = GraphBench()
    let (rows, link, _) = try round(bench, "/users/delta?$select=displayName,jobTitle")
    #expect(rows.first?.members.map(\.name) == ["displayName", "jobTitle", "id"])
    // Properties without a value are omitted.
    #expect(rows[9].members.map(\.name) == ["id"])
    var ada = bench.contents[0]
    ada.mobilePhone = "1"
    let changed = bench.contents.change(0, to: ada)
    #expect(changed)
    #expect(bench.ask(link).rows.isEmpty)
    ada.jobTitle = nil
    let changed2 = bench.contents.change(0, to: ada)
    #expect(changed2)
    #expect(
        bench.ask(link).rows == [["displayName": "Ada Lovelace", "jobTitle": nil, "id": .string(ada.id)]])
    #expect(bench.ask(link, minimal: true).rows == [["jobTitle": nil, "id": .string(ada.id)]])
}

@Test func `a round reports each added, changed, removed or restored user once`() throws {
    var bench = GraphBench()
    let link = try round(bench, "/users/delta?$select=displayName").link
    let new = StoredUser(
        id: "11111111-2222-4333-8444-555555555555", userPrincipalName: "new@contoso.example", displayName: "New")
    let position = bench.contents.add(new)
    #expect(position == 60)
    var aoife = bench.contents[1]
    aoife.displayName = "Aoife Byrne"
    let changed = bench.contents.change(1, to: aoife)
    #expect(changed)
    bench.contents.remove(2, isPermanent: false, now: bench.now)
    bench.contents.remove(3, isPermanent: true, now: bench.now)
    bench.contents.remove(4, isPermanent: false, now: bench.now)
    let restored = bench.contents.restore(4, now: bench.now)
    #expect(restored)
    let rows = bench.ask(link).rows
    #expect(rows.count == 5)
    #expect(rows[0]["displayName"]?.string == "New" && rows[1]["displayName"]?.string == "Aoife Byrne")
    #expect(rows[2] == ["id": .string(bench.contents[2].id), "@removed": ["reason": "changed"]])
    #expect(rows[3]["@removed"] == ["reason": "deleted"])
    #expect(rows[4]["@removed"] == nil && rows[4]["id"]?.string == bench.contents[4].id)
    // After 30 days, a soft deletion becomes permanent. By then the token has expired, so a client starts again.
    let later = try #require(bench.ask(link).deltaLink)
    #expect(bench.ask(later).rows.isEmpty)
}

@Test func `deltatoken=latest returns a token and no users`() throws {
    var bench = GraphBench()
    let answer = bench.ask("/users/delta?$deltatoken=latest&$select=displayName")
    #expect(answer.rows.isEmpty && answer.nextLink == nil)
    let link = try #require(answer.deltaLink)
    bench.contents.remove(5, isPermanent: false, now: bench.now)
    #expect(bench.ask(link).rows.count == 1)
}

@Test func `a delta query with $filter returns only these users`() throws {
    var bench = GraphBench()
    let (first, second) = (bench.contents[1].id, bench.contents[2].id)
    let path = "/users/delta?$filter=id%20eq%20'\(first)'%20or%20id%20eq%20'\(second)'"
    let (rows, link, _) = try round(bench, path)
    #expect(rows.compactMap { $0["id"]?.string } == [first, second])
    bench.contents.remove(1, isPermanent: false, now: bench.now)
    bench.contents.remove(7, isPermanent: false, now: bench.now)
    #expect(bench.ask(link).rows.compactMap { $0["id"]?.string } == [first])
    #expect(bench.ask("/users/delta?$filter=surname%20eq%20'a'").error?.status == 400)
}

@Test func `an expired or invalid token requires a full round`() throws {
    var bench = GraphBench(users: 300)
    let first = try #require(bench.ask("/users/delta").nextLink)
    let link = try round(bench, "/users/delta").link
    for bad in ["/users/delta?$deltatoken=x", "/users/delta?$skiptoken=x", link + "0"] {
        let error = try #require(bench.ask(bad).error)
        #expect(error.status == 410 && error.code == "syncStateNotFound")
        #expect(error.location == GraphBench.base + "/users/delta?$deltatoken=")
    }
    bench.now += 7 * 86_400
    #expect(bench.ask(link).error == nil && bench.ask(first).error == nil)
    bench.now += 1
    #expect(bench.ask(link).error?.status == 410 && bench.ask(first).error?.status == 410)
    bench.now -= 86_400
    bench.contents.forgetChanges()
    #expect(bench.ask(link).error?.status == 410)
    // A new full round succeeds.
    let again = try round(bench, "/users/delta").link
    #expect(bench.ask(again).rows.isEmpty && bench.ask(again).error == nil)
}

@Test func `a change during a round appears in the next round`() throws {
    var bench = GraphBench(users: 300)
    let next = try #require(bench.ask("/users/delta?$select=id,displayName").nextLink)
    var ada = bench.contents[0]
    ada.displayName = "Ada King"
    let changed = bench.contents.change(0, to: ada)
    #expect(changed)
    let link = try #require(bench.ask(next).deltaLink)
    #expect(bench.ask(link).column("displayName") == ["Ada King"])
}

@Test(arguments: ["$top=5", "$orderby=displayName", "$search=%22displayName:a%22", "$count=true", "$expand=manager"])
func `a delta query rejects other query options`(option: String) {
    #expect(GraphBench().ask("/users/delta?\(option)", eventual: true).error?.status == 400)
}

@Test func `a delta query requires User.Read.All, and its token is valid only for delta`() throws {
    var bench = GraphBench()
    let link = try round(bench, "/users/delta").link
    bench.caller.permissions = ["User.ReadBasic.All"]
    #expect(bench.ask("/users/delta").error?.status == 403)
    bench.caller.permissions = ["User.Read.All"]
    let token = try #require(link.split(separator: "=").last)
    #expect(bench.ask("/users?$skiptoken=\(token)").error?.code == "Directory_ExpiredPageToken")
    #expect(bench.ask("/users?$deltatoken=\(token)").error?.status == 400)
}

@Test func `a long list of changes has several pages, and the log forgets old changes`() throws {
    var bench = GraphBench(users: 500)
    let link = try round(bench, "/users/delta?$select=id").link
    for index in 0..<450 { bench.contents.remove(index, isPermanent: false, now: bench.now) }
    let (rows, _, pages) = try round(bench, link)
    #expect(rows.count == 450 && pages == 3)
    var log = ChangeLog()
    for _ in 0...ChangeLog.limit { log.add(1, properties: nil) }
    #expect(log.after(0) == nil)
    #expect(log.after(log.last)?.isEmpty == true)
    #expect(log.after(log.last + 1) == nil)
}
