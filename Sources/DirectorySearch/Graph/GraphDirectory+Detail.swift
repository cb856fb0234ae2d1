import Platform
import HTTPExchange
import StrictJSON

extension GraphDirectory {
    /// One person, and who and what is around them, in one `$batch`. Reports and groups come whole, page by page.
    ///
    /// - Throws: as ``user(_:select:)``. What goes wrong with a part is told in the part.
    public func detail(
        of name: String, select: [String] = UserQuery.defaultProperties,
        parts: Set<UserDetail.PartName> = Set(UserDetail.PartName.allCases)
    ) async throws -> UserDetail {
        let selection = try Selection(select)
        var path = try UserPath(name)
        let connection = try await connect()
        let budget = connection.makeBudget()
        var answer = try await connection.answers(path, selection, parts, budget)
        if let first = answer.responses.first, first?.status == 404 {
            // The name may be a mail address. The error of the first question stands if it is not.
            let user = try await GraphDirectory(connection: connection.sharing(budget)).user(name, select: select)
            guard let identifier = user.id else { throw DirectoryError(.notFound) }
            path = try UserPath(identifier)
            answer = try await connection.answers(path, selection, parts, budget)
        }
        var reading = DetailReading(connection: connection, budget: budget, answer: answer)
        let user = User(json: try reading.next(permissions: UserQuery.permissions(toRead: select)).object())
        var detail = UserDetail(user: user)
        for part in UserDetail.PartName.allCases where parts.contains(part) {
            switch part {
            case .manager:
                detail.manager = reading.part(["User.Read.All"]) { answer throws(DirectoryError) in
                    .value(User(json: try answer.object()))
                }
            case .reports: detail.reports = try await reading.list(["User.Read.All"])
            case .groups: detail.groups = try await reading.list(["GroupMember.Read.All", "Directory.Read.All"])
            case .photo:
                detail.photo = reading.part(["User.ReadBasic.All"]) { answer throws(DirectoryError) in
                    let photo = ProfilePhoto(json: try answer.object())
                    // The service describes a photo that does not exist as a picture of one point.
                    return photo.width ?? 2 <= 1 ? .none : .value(photo)
                }
            }
        }
        return detail
    }

    /// The photo of a person, by identifier or sign-in name; nil when there is none.
    ///
    /// - Throws: ``DirectoryError``; what the transport and the authorization throw; `CancellationError`.
    public func photo(of identifierOrName: String) async throws -> UserPhoto? {
        let path = try UserPath(identifierOrName)
        let connection = try await connect()
        do {
            let answer = try await connection.answer(
                to: GraphConnection.Question(
                    address: "\(connection.base)/\(path.text)/photo/$value", accept: "image/*",
                    permissions: ["User.ReadBasic.All", "User.Read.All"]), budget: connection.makeBudget())
            guard !answer.response.body.isEmpty else { return nil }
            return UserPhoto(bytes: answer.response.body, mediaType: answer.response.fields["Content-Type"])
        } catch let error as DirectoryError where error.kind == .notFound {
            return nil
        }
    }
}

extension GraphConnection {
    /// The answers to the questions for a person and the parts, in the order of the parts.
    fileprivate func answers(
        _ path: UserPath, _ selection: Selection, _ parts: Set<UserDetail.PartName>, _ budget: RetryBudget
    ) async throws -> BatchResponse {
        let people = "$select=" + ODataEscaping.queryValue(UserQuery.defaultProperties.joined(separator: ","))
        let named = "$select=" + ODataEscaping.queryValue("id,displayName,mail")
        var questions = [BatchItem(target: "\(path.text)?\(selection.options)", permissions: ["User.Read.All"])]
        for part in UserDetail.PartName.allCases where parts.contains(part) {
            switch part {
            case .manager: questions.append(BatchItem(target: "\(path.text)/manager?\(people)"))
            case .reports: questions.append(BatchItem(target: "\(path.text)/directReports?\(named)&$top=999"))
            case .groups: questions.append(BatchItem(target: "\(path.text)/memberOf?\(named)&$top=999"))
            case .photo: questions.append(BatchItem(target: "\(path.text)/photo"))
            }
        }
        return try await batch(questions, budget: budget)
    }
}

/// Reads the answers of a batch one after the other.
private struct DetailReading {
    let connection: GraphConnection
    let budget: RetryBudget
    let answer: BatchResponse
    var position = 0

    mutating func next(permissions: [String]) throws(DirectoryError) -> GraphConnection.Answer {
        defer { position += 1 }
        return try connection.answer(position, of: answer, permissions: permissions)
    }

    mutating func part<Value>(
        _ permissions: [String], _ read: (GraphConnection.Answer) throws(DirectoryError) -> UserDetail.Part<Value>
    ) -> UserDetail.Part<Value> {
        do throws(DirectoryError) {
            return try read(try next(permissions: permissions))
        } catch {
            return Self.part(of: error)
        }
    }

    /// A list and all its further pages.
    mutating func list(_ permissions: [String]) async throws -> UserDetail.Part<[DirectoryObject]> {
        do {
            var answer = try next(permissions: permissions)
            var objects: [DirectoryObject] = []
            var guardian = LoopGuard()
            while true {
                let (members, elements) = try answer.list()
                objects += elements.map { DirectoryObject(json: $0.value) }
                guard let link = members["@odata.nextLink"]?.string, !link.isEmpty else { break }
                try guardian.enter(link)
                try guardian.leave(isEmpty: elements.isEmpty)
                answer = try await connection.answer(
                    to: GraphConnection.Question(address: link, permissions: permissions), budget: budget)
            }
            return objects.isEmpty ? .none : .value(objects)
        } catch let error as DirectoryError {
            return Self.part(of: error)
        }
    }

    private static func part<Value>(of error: DirectoryError) -> UserDetail.Part<Value> {
        switch error.kind {
        case .notFound: .none
        case .notPermitted: .notPermitted(error)
        default: .failed(error)
        }
    }
}
