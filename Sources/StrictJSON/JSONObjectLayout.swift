/// The positions of an object's members in its JSON, for an edit that keeps white space and comments.
package struct JSONObjectLayout {
    /// A member and its positions.
    package struct Member {
        package let name: String
        /// The bytes from the quote of the name to the end of the value.
        package let range: Range<Int>
        /// The start of the value.
        package let value: Int
        /// The position of the comma after the value.
        package let comma: Int?
    }

    package private(set) var members: [Member]
    /// The position of the closing brace.
    package private(set) var end: Int

    /// Creates the layout of the object at a position. By default, the object is the only value.
    package init(_ text: [UInt8], at position: Int? = nil) throws(JSONError) {
        (members, end) = try text.withUnsafeBufferPointer { buffer throws(JSONError) -> ([Member], Int) in
            var scanner = JSONScanner(buffer, at: position ?? 0, options: JSONReadingOptions(allowsComments: true))
            if position == nil { try scanner.start() }
            guard try scanner.first() == UInt8(ascii: "{") else { throw scanner.error("an object is expected") }
            if try scanner.enter(closing: UInt8(ascii: "}")) { return ([], scanner.position - 1) }
            var members: [Member] = []
            while true {
                let start = scanner.position
                let name = try scanner.text(scanner.name())
                let value = scanner.position
                try scanner.skipValue()
                let range = start..<scanner.position
                try scanner.skipSpace()
                let separator = scanner.position
                let isLast = try scanner.leave(closing: UInt8(ascii: "}"))
                members.append(Member(name: name, range: range, value: value, comma: isLast ? nil : separator))
                if isLast { return (members, separator) }
            }
        }
    }
}
