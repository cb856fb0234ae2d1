import LodgePlatform

extension String {
    /// Returns at most this many Unicode scalars of the string, on one line and with invisible characters escaped.
    func visible(limit: Int = 500) -> String {
        let line = unicodeScalars.prefix(limit).map { ["\t", "\n", "\r"].contains($0) ? " " : $0 }
        return String(String.UnicodeScalarView(line)).visible + (unicodeScalars.count > limit ? "…" : "")
    }

    /// Returns at most this many Unicode scalars, because a server's string can have any length.
    func clipped(to limit: Int) -> String {
        guard utf8.count > limit else { return self }
        return String(String.UnicodeScalarView(unicodeScalars.prefix(limit)))
    }

    /// Whether the string is empty or white space.
    var isBlank: Bool { unicodeScalars.allSatisfy(\.properties.isWhitespace) }

    /// Throws if the string cannot be the name of a user or would change the path of a URL.
    func checkIsName() throws(DirectoryError) {
        guard !isBlank else { throw DirectoryError(.emptySearch) }
        guard self != ".", self != ".." else {
            throw .invalidQuery("\"\(self)\" is not an identifier")
        }
    }
}
