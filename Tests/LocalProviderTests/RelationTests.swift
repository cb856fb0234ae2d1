import Foundation
import StrictJSON
import Testing

@testable import LocalProvider

@Test func `expanding manager with $levels returns the chain of managers`() throws {
    let bench = GraphBench(users: 300)
    let path = "/users/\(bench.contents[100].id)?$select=id&$expand=manager($levels=max;$select=id,displayName)"
    #expect(bench.ask(path).error?.code == "Request_UnsupportedQuery")
    #expect(bench.ask(path, eventual: true).error != nil)
    var object = try #require(bench.ask(path + "&$count=true", eventual: true).json)
    var chain: [String] = []
    while let manager = object["manager"]?.object {
        chain.append(manager["id"]?.string ?? "")
        object = manager
    }
    var wanted: [String] = []
    var next = bench.contents.manager(of: 100)
    while let index = next {
        wanted.append(bench.contents[index].id)
        next = bench.contents.manager(of: index)
    }
    #expect(chain == wanted && chain.count > 1)
    let two = bench.ask(path.replacingOccurrences(of: "max", with: "2") + "&$count=true", eventual: true).json
    #expect(two?["manager"]?.object?["manager"]?.object?["manager"] == nil)
    #expect(bench.ask(path.replacingOccurrences(of: "max", with: "0") + "&$count=true", eventual: true).error != nil)
}

@Test(arguments: [
    ("$expand=photo", "ExpandNotSupported"), ("$expand=manager,directReports", "Request_BadRequest"),
    ("$expand=manager($top=1)", "Request_BadRequest"), ("$expand=manager($select=nothing)", "BadRequest"),
    ("$expand=manager(", "Request_BadRequest"),
])
func `an unknown expansion is rejected`(option: String, code: String) {
    #expect(GraphBench().ask("/me?\(option)").error?.code == code)
}

@Test func `expanding directReports returns at most 20 users`() {
    var bench = GraphBench(users: 300)
    for index in 30..<60 {
        var user = bench.contents[index]
        user.manager = 0
        let changed = bench.contents.change(index, to: user)
        #expect(changed)
    }
    #expect(bench.ask("/me?$expand=directReports($select=id)").json?["directReports"]?.array?.count == 20)
    let reports = bench.ask("/me/directReports?$top=999").rows
    #expect(reports.count > 30 && reports.allSatisfy { $0["@odata.type"] == "#microsoft.graph.user" })
    let cast = bench.ask("/me/directReports/microsoft.graph.user?$top=1").json
    #expect(cast?["@odata.context"]?.string?.hasSuffix("#users") == true)
    #expect(bench.ask("/me/directReports/$count").error?.status == 400)
    #expect(bench.ask("/me/directReports/$count", eventual: true).plainText == String(reports.count))
}

@Test func `memberOf lists several types, and a cast selects one`() throws {
    let bench = GraphBench()
    let all = bench.ask("/me/memberOf")
    #expect(Set(all.column("@odata.type")).count >= 2)
    let cast = "/me/memberOf/microsoft.graph.group"
    #expect(bench.ask(cast).rows.allSatisfy { $0["@odata.type"] == nil && $0["mailEnabled"] != nil })
    #expect(bench.ask(cast).rows.count < all.rows.count)
    #expect(
        bench.ask(cast + "?$count=true&$search=%22displayName:peop%22&$select=id,displayName", eventual: true)
            .column("displayName") == ["All People"])
    let filtered = bench.ask(
        cast + "?$count=true&$orderby=displayName&$filter=startswith(displayName,%20'a')", eventual: true)
    #expect(filtered.json?["@odata.count"]?.number?.int64 == 1)
    #expect(filtered.json?["@odata.context"]?.string?.hasSuffix("$metadata#groups") == true)
    #expect(bench.ask(cast + "?$filter=startswith(displayName,'a')").error?.status == 400)
    #expect(bench.ask("/me/memberOf?$filter=startswith(displayName,'a')&$count=true", eventual: true).error != nil)
    #expect(bench.ask("/me/memberOf/$count").error?.status == 400)
    #expect(bench.ask("/me/memberOf/$count", eventual: true).plainText == String(all.rows.count))
    #expect(bench.ask(cast + "?$select=nothing").error?.status == 400)
    #expect(bench.ask("/me/memberOf/microsoft.graph.device").error?.status == 400)
    #expect(bench.ask("/me/memberOf/nothing").error?.status == 400)
    #expect(bench.ask("/me/transitiveMemberOf").rows.count > all.rows.count)
    let link = try #require(bench.ask("/me/memberOf?$top=1&$select=displayName").nextLink)
    #expect(link.contains("$select=displayName") && bench.ask(link).rows.count == 1)
}

@Test func `groups without read permission have only type and identifier`() {
    var bench = GraphBench()
    bench.isStrict = true
    #expect(bench.ask("/me/memberOf").rows.allSatisfy { $0.members.map(\.name) == ["@odata.type", "id"] })
    bench.caller.permissions.insert("GroupMember.Read.All")
    #expect(bench.ask("/me/memberOf").column("displayName").contains("All People"))
    bench.caller.permissions = ["User.Read"]
    #expect(bench.ask("/users/\(bench.contents[1].id)/memberOf").error?.status == 403)
    #expect(bench.ask("/me/memberOf").error == nil)
}

