/// Writes filters or searches in a language with `and`, `or` and parentheses.
protocol LogicWriter {
    associatedtype Expression

    /// Returns a part as a string.
    ///
    /// - Parameter isNested: Whether it is inside another part, and needs parentheses if it has several parts itself.
    mutating func write(_ expression: Expression, depth: Int, isNested: Bool) throws(DirectoryError) -> String
}

extension LogicWriter {
    /// Returns parts joined by a word with a space on each side. A single part needs no word.
    ///
    /// - Throws: ``DirectoryError`` of the kind `emptySearch` without any part.
    mutating func write(
        _ parts: [Expression], joinedBy word: String, depth: Int, isNested: Bool
    ) throws(DirectoryError) -> String {
        guard let first = parts.first else { throw DirectoryError(.emptySearch) }
        guard parts.count > 1 else { return try write(first, depth: depth + 1, isNested: isNested) }
        var texts: [String] = []
        for part in parts { texts.append(try write(part, depth: depth + 1, isNested: true)) }
        let text = texts.joined(separator: word)
        return isNested ? "(\(text))" : text
    }
}
