import LodgePlatform

/// The layout of visible text in terminal columns.
package enum TerminalText {
    /// Returns the width of a visible text in terminal columns.
    ///
    /// Ideographs, kana, Hangul, full-width forms and emoji take two columns, combining marks none, all other
    /// characters one. An emoji sequence (joined, with a skin tone, a flag, a keycap) takes two.
    package static func width(_ text: String) -> Int {
        if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return text.utf8.count }
        return text.reduce(0) { $0 + width($1) }
    }

    /// Returns the text cut to `columns`, with `…` in the last column if it was cut.
    package static func truncated(_ text: String, to columns: Int) -> String {
        // A column takes at least one byte, so a short text always fits.
        if text.utf8.count <= columns { return text }
        guard columns > 0 else { return "" }
        var taken = 0
        var end = text.startIndex
        for index in text.indices {
            taken += width(text[index])
            if taken > columns { return text[..<end] + "…" }
            // The text that fits in front of the ellipsis.
            if taken < columns { end = text.index(after: index) }
        }
        return text
    }

    /// The maximum number of characters in a cell.
    package static let maximumCell = 4096

    /// Returns the visible text of a table cell, cut with `…` after ``maximumCell`` characters.
    ///
    /// Does not read the rest of a longer text, so the time is limited.
    package static func cell(_ text: String) -> String {
        if text.utf8.count <= maximumCell { return shortened(text.visible) }
        let scalars = text.unicodeScalars.prefix(maximumCell + 1)
        return shortened(String(String.UnicodeScalarView(scalars)).visible, isCut: scalars.count > maximumCell)
    }

    private static func shortened(_ visible: String, isCut: Bool = false) -> String {
        guard isCut || visible.utf8.count > maximumCell && visible.unicodeScalars.count > maximumCell else {
            return visible
        }
        // Cut by scalars, because one character can have any number of combining marks.
        return String(String.UnicodeScalarView(visible.unicodeScalars.prefix(maximumCell - 1))) + "…"
    }

    /// Returns the text padded with spaces to `columns`.
    package static func padded(_ text: String, to columns: Int) -> String {
        text + String(repeating: " ", count: max(0, columns - width(text)))
    }

    private static func width(_ character: Character) -> Int {
        if character.utf8.count == 1 { return character.isASCII && character != "\u{7F}" && character >= " " ? 1 : 0 }
        var columns = 0
        var isEmoji = false
        var previous: Unicode.Scalar?
        for scalar in character.unicodeScalars {
            switch scalar.value {
            // Variation selector 16: the preceding character, such as a heart or a digit of a keycap, is an emoji.
            case 0xFE0F: isEmoji = isEmoji || previous?.properties.isEmoji ?? false
            case 0x200D: isEmoji = isEmoji || previous?.isPictograph ?? false
            case 0x1F3FB...0x1F3FF where previous != nil: isEmoji = true
            default: columns += width(scalar)
            }
            previous = scalar
        }
        return isEmoji ? 2 : columns
    }

    private static func width(_ scalar: Unicode.Scalar) -> Int {
        switch scalar.value {
        case 0x20..<0x7F, 0xA0..<0xAD, 0xAE..<0x300: return 1
        // The medial vowels and final consonants of a Hangul syllable.
        case 0x1160...0x11FF, 0xD7B0...0xD7FF: return 0
        default: break
        }
        let properties = scalar.properties
        switch properties.generalCategory {
        case .control, .nonspacingMark, .enclosingMark, .lineSeparator, .paragraphSeparator: return 0
        case .format: return scalar.isNumberSign ? 1 : 0
        default: return properties.isDefaultIgnorableCodePoint ? 0 : isWide(scalar.value) ? 2 : 1
        }
    }

    private static func isWide(_ value: UInt32) -> Bool {
        guard value >= 0x1100 else { return false }
        var low = 0
        var high = wideRanges.count
        while low < high {
            let middle = (low + high) / 2
            if wideRanges[middle].upperBound < value {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low < wideRanges.count && wideRanges[low].contains(value)
    }

    /// The ranges of width 2: East Asian Width W and F (Unicode Standard Annex 11), in order.
    ///
    /// They include code points reserved for ideographs, as the annex requires, and gaps inside wide blocks.
    private static let wideRanges: [ClosedRange<UInt32>] = [
        // Hangul initials; watches and other default emoji.
        0x1100...0x115F, 0x231A...0x231B, 0x2329...0x232A, 0x23E9...0x23EC, 0x23F0...0x23F0, 0x23F3...0x23F3,
        0x25FD...0x25FE, 0x2614...0x2615, 0x2630...0x2637, 0x2648...0x2653, 0x267F...0x267F, 0x268A...0x268F,
        0x2693...0x2693, 0x26A1...0x26A1, 0x26AA...0x26AB, 0x26BD...0x26BE, 0x26C4...0x26C5, 0x26CE...0x26CE,
        0x26D4...0x26D4, 0x26EA...0x26EA, 0x26F2...0x26F3, 0x26F5...0x26F5, 0x26FA...0x26FA, 0x26FD...0x26FD,
        0x2705...0x2705, 0x270A...0x270B, 0x2728...0x2728, 0x274C...0x274C, 0x274E...0x274E, 0x2753...0x2755,
        0x2757...0x2757, 0x2795...0x2797, 0x27B0...0x27B0, 0x27BF...0x27BF, 0x2B1B...0x2B1C, 0x2B50...0x2B50,
        0x2B55...0x2B55,
        // Radicals, punctuation, kana, bopomofo, Hangul letters, ideographs, Yi.
        0x2E80...0x303E, 0x3041...0x3247, 0x3250...0xA4C6,
        // Hangul, compatibility ideographs, vertical and full-width forms.
        0xA960...0xA97C, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6B, 0xFF01...0xFF60,
        0xFFE0...0xFFE6,
        // Tangut, Khitan, old kana, counting rods, hexagrams.
        0x16FE0...0x18DFF, 0x1AFF0...0x1B2FB, 0x1D300...0x1D356, 0x1D360...0x1D376,
        // Tiles, squared words, pictographs.
        0x1F004...0x1F004, 0x1F0CF...0x1F0CF, 0x1F18E...0x1F18E, 0x1F191...0x1F19A, 0x1F200...0x1F320,
        0x1F32D...0x1F335, 0x1F337...0x1F37C, 0x1F37E...0x1F393, 0x1F3A0...0x1F3CA, 0x1F3CF...0x1F3D3,
        0x1F3E0...0x1F3F0, 0x1F3F4...0x1F3F4, 0x1F3F8...0x1F43E, 0x1F440...0x1F440, 0x1F442...0x1F4FC,
        0x1F4FF...0x1F53D, 0x1F54B...0x1F54E, 0x1F550...0x1F567, 0x1F57A...0x1F57A, 0x1F595...0x1F596,
        0x1F5A4...0x1F5A4, 0x1F5FB...0x1F64F, 0x1F680...0x1F6C5, 0x1F6CC...0x1F6CC, 0x1F6D0...0x1F6D2,
        0x1F6D5...0x1F6DF, 0x1F6EB...0x1F6EC, 0x1F6F4...0x1F6FF, 0x1F7E0...0x1F7EB, 0x1F7F0...0x1F7F0,
        0x1F90C...0x1F93A, 0x1F93C...0x1F945, 0x1F947...0x1F9FF, 0x1FA70...0x1FAFF,
        // The ideographic planes.
        0x20000...0x2FFFD, 0x30000...0x3FFFD,
    ]
}
