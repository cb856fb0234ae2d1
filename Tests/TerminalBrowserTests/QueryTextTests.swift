import Testing

@testable import TerminalBrowser

@Suite struct QueryTextTests {
    private func edited(_ text: String, _ change: (inout QueryText) -> Void) -> String {
        var query = QueryText(text)
        change(&query)
        var shown = query.text
        shown.insert("|", at: shown.index(shown.startIndex, offsetBy: query.cursor))
        return shown
    }

    @Test func `text is inserted at the cursor`() {
        #expect(
            edited("ac") {
                $0.move(by: -1)
                $0.insert("b")
            } == "ab|c")
        #expect(
            edited("bc") {
                $0.moveToStart()
                $0.insert("a")
                $0.moveToEnd()
            } == "abc|")
    }

    @Test func `the cursor moves by grapheme clusters`() {
        let family = "👩\u{200D}👩\u{200D}👧"
        #expect(edited("a\(family)") { $0.move(by: -1) } == "a|\(family)")
        #expect(edited("ae\u{301}") { $0.deleteBackward() } == "a|")
        #expect(edited("e") { $0.insert("\u{301}") } == "e\u{301}|")
        #expect(edited("🇩🇪🇫🇷") { $0.deleteBackward() } == "🇩🇪|")
    }

    @Test func `words and line ends are deleted as in a shell`() {
        #expect(edited("ada love  ") { $0.deleteWord() } == "ada |")
        #expect(
            edited("ada love") {
                $0.move(by: -4)
                $0.deleteToStart()
            } == "|love")
        #expect(
            edited("ada love") {
                $0.move(by: -4)
                $0.deleteToEnd()
            } == "ada |")
        #expect(
            edited("abc") {
                $0.moveToStart()
                $0.deleteForward()
            } == "|bc")
    }

    @Test func `edits past the ends have no effect`() {
        #expect(
            edited("a") {
                $0.move(by: 5)
                $0.deleteForward()
                $0.move(by: -5)
                $0.deleteBackward()
                $0.deleteWord()
            } == "|a")
    }
}
