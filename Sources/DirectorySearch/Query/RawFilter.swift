/// Looks through a filter that somebody wrote by hand. It is not parsed: the service says what is wrong with it.
enum RawFilter {
    /// Why it needs an advanced query, a phrase each: the words in it, literals aside, that always do.
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

    /// The words outside literals. A path is a word, and so are its parts.
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
            // A doubled quote ends the literal and begins it again.
            if byte == UInt8(ascii: "'") {
                end()
                isLiteral.toggle()
                continue
            }
            guard !isLiteral else { continue }
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"), UInt8(ascii: "/"), UInt8(ascii: "$"):
                current.append(byte)
            default: end()
            }
        }
        end()
        return words
    }
}
