import LodgePlatform
import HTTPExchange
import StrictJSON

extension GraphDirectory {
    /// Returns one user and the related objects in one `$batch`. Reports and groups are complete, from all of their pages.
    ///
    /// - Throws: The same errors as ``user(_:select:)``. The error of a part is in the part.
    public func detail(
        of name: String, select: [String] = UserQuery.defaultProperties,
        parts: Set<UserDetail.PartName> = Set(UserDetail.PartName.allCases)
    ) async throws -> UserDetail {
        let selection = try Selection(select)
        var path = try UserPath(name)
        let client = try await makeClient()
        let budget = client.makeBudget()
        var batch = try await client.details(path, selection, parts, budget)
        if batch.isNotFound(0) {
            // The name may be a mail address. Otherwise this throws the error of the first request.
            let user = try await GraphDirectory(client: client.sharing(budget)).user(name, select: select)
            guard let identifier = user.id else { throw DirectoryError(.notFound) }
            path = try UserPath(identifier)
            batch = try await client.details(path, selection, parts, budget)
        }
        var reader = DetailReader(client: client, budget: budget, batch: batch)
        let user = User(json: try reader.next(permissions: UserQuery.permissions(toRead: select)).object())
        var detail = UserDetail(user: user)
        for part in UserDetail.PartName.allCases where parts.contains(part) {
            switch part {
            case .manager:
                detail.manager = reader.part(["User.Read.All"]) { response throws(DirectoryError) in
                    .value(User(json: try response.object()))
                }
            case .reports: detail.reports = try await reader.list(["User.Read.All"])
            case .groups: detail.groups = try await reader.list(["GroupMember.Read.All", "Directory.Read.All"])
            case .photo:
                detail.photo = reader.part(["User.ReadBasic.All"]) { response throws(DirectoryError) in
                    let photo = ProfilePhoto(json: try response.object())
                    // The service describes a missing photo as a picture of one pixel.
                    return photo.width ?? 2 <= 1 ? .none : .value(photo)
                }
            }
        }
        return detail
    }

    /// Returns the photo of a user, by identifier or sign-in name, or `nil` if there is no photo.
    ///
    /// - Throws: ``DirectoryError``; the errors of the transport and the authorization; `CancellationError`.
    public func photo(of identifierOrName: String) async throws -> UserPhoto? {
        let path = try UserPath(identifierOrName)
        let client = try await makeClient()
        let request = DirectoryClient.Request(
            url: "\(client.base)/\(path.text)/photo/$value", accept: "image/*",
            permissions: ["User.ReadBasic.All", "User.Read.All"])
        do {
            return try await client.response(to: request, budget: client.makeBudget()).photo()
        } catch let error as DirectoryError where error.kind == .notFound {
            return nil
        }
    }
}

extension DirectoryClient {
    /// Loads a user and then the parts, in the order of the parts.
    fileprivate func details(
        _ path: UserPath, _ selection: Selection, _ parts: Set<UserDetail.PartName>, _ budget: RetryBudget
    ) async throws -> BatchResponse {
        let user = "$select=" + ODataEscaping.queryValue(UserQuery.defaultProperties.joined(separator: ","))
        let object = "$select=" + ODataEscaping.queryValue("id,displayName,mail")
        var items = [BatchItem(target: "\(path.text)?\(selection.options)", permissions: ["User.Read.All"])]
        for part in UserDetail.PartName.allCases where parts.contains(part) {
            let target =
                switch part {
                case .manager: "manager?\(user)"
                case .reports: "directReports?\(object)&$top=999"
                case .groups: "memberOf?\(object)&$top=999"
                case .photo: "photo"
                }
            items.append(BatchItem(target: "\(path.text)/\(target)"))
        }
        return try await batch(items, budget: budget)
    }
}

/// Reads the responses of a batch in order.
private struct DetailReader {
    let client: DirectoryClient
    let budget: RetryBudget
    let batch: BatchResponse
    var position = 0

    mutating func next(permissions: [String]) throws(DirectoryError) -> DirectoryClient.Response {
        defer { position += 1 }
        return try client.response(position, of: batch, permissions: permissions)
    }

    mutating func part<Value>(
        _ permissions: [String], _ read: (DirectoryClient.Response) throws(DirectoryError) -> UserDetail.Part<Value>
    ) -> UserDetail.Part<Value> {
        do throws(DirectoryError) {
            return try read(try next(permissions: permissions))
        } catch {
            return UserDetail.Part(error)
        }
    }

    /// Returns a list with all of its pages.
    mutating func list(_ permissions: [String]) async throws -> UserDetail.Part<[DirectoryObject]> {
        do {
            var response = try next(permissions: permissions)
            var objects: [DirectoryObject] = []
            var loopGuard = LoopGuard(maximumElements: LoopGuard.maximumRelations)
            while true {
                let (members, elements) = try response.list()
                objects += elements.map { DirectoryObject(json: $0.value) }
                guard let link = members["@odata.nextLink"]?.string, !link.isEmpty else { break }
                try loopGuard.enter(link)
                try loopGuard.leave(newElements: elements.count, hasNext: true)
                response = try await client.response(
                    to: DirectoryClient.Request(url: link, permissions: permissions), budget: budget)
            }
            return UserDetail.Part(objects)
        } catch let error as DirectoryError {
            return UserDetail.Part(error)
        }
    }
}
