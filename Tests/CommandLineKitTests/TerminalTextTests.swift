import LodgePlatform
import Testing

@testable import CommandLineKit

@Suite struct DisplayTextTests {
    @Test(arguments: [
        ("Ada Lovelace", "Ada Lovelace"), ("", ""), ("a\u{1B}[2Jb", #"a\u{1B}[2Jb"#), ("a\tb\nc\rd", #"a\tb\nc\rd"#),
        ("\r\n", #"\r\n"#), ("a\u{7F}\u{9B}b", #"a\u{7F}\u{9B}b"#), ("\0", #"\u{0}"#),
        ("\u{202E}gpj", #"\u{202E}gpj"#), ("a\u{2066}b\u{2069}", #"a\u{2066}b\u{2069}"#),
        ("a\u{61C}\u{200E}\u{200F}", #"a\u{61C}\u{200E}\u{200F}"#), ("a\u{2028}b\u{2029}", #"a\u{2028}b\u{2029}"#),
        ("Ad\u{200B}a", #"Ad\u{200B}a"#), ("Ad\u{200D}a", #"Ad\u{200D}a"#), ("Ad\u{200C}a", #"Ad\u{200C}a"#),
        ("\u{FEFF}Ada", #"\u{FEFF}Ada"#), ("A\u{AD}da", #"A\u{AD}da"#), ("a\u{2060}b", #"a\u{2060}b"#),
        ("\u{3164}", #"\u{3164}"#), ("\u{115F}", #"\u{115F}"#), ("a\u{34F}b", #"a\u{34F}b"#),
        ("a\u{E0041}b", #"a\u{E0041}b"#), ("a\u{FFFE}", #"a\u{FFFE}"#), ("a\u{FFF9}b", #"a\u{FFF9}b"#),
        ("a\u{FE0F}", #"a\u{FE0F}"#), ("李\u{FE00}\u{FE01}", "李\u{FE00}" + #"\u{FE01}"#),
        ("a\u{E0100}", #"a\u{E0100}"#), ("❤\u{200D}", "❤" + #"\u{200D}"#), ("\u{200D}❤", #"\u{200D}❤"#),
        ("🏴\u{E0067}\u{E0062}", "🏴" + #"\u{E0067}\u{E0062}"#),
    ])
    func `visible escapes invisible characters`(text: String, shown: String) {
        #expect(text.visible.unicodeScalars.elementsEqual(shown.unicodeScalars))
    }

    @Test(arguments: [
        "李小龍", "Åsa Öberg", "José", "e\u{301}", "Мария", "محمد", "علی\u{200C}رضا", "क्षत्रिय", "क्\u{200D}ष",
        "ශ්\u{200D}රී", "สมชาย", "👩\u{200D}💻", "👩🏽\u{200D}🚀", "❤\u{FE0F}", "🏳\u{FE0F}\u{200D}🌈", "👨\u{200D}👩\u{200D}👧",
        "❤\u{FE0F}\u{200D}🔥", "1\u{FE0F}\u{20E3}", "🇩🇪", "葛\u{E0100}城",
        "🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}", "Nguyễn", "Nguye\u{302}\u{303}n", "김\u{3000}철수",
        "\u{1112}\u{1161}\u{11AB}", "O’Brien", "C\u{327}a",
    ])
    func `visible keeps names and emoji of every script`(text: String) {
        #expect(text.visible.unicodeScalars.elementsEqual(text.unicodeScalars))
    }

    @Test func `visible limits combining marks and separates them from preceding escapes`() {
        let piled = "a" + String(repeating: "\u{301}", count: 1000)
        let shown = piled.visible.unicodeScalars
        #expect(
            !shown.indices.contains { index in
                shown[index...].prefix(VisibleText.maximumMarks + 1).filter { $0.value == 0x301 }.count
                    > VisibleText.maximumMarks
            })
        #expect("\u{301}a".visible.unicodeScalars.elementsEqual("\u{25CC}\u{301}a".unicodeScalars))
        #expect(
            "\u{202E}\u{301}".visible.unicodeScalars.elementsEqual(
                "\\u{202E}\u{25CC}\u{301}".unicodeScalars))
    }

    // Quadratic time would take minutes.

    @Test(.timeLimit(.minutes(5))) func `400,000 combining marks are escaped in linear time`() {
        let marks = 400_000
        let text = "a" + String(String.UnicodeScalarView(repeatElement("\u{301}", count: marks)))
        let escaped = marks - VisibleText.maximumMarks
        #expect(text.visible.unicodeScalars.count == 1 + VisibleText.maximumMarks + escaped * #"\u{301}"#.count)
    }

    @Test(.timeLimit(.minutes(5))) func `a vCard property of 400,000 marks is folded in linear time`() {
        var card = VCard(name: "Ada")
        card.add("NOTE", String(String.UnicodeScalarView(repeatElement("\u{301}", count: 400_000))))
        #expect(card.text.utf8.count > 800_000)
    }

    @Test func `every control, format and bidirectional character is escaped`() {
        for value in UInt32(0)...0x10FFFF {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let category = scalar.properties.generalCategory
            guard category == .control || category == .format || scalar.properties.isBidiControl,
                !scalar.isNumberSign
            else { continue }
            let shown = ("a" + String(Character(scalar)) + "b").visible
            if shown.unicodeScalars.contains(scalar) { Issue.record("U+\(String(value, radix: 16)) is not escaped") }
        }
    }

    @Test(arguments: [
        ("", 0), ("Ada", 3), ("é", 1), ("e\u{301}", 1), ("李小龍", 6), ("ｱ", 1), ("Ａ", 2), ("한글", 4),
        ("\u{1112}\u{1161}\u{11AB}", 2), ("カ\u{3099}", 2), ("สวัสดี", 4), ("👩\u{200D}💻", 2), ("👩🏽\u{200D}🚀", 2),
        ("👍🏿", 2), ("❤", 1), ("❤\u{FE0F}", 2), ("🏳\u{FE0F}\u{200D}🌈", 2), ("👨\u{200D}👩\u{200D}👧", 2), ("🇩🇪", 2),
        ("🇩🇪🇫🇷", 4), ("1\u{FE0F}\u{20E3}", 2), ("✅", 2), ("☎", 1), ("…", 1), ("▶", 1), ("▶\u{FE0F}", 2),
        ("葛\u{E0100}城", 4),
        ("🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}", 2), ("\u{3000}", 2), ("𠮷", 2), ("محمد", 4),
        ("علی\u{200C}رضا", 6), ("±", 1), ("नम", 2), ("🏻", 2), ("㊙", 2), ("☰", 2),
    ])
    func `width equals the columns that a terminal uses`(text: String, columns: Int) {
        #expect(TerminalText.width(text) == columns)
    }

    @Test(arguments: [
        ("Ada Lovelace", 12, "Ada Lovelace"), ("Ada Lovelace", 5, "Ada …"), ("Ada", 1, "…"), ("Ada", 0, ""),
        ("Ada", -1, ""),
        ("李小龍", 6, "李小龍"), ("李小龍", 5, "李小…"), ("李小龍", 4, "李…"), ("李小龍", 1, "…"),
        ("e\u{301}e\u{301}e\u{301}", 3, "e\u{301}e\u{301}e\u{301}"), ("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…"),
        ("👩\u{200D}💻👩\u{200D}💻", 3, "👩\u{200D}💻…"), ("👩\u{200D}💻👩\u{200D}💻", 4, "👩\u{200D}💻👩\u{200D}💻"),
    ])
    func `truncated keeps characters whole and fits the width`(text: String, columns: Int, cut: String) {
        let result = TerminalText.truncated(text, to: columns)
        #expect(result == cut)
        #expect(TerminalText.width(result) <= max(0, columns))
    }

    @Test func `padding counts columns`() {
        #expect(TerminalText.padded("李", to: 4) == "李  ")
        #expect(TerminalText.padded("Ada", to: 2) == "Ada")
    }
}
