import HTTPExchange
import StrictJSON

/// One response of `/users/delta`.
struct DeltaPage: Sendable {
    enum Change: Sendable {
        /// A new user, or the changed properties of a user.
        case user(id: String, JSONObject)
        /// A removed user, permanently or temporarily.
        case removed(id: String)
    }

    enum Next: Sendable, Equatable {
        /// More results follow at this URL.
        case page(String)
        /// The list is complete; the next changes are at this URL.
        case changes(String)

        var isPage: Bool {
            if case .page = self { true } else { false }
        }
    }

    var changes: [Change]
    var next: Next
}

extension DirectoryClient {
    /// Returns the URL for a new list.
    func deltaURL(selecting properties: [String]) throws(DirectoryError) -> String {
        "\(base)/\(try DeltaQuery(select: properties).plan().target)"
    }

    /// Loads one page of changes.
    ///
    /// - Parameter isMinimal: Whether the page contains only the changed properties.
    /// - Throws: ``DirectoryError`` of the kind `resyncNeeded` if the service does not know the URL any more; the
    ///   errors of the transport and the authorization; `CancellationError`.
    func deltaPage(at url: String, isMinimal: Bool) async throws -> DeltaPage {
        let request = Request(
            url: url, permissions: DeltaQuery.permissions, preference: isMinimal ? DeltaQuery.minimal : nil)
        let budget = makeBudget()
        do {
            return try await loadPage {
                try await response(to: request, budget: budget)
            } read: { response in
                let page = try changes(in: response.object(), of: response)
                return (page, page.next.isPage)
            }
        } catch var error as DirectoryError {
            // The codes also occur with status 400.
            let expired = ["syncstatenotfound", "syncstateinvalid", "resyncrequired", "directory_expiredpagetoken"]
            if let code = error.code?.lowercased(), expired.contains(code) { error.kind = .resyncNeeded }
            throw error
        }
    }

    /// Returns the changes in a response with this object.
    func changes(in object: JSONObject, of response: Response) throws(DirectoryError) -> DeltaPage {
        guard case .array(let elements)? = object["value"] else {
            throw response.unreadable("the list \"value\" is missing")
        }
        var changes: [DeltaPage.Change] = []
        changes.reserveCapacity(elements.count)
        for element in elements {
            guard case .object(let user) = element else {
                throw response.unreadable("the list holds \(element.kind) instead of an object")
            }
            guard let id = user["id"]?.string, Self.isIdentifier(id) else {
                throw response.unreadable("a user in the list has no identifier")
            }
            changes.append(user["@removed"] == nil ? .user(id: id, user) : .removed(id: id))
        }
        if let link = try link("@odata.nextLink", response, object) {
            return DeltaPage(changes: changes, next: .page(link))
        }
        guard let link = try link("@odata.deltaLink", response, object) else {
            throw response.unreadable("it says neither where the next page nor where the next changes are")
        }
        return DeltaPage(changes: changes, next: .changes(link))
    }

    /// Returns a link to save.
    ///
    /// Checked now, because otherwise every later sync with a link to another server would fail.
    private func link(_ name: String, _ response: Response, _ object: JSONObject) throws(DirectoryError) -> String? {
        switch object[name] {
        case nil, .null?: return nil
        case .string(let text)? where !text.isEmpty:
            try checked(text)
            return text
        default: throw response.unreadable("\"\(name)\" is not a string")
        }
    }

    /// Returns whether a string is an identifier that can be shown: no control characters, at most 256 bytes.
    private static func isIdentifier(_ text: String) -> Bool {
        (1...256).contains(text.utf8.count) && text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }
    }
}
