import Testing

@testable import TerminalBrowser

/// Tests the parsing of terminal input.
@Suite struct TerminalKeysTests {
    private func keys(_ text: String) -> [Key] {
        var reader = TerminalKeys()
        return (reader.take(Array(text.utf8)) + reader.flush()).compactMap {
            if case .key(let key) = $0 { key } else { nil }
        }
    }

    @Test(arguments: [
        ("\u{1B}[A", Key.up), ("\u{1B}OA", .up), ("\u{1B}[1;5B", .down), ("\u{1B}OC", .right), ("\u{1B}[D", .left),
        ("\u{1B}[5~", .pageUp), ("\u{1B}[6~", .pageDown), ("\u{1B}[H", .home), ("\u{1B}[1~", .home),
        ("\u{1B}[7~", .home),
        ("\u{1B}OF", .end), ("\u{1B}[4~", .end), ("\u{1B}[3~", .delete), ("\u{1B}[Z", .backTab), ("\t", .tab),
        ("\r", .enter), ("\n", .enter), ("\u{7F}", .backspace), ("\u{08}", .backspace), ("\u{1B}", .escape),
        ("\u{01}", .control("a")), ("\u{1A}", .control("z")), ("\u{13}", .control("s")), ("x", .character("x")),
        ("李", .character("李")), ("é", .character("é")), ("e\u{301}", .character("é")),
        ("👩‍👩‍👧", .character("👩‍👩‍👧")), ("🇩🇪", .character("🇩🇪")),
    ])
    func `a key is parsed from one or several reads`(_ bytes: String, _ key: Key) {
        #expect(keys(bytes) == [key])
        var reader = TerminalKeys()
        var inputs: [TerminalInput] = []
        // A letter and its combining mark in separate reads are two keys; everything else is one.
        guard bytes.unicodeScalars.count == 1 || bytes.hasPrefix("\u{1B}") else { return }
        for byte in bytes.utf8 { inputs += reader.take([byte]) }
        inputs += reader.flush()
        #expect(inputs == [.key(key)])
    }

    @Test func `keys in one read are separate`() {
        #expect(
            keys("a\u{1B}[B\u{1B}[Bj\u{7F}") == [.character("a"), .down, .down, .character("j"), .backspace])
        #expect(keys("\u{1B}j") == [.escape, .character("j")])
        #expect(keys("\u{1B}\u{1B}[A") == [.escape, .up])
    }

    @Test func `an escape waits for the rest of its sequence`() {
        var reader = TerminalKeys()
        #expect(reader.take([0x1B]).isEmpty)
        #expect(reader.isWaiting)
        #expect(reader.flush() == [.key(.escape)])
        #expect(!reader.isWaiting)
    }

    @Test func `a paste is one input without control characters`() {
        #expect(
            keys("\u{1B}[200~Ada\r\nLove\u{1B}[Alace\t\u{07}!\u{1B}[201~x") == [
                .paste("Ada  Love[Alace !"), .character("x"),
            ])
        #expect(keys("\u{1B}[200~\u{1B}[201~").isEmpty)
    }

    @Test func `a paste that is split across reads is the same paste`() {
        let bytes = Array("a\u{1B}[200~Ada 李\u{1B}[201~b".utf8)
        for cut in 0...bytes.count {
            var reader = TerminalKeys()
            let inputs = reader.take(bytes[..<cut]) + reader.take(bytes[cut...]) + reader.flush()
            #expect(inputs == [.key(.character("a")), .key(.paste("Ada 李")), .key(.character("b"))], "cut at \(cut)")
        }
    }

    @Test func `an unfinished paste ends with flush`() {
        var reader = TerminalKeys()
        #expect(reader.take(Array("\u{1B}[200~Ada".utf8)).isEmpty)
        #expect(reader.isPasting)
        #expect(reader.flush() == [.key(.paste("Ada"))])
        #expect(!reader.isPasting)
    }

    @Test func `an unfinished paste has limited memory`() {
        var reader = TerminalKeys()
        _ = reader.take(Array("\u{1B}[200~".utf8))
        for _ in 0..<100 { _ = reader.take([UInt8](repeating: 0x61, count: 4096)) }
        guard case .key(.paste(let text))? = reader.flush().first else { return #expect(Bool(false)) }
        #expect(text.utf8.count == TerminalKeys.maximumPaste)
    }

    @Test func `terminal reports are not keys`() {
        var reader = TerminalKeys()
        let inputs = reader.take(
            Array("a\u{1B}_Gi=31;OK\u{1B}\\b\u{1B}[?62;4cc\u{1B}]11;rgb:0/0/0\u{07}d\u{1B}[6;18;9t".utf8))
        #expect(
            inputs == [
                .key(.character("a")), .report(.application("Gi=31;OK")), .key(.character("b")),
                .report(.control("?62;4", "c")), .key(.character("c")), .key(.character("d")),
                .report(.control("6;18;9", "t")),
            ])
    }

    @Test func `unknown sequences are ignored`() {
        #expect(keys("\u{1B}[15~\u{1B}[I\u{1B}[<0;1;1M\u{1B}OPx") == [.character("x")])
    }

    @Test func `any bytes are parsed and leave no pending state`() {
        var seed: UInt64 = 7
        func random() -> UInt8 {
            seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: seed >> 33)
        }
        let interesting: [UInt8] = [0x1B, 0x5B, 0x4F, 0x5F, 0x5D, 0x32, 0x30, 0x7E, 0x3F, 0x63, 0x5C, 0x80, 0xE6, 0xF0]
        for _ in 0..<2000 {
            var reader = TerminalKeys()
            for _ in 0..<Int(random() % 40) {
                _ = reader.take([random() % 2 == 0 ? random() : interesting[Int(random()) % interesting.count]])
            }
            for _ in 0..<3 { _ = reader.flush() }
            #expect(!reader.isWaiting && !reader.isPasting)
        }
    }
}
