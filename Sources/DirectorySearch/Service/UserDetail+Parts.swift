extension UserDetail.Part {
    /// What became of a question: its value, that there is none, or why it is not known.
    ///
    /// - Throws: what is no ``DirectoryError``.
    init(_ ask: () async throws -> Value) async throws {
        do {
            self = .value(try await ask())
        } catch let error as DirectoryError {
            self.init(error)
        }
    }

    init(_ error: DirectoryError) {
        switch error.kind {
        case .notFound: self = .none
        case .notPermitted: self = .notPermitted(error)
        default: self = .failed(error)
        }
    }
}

extension UserDetail.Part where Value == [DirectoryObject] {
    /// Those of all pages.
    static func reports(of pages: CursorPages) async throws -> Self {
        var pages = pages
        var found: [DirectoryObject] = []
        do {
            while let page = try await pages.next() { found += page.users.map { DirectoryObject(json: $0.json) } }
        } catch let error as DirectoryError {
            return Self(error)
        }
        return found.isEmpty ? .none : .value(found)
    }
}
