/// The JSON that a command writes with `--output json`, for the help.
package struct JSONShape: Sendable, Hashable {
    /// The name and the meaning of a member.
    package struct Member: Sendable, Hashable {
        package var name: String
        package var meaning: String
    }

    /// Whether the output is an array of these objects.
    package var isArray: Bool
    package var members: [Member]
    /// Additional information: sentences. May be empty.
    package var note: String

    private init(isArray: Bool, _ members: KeyValuePairs<String, String>, _ note: String) {
        self.isArray = isArray
        self.members = members.map { Member(name: $0.key, meaning: $0.value) }
        self.note = note
    }

    /// Returns one object. A meaning may be empty if the name is sufficient.
    package static func object(_ members: KeyValuePairs<String, String>, note: String = "") -> JSONShape {
        JSONShape(isArray: false, members, note)
    }

    /// Returns an array of objects.
    package static func array(of members: KeyValuePairs<String, String>, note: String = "") -> JSONShape {
        JSONShape(isArray: true, members, note)
    }

    /// Returns a shape with more members.
    package func adding(_ members: KeyValuePairs<String, String>) -> JSONShape {
        var shape = self
        shape.members += members.map { Member(name: $0.key, meaning: $0.value) }
        return shape
    }

    /// Returns an array of these objects.
    package var list: JSONShape {
        var shape = self
        shape.isArray = true
        return shape
    }

    /// Returns one of the objects.
    package var object: JSONShape {
        var shape = self
        shape.isArray = false
        return shape
    }

    /// The description as one sentence without a full stop.
    package var text: String {
        let words = members.map { $0.meaning.isEmpty ? $0.name : "\($0.name) (\($0.meaning))" }
        let start = isArray ? "array of objects" : "object"
        return (words.isEmpty ? start : "\(start): \(words.joined(separator: ", "))")
            + (note.isEmpty ? "" : ". \(note)")
    }
}