@Test func `a photo is an image of the requested size`() throws {
    let bench = GraphBench()
    let description = try #require(bench.ask("/me/photo").json)
    #expect(description["id"] == "648x648" && description["@odata.mediaContentType"] == "image/png")
    #expect(bench.ask("/me/photos").column("id").count == 9)
    #expect(bench.ask("/me/photos/48x48").json?["width"]?.number?.int64 == 48)
    for (path, side) in [("/me/photo/$value", 648), ("/me/photos/48x48/$value", 48), ("/me/photos/96x96/%24value", 96)]
    {
        guard case .content(let data, "image/png") = bench.ask(path) else {
            Issue.record("no image at \(path)")
            continue
        }
        let bytes = Array(data)
        #expect(bytes.prefix(8) == [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
        #expect(bytes[16..<20].reduce(0) { $0 << 8 | Int($1) } == side)
        #expect(bytes.suffix(8) == [0x49, 0x45, 0x4E, 0x44, 0xAE, 0x42, 0x60, 0x82])
    }
    for path in ["/me/photos/50x50", "/me/photos/48x96", "/me/photos/x"] {
        #expect(bench.ask(path).error?.status == 404)
    }
    #expect(bench.ask("/me/photo/nothing").error?.status == 400)
}

@Test func `a missing photo is reported as by Graph`() {
    let bench = GraphBench()
    #expect(bench.ask("/users/anouk@contoso.example/photo").error?.code == "ErrorNonExistentMailbox")
    #expect(bench.ask("/users/li.ming@contoso.example/photo/$value").error?.code == "ImageNotFound")
    #expect(bench.ask("/users/\(bench.contents[7].id)/photo").json?["id"] == "1x1")
    #expect(bench.ask("/users/\(bench.contents[7].id)/photo/$value").error?.status == 404)
    #expect(bench.ask("/users/li.ming@contoso.example/photos").rows.isEmpty)
}

@Test func `generated images are valid and differ`() {
    #expect(Picture.png(of: "a", side: 48) != Picture.png(of: "b", side: 48))
    #expect(Picture.png(of: "a", side: 48) == Picture.png(of: "a", side: 48))
    #expect(Picture.png(of: "a", side: 648).count < 60_000)
}

@Test func `a deleted user is listed under deletedItems and can be restored`() throws {
    var bench = GraphBench()
    let user = bench.contents[2]
    bench.contents.remove(2, isPermanent: false, now: bench.now)
    #expect(bench.ask("/users/\(user.id)").error?.status == 404)
    #expect(bench.ask("/users/\(user.userPrincipalName)").error?.status == 404)
    #expect(bench.ask("/users/$count", eventual: true).plainText == "59")
    #expect(!bench.ask("/users?$top=999").column("id").contains(user.id))
    #expect(!bench.ask("/users?$top=999&$orderby=displayName").column("id").contains(user.id))
    let path = "/directory/deletedItems/microsoft.graph.user"
    let list = bench.ask(path + "?$select=id,userPrincipalName,deletedDateTime")
    #expect(list.column("id") == [user.id])
    #expect(
        list.column("userPrincipalName") == [user.id.filter { $0 != "-" } + user.userPrincipalName])
    #expect(list.column("deletedDateTime") == ["2027-01-15T08:00:00Z"])
    #expect(bench.ask(path + "/$count", eventual: true).plainText == "1")
    #expect(bench.ask(path + "?$orderby=deletedDateTime").error?.status == 400)
    #expect(bench.ask(path + "?$orderby=deletedDateTime&$count=true", eventual: true).rows.count == 1)
    let item = "/directory/deletedItems/\(user.id)"
    #expect(bench.ask(item).json?["@odata.type"] == "#microsoft.graph.user")
    guard case .restoration(2, let object) = bench.ask(item + "/restore", method: "POST") else {
        Issue.record("not restored")
        return
    }
    #expect(object["userPrincipalName"]?.string == user.userPrincipalName)
    bench.now += 30 * 86_400
    #expect(bench.ask(path).rows.isEmpty && bench.ask(item).error?.status == 404)
}

@Test func `deletedItems requires permissions`() {
    var bench = GraphBench()
    bench.contents.remove(2, isPermanent: false, now: bench.now)
    let item = "/directory/deletedItems/\(bench.contents[2].id)"
    bench.caller.permissions = ["User.Read.All"]
    #expect(bench.ask(item).error == nil)
    #expect(bench.ask(item + "/restore", method: "POST").error?.status == 403)
    #expect(bench.ask(item, method: "DELETE").error?.status == 403)
    bench.caller.permissions = ["User.ReadBasic.All"]
    #expect(bench.ask("/directory/deletedItems/microsoft.graph.user").error?.status == 403)
    bench.caller.permissions = ["User.ReadWrite.All"]
    #expect(bench.ask(item + "/restore").error?.status == 405)
    #expect(bench.ask("/directory/deletedItems").error?.status == 400)
    #expect(bench.ask("/directory/nothing").error?.status == 400)
    if case .purge(2) = bench.ask(item, method: "DELETE") {} else { Issue.record("not purged") }
}

@Test func `signInActivity requires a permission and makes pages smaller`() {
    var bench = GraphBench(users: 600)
    let path = "/users?$select=id,signInActivity&$top=999"
    #expect(bench.ask(path).error?.status == 403)
    bench.caller.permissions.insert("AuditLog.Read.All")
    #expect(bench.ask(path).rows.count == 500)
}
