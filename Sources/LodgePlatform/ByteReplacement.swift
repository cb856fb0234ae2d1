extension String {
    /// Returns the string with each occurrence of another string replaced. Compares bytes and takes linear time.
    ///
    /// `replacing(_:with:)` compares characters: it does not find a quote or a secret that is followed by a combining
    /// mark.
    package func replacingBytes(_ part: String, with replacement: String) -> String {
        let part = Array(part.utf8)
        guard let first = part.first, utf8.contains(first) else { return self }
        let bytes = Array(utf8)
        var result: [UInt8] = []
        var position = 0
        for range in bytes.ranges(of: part) {
            result += bytes[position..<range.lowerBound]
            result += replacement.utf8
            position = range.upperBound
        }
        return String(decoding: result + bytes[position...], as: UTF8.self)
    }
}
