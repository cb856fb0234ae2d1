/// Finds operators in an OData filter that need an advanced query. Does not parse the filter: the service does.
enum RawFilter {
    /// Returns the reasons for an advanced query, from the words outside literals.
    static func reasons(_ text: String) -> [String] {
        var reasons: [String] = []
        for word in words(text) {
            switch word.lowercased() {
            case "ne": reasons.append("ne needs one")
            case "not": reasons.append("not needs one")
            case "endswith": reasons.append("endsWith needs one")
            case "$count": reasons.append("the length of a list needs one")
            case "null": reasons.append("a test for null needs one")
            default:
                guard let support = PropertySupport.known(word), support.equals == .advanced else { continue }
                reasons.append("\(word) is compared only so")
            }
        }
        return reasons
    }

    /// Returns the words outside literals. A path is a word, and so is each of its parts.
    private static func words(_ text: String) -> [String] {
        var words: [String] = []
        var current: [UInt8] = []
        var isLiteral = false
        func end() {
            guard !current.isEmpty else { return }
            let word = String(decoding: current, as: UTF8.self)
            words.append(word)
            let parts = word.split(separator: "/").map { String($0) }
            if parts.count > 1 { words += parts }
            current = []
        }
        for byte in text.utf8 {
            // A doubled quote ends the literal and starts it again.
            if byte == UInt8(ascii: "'") {
                end()
                isLiteral.toggle()
                continue
            }
            guard !isLiteral else { continue }
            if byte.isAlphanumeric(or: "_/$") { current.append(byte) } else { end() }
        }
        end()
        return words
    }
}
