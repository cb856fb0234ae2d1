extension String {
    /// The string on one line with all invisible characters escaped, safe to show on a terminal.
    ///
    /// Names and titles in a directory are untrusted. Control characters could move the cursor, bidirectional controls
    /// could reverse a name, and invisible characters could make two names look the same. They become visible escapes:
    /// `\u{1B}`, `\t`. Letters of every script, emoji and combining marks stay.
    package var visible: String { VisibleText.escaped(self) }
}

extension String.UnicodeScalarView {
    /// Appends a string. `append(contentsOf:)` of the standard library takes time proportional to the existing text.
    package mutating func append(text: String) { for scalar in text.unicodeScalars { append(scalar) } }
}

package enum VisibleText {
    /// The maximum number of combining marks on a letter. More would overlap the lines above and below.
    package static let maximumMarks = 8

    fileprivate static func escaped(_ text: String) -> String {
        if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return text }
        let scalars = Array(text.unicodeScalars)
        var shown = String.UnicodeScalarView()
        var marks = 0
        var hasBase = false
        var index = 0
        while index < scalars.count {
            let scalar = scalars[index]
            if let end = subdivisionFlagEnd(scalars, index) {
                for scalar in scalars[index..<end] { shown.append(scalar) }
                (index, marks, hasBase) = (end, 0, true)
                continue
            }
            defer { index += 1 }
            let isMark = scalar.isCombining
            if isMark && !isVariationSelector(scalar) { marks += 1 }
            if mustEscape(scalar, at: index, in: scalars) || (isMark && marks > maximumMarks) {
                shown.append(text: escape(scalar))
                hasBase = false
                continue
            }
            // A mark without a letter would be drawn over the preceding text, so give it a dotted circle.
            if isMark, !hasBase { shown.append("\u{25CC}") }
            if !isMark, scalar != zeroWidthJoiner { marks = 0 }
            hasBase = true
            shown.append(scalar)
        }
        return String(shown)
    }

    private static let zeroWidthNonJoiner: Unicode.Scalar = "\u{200C}"
    private static let zeroWidthJoiner: Unicode.Scalar = "\u{200D}"

    private static func escape(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case "\t": #"\t"#
        case "\n": #"\n"#
        case "\r": #"\r"#
        default: #"\u{"# + String(scalar.value, radix: 16, uppercase: true) + "}"
        }
    }

    private static func mustEscape(_ scalar: Unicode.Scalar, at index: Int, in scalars: [Unicode.Scalar]) -> Bool {
        if scalar.value < 0xA0 { return scalar.value < 0x20 || scalar.value >= 0x7F }
        if isVariationSelector(scalar) { return !mayVary(index > 0 ? scalars[index - 1] : nil, by: scalar) }
        if scalar == zeroWidthJoiner || scalar == zeroWidthNonJoiner { return !isNeededJoiner(index, scalars) }
        let properties = scalar.properties
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: return true
        case .format: return !scalar.isNumberSign
        default: return properties.isDefaultIgnorableCodePoint || properties.isNoncharacterCodePoint
        }
    }

    private static func isVariationSelector(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0xFE00...0xFE0F, 0xE0100...0xE01EF: true
        default: false
        }
    }

    /// Returns whether a variation selector has a meaning after `base`. Others could hide a message in a name.
    private static func mayVary(_ base: Unicode.Scalar?, by selector: Unicode.Scalar) -> Bool {
        guard let base, !isVariationSelector(base) else { return false }
        switch selector.value {
        case 0xFE0E, 0xFE0F: return base.properties.isEmoji
        case 0xE0100...: return base.properties.isIdeographic
        default: return base.value >= 0xA0 && !base.isCombining && !base.properties.isDefaultIgnorableCodePoint
        }
    }

    /// Returns whether a joiner changes the appearance: between emoji, after a virama of an Indian script, and, if it
    /// separates, between Arabic letters.
    ///
    /// These are the rules of RFC 5892 appendix A.1 and A.2, the latter for Arabic.
    private static func isNeededJoiner(_ index: Int, _ scalars: [Unicode.Scalar]) -> Bool {
        guard index > 0 else { return false }
        let before = scalars[index - 1]
        if before.properties.canonicalCombiningClass.rawValue == 9 { return true }
        guard index + 1 < scalars.count else { return false }
        let after = scalars[index + 1]
        guard scalars[index] == zeroWidthJoiner else { return isArabicLetter(before) && isArabicLetter(after) }
        // Between two emoji of people, or one of them and a heart or sign. A variation selector and the skin tone may
        // come between.
        let isSelected = before.value == 0xFE0F && index > 1 && scalars[index - 2].isPictograph
        return (isSelected || before.isPictograph) && after.isPictograph
    }

    private static func isArabicLetter(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x600...0x77F, 0x860...0x8FF, 0xFB50...0xFDFF, 0xFE70...0xFEFC:
            scalar.properties.isAlphabetic || scalar.isCombining
        default: false
        }
    }

    /// Returns the end of a subdivision flag (a black flag, three to six tags, the end tag) that starts at `index`.
    private static func subdivisionFlagEnd(_ scalars: [Unicode.Scalar], _ index: Int) -> Int? {
        guard scalars[index].value == 0x1F3F4 else { return nil }
        var end = index + 1
        while end < scalars.count, end - index <= 7 {
            switch scalars[end].value {
            case 0xE0030...0xE0039, 0xE0061...0xE007A: end += 1
            case 0xE007F: return end - index >= 4 ? end + 1 : nil
            default: return nil
            }
        }
        return nil
    }
}

extension Unicode.Scalar {
    /// Whether it is a visible Arabic, Syriac or Kaithi sign that Unicode classifies as a format character.
    package var isNumberSign: Bool {
        switch value {
        case 0x600...0x605, 0x6DD, 0x70F, 0x890...0x891, 0x8E2, 0x110BD, 0x110CD: true
        default: false
        }
    }

    package var isPictograph: Bool { value >= 0xA9 && properties.isEmoji }

    /// Whether the scalar combines with the previous one.
    fileprivate var isCombining: Bool { [.nonspacingMark, .enclosingMark].contains(properties.generalCategory) }
}
