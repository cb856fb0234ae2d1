extension String {
    /// The string as one shell word, quoted if necessary.
    package var shellWord: String {
        let isPlain =
            !isEmpty
            && utf8.allSatisfy { byte in
                (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7A || byte >= 0x30 && byte <= 0x39
                    || "/._-+@%=".utf8.contains(byte)
            }
        return isPlain ? self : "'" + replacingBytes("'", with: "'\\''") + "'"
    }
}
