extension String {
    /// The string without case and accents, for comparing typed text with names: `Núñez` and `nunez` are equal.
    ///
    /// A letter with a stroke or a similar mark becomes the base letter (`Søren`, `Łukasz`). Letters of other scripts
    /// stay in their script.
    package var foldedForSearch: String {
        if utf8.allSatisfy({ $0 < 0x80 }) { return lowercased() }
        var folded = String.UnicodeScalarView()
        for scalar in lowercased().unicodeScalars where !SearchFolding.isAccent(scalar) {
            folded.append(SearchFolding.plain(scalar))
        }
        return String(folded)
    }
}

/// The base letters of letters with accents.
private enum SearchFolding {
    /// Returns whether this is a combining mark of Latin, Greek or Cyrillic.
    ///
    /// Marks of other scripts, such as the vowels of Devanagari, distinguish names.
    static func isAccent(_ scalar: Unicode.Scalar) -> Bool { (0x300...0x36F).contains(scalar.value) }

    static func plain(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        guard scalar.value >= 0x80, scalar.value < 0x2000 else { return scalar }
        return plainLetters[scalar] ?? scalar
    }

    /// Latin, Greek and Cyrillic letters, and their extensions.
    private static let blocks = [0x61...0x24F as ClosedRange<UInt32>, 0x370...0x52F, 0x1E00...0x1FFF]

    /// The base letters, from the Unicode names of letters, such as `LATIN SMALL LETTER E WITH ACUTE`.
    ///
    /// The standard library has no decomposition, and Foundation's adds 30 MB of data to a static program.
    private static let plainLetters: [Unicode.Scalar: Unicode.Scalar] = {
        let letters = blocks.joined().compactMap { value -> (name: String, scalar: Unicode.Scalar)? in
            guard let scalar = Unicode.Scalar(value), let name = scalar.properties.name else { return nil }
            return (name, scalar)
        }
        let named = Dictionary(letters.map { ($0.name, $0.scalar) }) { first, _ in first }
        // Their names do not mention the mark, although Unicode decomposes them.
        var plain: [Unicode.Scalar: Unicode.Scalar] = ["й": "и", "ё": "е", "ї": "і", "ў": "у", "ѓ": "г", "ќ": "к"]
        for (name, scalar) in letters {
            guard let with = name.firstRange(of: " WITH "), let letter = named[String(name[..<with.lowerBound])] else {
                continue
            }
            plain[scalar] = letter
        }
        return plain
    }()
}
