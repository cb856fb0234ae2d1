extension UserDetail.Part {
    /// Creates a part by loading it.
    ///
    /// - Throws: Errors other than ``DirectoryError``.
    init(_ load: () async throws -> Value) async throws {
        do {
            self = .value(try await load())
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
    /// Creates a part from a list; an empty list is ``UserDetail/Part/none``.
    init(_ objects: [DirectoryObject]) { self = objects.isEmpty ? .none : .value(objects) }

    /// Loads the reports of all pages.
    static func reports(of pages: CursorPages) async throws -> Self {
        var pages = pages
        var objects: [DirectoryObject] = []
        do {
            while let page = try await pages.next() { objects += page.users.map { DirectoryObject(json: $0.json) } }
        } catch let error as DirectoryError {
            return Self(error)
        }
        return Self(objects)
    }
}
