import HTTPExchange
import StrictJSON

/// One answer of `/users/delta`.
struct DeltaPage: Sendable {
    enum Change: Sendable {
        /// Somebody new, or what is new about somebody.
        case person(id: String, JSONObject)
        /// Somebody is gone, for good or for now.
        case removed(id: String)
    }

    enum Next: Sendable, Equatable {
        /// There is more, at this address.
        case page(String)
        /// That was all; the next changes are at this address.
        case changes(String)
    }

    var changes: [Change]
    var next: Next
}

extension GraphConnection {
    /// How often a page is asked for in the hope of an answer that is not to a retried request.
    private static let maximumRepeats = 3

    /// The address of a new list.
    func deltaAddress(selecting properties: [String]) throws(DirectoryError) -> String {
        "\(base)/\(try DeltaQuery(select: properties).plan().target)"
    }

    /// Reads one page of changes.
    ///
    /// - Parameter isMinimal: whether only what changed about somebody is wanted.
    /// - Throws: ``DirectoryError``, of the kind `resyncNeeded` when the service no longer knows the address; what the transport and
    ///   the authorization throw; `CancellationError`.
    func deltaPage(at address: String, properties: [String], isMinimal: Bool) async throws -> DeltaPage {
        var connection = self
        let retries = LastRequestFlag()
        connection.transport = DeltaTransport(
            inner: transport, preference: isMinimal ? DeltaQuery.minimal : nil, retries: retries)
        let question = GraphConnection.Question(
            address: address, permissions: try DeltaQuery(select: properties).plan().permissions)
        let budget = makeBudget()
        var repeats = 1
        while true {
            do {
                let answer = try await connection.answer(to: question, budget: budget)
                let page = try read(answer, try answer.object())
                // The service forgets the place that it names in an answer to a retried request
                // (`DirectoryPageTokenNotFoundException`): it is asked once more, from the place that is known.
                guard retries.wasRetried, case .page = page.next, repeats < Self.maximumRepeats else { return page }
                repeats += 1
            } catch var error as DirectoryError {
                // The codes also come with the status 400.
                let gone = ["syncstatenotfound", "syncstateinvalid", "resyncrequired", "directory_expiredpagetoken"]
                if let code = error.code?.lowercased(), gone.contains(code) { error.kind = .resyncNeeded }
                throw error
            }
        }
    }

    private func read(_ answer: GraphConnection.Answer, _ object: JSONObject) throws(DirectoryError) -> DeltaPage {
        guard case .array(let elements)? = object["value"] else {
            throw answer.unreadable("the list \"value\" is missing")
        }
        var changes: [DeltaPage.Change] = []
        changes.reserveCapacity(elements.count)
        for element in elements {
            guard case .object(let person) = element else {
                throw answer.unreadable("the list holds \(element.kind) instead of an object")
            }
            guard let id = person["id"]?.string, Self.isIdentifier(id) else {
                throw answer.unreadable("somebody in the list has no identifier")
            }
            changes.append(person["@removed"] == nil ? .person(id: id, person) : .removed(id: id))
        }
        if let link = try link("@odata.nextLink", answer, object) {
            return DeltaPage(changes: changes, next: .page(link))
        }
        guard let link = try link("@odata.deltaLink", answer, object) else {
            throw answer.unreadable("it says neither where the next page nor where the next changes are")
        }
        return DeltaPage(changes: changes, next: .changes(link))
    }

    /// An address that will be kept and asked later. Looked at now: one of another place would be asked for ever after in vain.
    private func link(
        _ name: String, _ answer: GraphConnection.Answer, _ object: JSONObject
    ) throws(DirectoryError) -> String? {
        switch object[name] {
        case nil, .null?: return nil
        case .string(let text)? where !text.isEmpty:
            let address = ODataEscaping.address(text)
            guard let origin = Origin(address), origin == self.origin else {
                throw DirectoryError(.foreignNextLink(host: Origin(address)?.description ?? "an unreadable address"))
            }
            return text
        default: throw answer.unreadable("\"\(name)\" is not a text")
        }
    }

    /// Anything that can be told apart from others and shown: no control characters, at most 256 bytes.
    private static func isIdentifier(_ text: String) -> Bool {
        (1...256).contains(text.utf8.count) && text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }
    }
}

/// Adds what `/users/delta` reads besides the address. RFC 7240
private struct DeltaTransport: HTTPTransport {
    let inner: any HTTPTransport
    let preference: String?
    let retries: LastRequestFlag

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        var request = request
        request.fields["Prefer"] = preference
        retries.note(request.fields["Retry-Attempt"] != nil)
        return try await inner.send(request)
    }
}
