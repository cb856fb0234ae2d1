/// Pictures in the terminal. None yet.
struct TerminalGraphics {
    var question: String? { nil }
    var isAnswered: Bool { true }
    var isAvailable: Bool { false }
    var cell: (width: Int, height: Int)?

    init(environment: [String: String]) {}
    mutating func take(_ report: TerminalReport) {}
    mutating func draw(
        _ picture: ScreenPicture?, in size: ScreenSize, _ drawing: CursesDrawing, _ write: (String) -> Void
    ) {}
    mutating func drawAgain(_ drawing: CursesDrawing, _ write: (String) -> Void) {}
    mutating func clear(_ write: (String) -> Void) {}
}
