/// Writes filters in a language that has `and`, `or` and parentheses.
protocol LogicWriter {
    /// A part of a filter.
    ///
    /// - Parameter isNested: whether it stands within another, and needs parentheses if it has several parts.
    mutating func write(
        _ expression: UserFilter.Expression, depth: Int, isNested: Bool
    ) throws(DirectoryError) -> String
}

extension LogicWriter {
    /// Parts joined by a word with a space on either side; one part stands for itself.
    ///
    /// - Throws: ``DirectoryError`` of the kind `emptySearch` without any part.
    mutating func write(
        _ parts: [UserFilter.Expression], joinedBy word: String, depth: Int, isNested: Bool
    ) throws(DirectoryError) -> String {
        guard let first = parts.first else { throw DirectoryError(.emptySearch) }
        guard parts.count > 1 else { return try write(first, depth: depth + 1, isNested: isNested) }
        var text = ""
        for part in parts {
            if !text.isEmpty { text += word }
            text += try write(part, depth: depth + 1, isNested: true)
        }
        return isNested ? "(\(text))" : text
    }
}
