import Platform

extension String {
    /// Returns at most this many Unicode scalars of the text, on one line and with invisible characters escaped.
    func visible(limit: Int = 500) -> String {
        let line = unicodeScalars.prefix(limit).map { ["\t", "\n", "\r"].contains($0) ? " " : $0 }
        return String(String.UnicodeScalarView(line)).visible + (unicodeScalars.count > limit ? "…" : "")
    }

    /// At most this many Unicode scalars of the text: what a server says is kept, but not without end.
    func clipped(to limit: Int) -> String {
        guard utf8.count > limit else { return self }
        return String(String.UnicodeScalarView(unicodeScalars.prefix(limit)))
    }

    /// Whether there is nothing but white space.
    var isBlank: Bool { unicodeScalars.allSatisfy(\.properties.isWhitespace) }

    /// Refuses what names nobody and would change the path that it stands in.
    func checkIsName() throws(DirectoryError) {
        guard !isBlank else { throw DirectoryError(.emptySearch) }
        guard self != ".", self != ".." else {
            throw DirectoryError(.invalidQuery("\"\(self)\" is nobody's identifier"))
        }
    }
}
