extension String {
    /// The phrase of an error as a sentence for an alert: with a capital letter, a full stop, and control characters escaped.
    ///
    /// A first word that is a name, such as `clientId` or a path, keeps its spelling. A command at the end gets no full stop, because
    /// the user copies it.
    package var sentence: String {
        let text = visible
        guard let first = text.first, let last = text.last else { return "" }
        let isWord = text.prefix { $0 != " " }.utf8.allSatisfy {
            (0x61...0x7A).contains($0) || Array("',-".utf8).contains($0)
        }
        let start =
            isWord || text.hasPrefix("run: ")
            ? first.uppercased() + text.dropFirst() : text
        return ".!?…:".contains(last) || text.contains("run: ") ? start : start + "."
    }
}
