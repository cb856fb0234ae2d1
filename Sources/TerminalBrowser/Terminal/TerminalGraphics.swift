import Platform

/// Pictures in the terminal, over the blank cells that ncurses has there: by kitty's graphics or sixel where the terminal says that it has
/// them, else in half blocks. Used on the terminal's thread only.
struct TerminalGraphics {
    enum Way: Equatable {
        case kitty, sixel
        case blocks(hasAllColours: Bool)
        case none
    }

    /// The size of a cell in points, where it is known.
    var cell: (width: Int, height: Int)?
    /// Whether the terminal has answered.
    private(set) var isAnswered = false
    private(set) var hasKitty = false
    private(set) var hasSixel = false
    /// How many colours there are; the drawing knows.
    var colours = 0
    private let environment: [String: String]
    private let isUnicode: Bool
    private var shown: ScreenPicture?
    /// What was written for ``shown``, to be written again.
    private var sequence = ""

    init(environment: [String: String], isUnicode: Bool) {
        self.environment = environment
        self.isUnicode = isUnicode
    }

    /// What the terminal is asked: kitty's own question, the size of a cell, and last what every terminal answers (DA1). Nil for one that
    /// would show the question.
    var question: String? {
        let name = environment["TERM"] ?? ""
        guard !["linux", "vt", "ansi", "cygwin"].contains(where: name.hasPrefix) else { return nil }
        return PictureSequences.kittyQuestion + "\u{1B}[16t\u{1B}[c"
    }

    /// Whether the terminal shows pictures as such.
    var isAvailable: Bool { hasKitty || hasSixel }

    var way: Way {
        if hasKitty { return .kitty }
        if hasSixel { return .sixel }
        guard isUnicode, colours >= 256 else { return .none }
        return .blocks(hasAllColours: ["truecolor", "24bit"].contains(environment["COLORTERM"]))
    }

    /// An answer of the terminal.
    mutating func take(_ report: TerminalReport) {
        switch report {
        case .application(let text): if PictureSequences.isKittyAnswer(text) { hasKitty = true }
        case .control(let parameters, "c"):
            guard parameters.hasPrefix("?") else { return }
            isAnswered = true
            hasSixel = parameters.dropFirst().split(separator: ";").dropFirst().contains("4")
        case .control(let parameters, "t"):
            let numbers = parameters.split(separator: ";").compactMap { Int($0) }
            if numbers.count == 3, numbers[0] == 6, numbers[1] > 0, numbers[2] > 0 { cell = (numbers[2], numbers[1]) }
        default: break
        }
    }

    /// Shows a picture, or none, after ncurses has erased something.
    ///
    /// - Parameter write: writes to the terminal at once.
    mutating func draw(
        _ picture: ScreenPicture?, _ erased: CursesDrawing.Erased, _ drawing: CursesDrawing, _ write: (String) -> Void
    ) {
        if picture == shown {
            // kitty's pictures go only with the whole screen.
            if let shown, way == .kitty ? erased.isAll : erased.touches(shown.area) { write(sequence) }
            return
        }
        if let shown { remove(shown, drawing, write) }
        shown = picture
        sequence = picture.map { sequence(for: $0) } ?? ""
        write(sequence)
    }

    /// The picture goes before the terminal is given back.
    mutating func clear(_ write: (String) -> Void) {
        if shown != nil, way == .kitty { write(PictureSequences.kittyRemoval) }
        shown = nil
    }

    private func remove(_ picture: ScreenPicture, _ drawing: CursesDrawing, _ write: (String) -> Void) {
        if way == .kitty { write(PictureSequences.kittyRemoval) }
        drawing.rewrite(row: picture.area.row, count: picture.area.rows)
    }

    // MARK: Making it

    private func sequence(for picture: ScreenPicture) -> String {
        let area = picture.area
        guard area.columns > 0, area.rows > 0 else { return "" }
        switch way {
        case .none: return text("This terminal has too few colours for a photo.", in: area)
        case .kitty where picture.bytes.starts(with: Self.pngStart):
            return placed(
                [
                    PictureSequences.kitty(
                        .png(picture.bytes), columns: min(area.columns, area.rows * 2), rows: area.rows)
                ],
                area)
        default: break
        }
        if picture.bytes.starts(with: Self.pngStart) {
            return text("The photo is a PNG, which only kitty's graphics show.", in: area)
        }
        guard let library = TurboJPEG() else {
            return text("To see photos, install libturbojpeg (\(TurboJPEG.fileName)).", in: area)
        }
        guard let pixels = library.pixels(picture.bytes) else { return text("The photo cannot be read.", in: area) }
        let cell = cell ?? (width: 8, height: 16)
        switch way {
        case .kitty, .sixel:
            let (width, height) = pixels.fitted(into: area.columns * cell.width, area.rows * cell.height)
            let scaled = pixels.scaled(to: width, height)
            if way == .sixel { return placed([PictureSequences.sixel(scaled)], area) }
            let (columns, rows) = ((width + cell.width - 1) / cell.width, (height + cell.height - 1) / cell.height)
            return placed([PictureSequences.kitty(.pixels(scaled), columns: columns, rows: rows)], area)
        case .blocks(let hasAllColours):
            let (width, height) = pixels.fitted(into: area.columns, area.rows * 2)
            let scaled = pixels.scaled(to: width, max(2, height))
            return placed(PictureSequences.blocks(scaled, hasAllColours: hasAllColours), area)
        case .none: return ""
        }
    }

    private static let pngStart = Data([0x89, 0x50, 0x4E, 0x47])

    private func text(_ sentence: String, in area: ScreenArea) -> String {
        var lines: [String] = [""]
        for word in sentence.split(separator: " ") {
            let longer = (lines.last ?? "").isEmpty ? String(word) : "\(lines.last ?? "") \(word)"
            if longer.count <= area.columns {
                lines[lines.count - 1] = longer
            } else {
                lines.append(String(word.prefix(area.columns)))
            }
        }
        return placed(Array(lines.prefix(area.rows)), area)
    }

    /// Lines from the area's corner on. The cursor and its colours are as before.
    private func placed(_ lines: [String], _ area: ScreenArea) -> String {
        var sequence = "\u{1B}7"
        for (index, line) in lines.enumerated() {
            sequence += "\u{1B}[0m\u{1B}[\(area.row + index + 1);\(area.column + 1)H" + line
        }
        return sequence + "\u{1B}8"
    }
}
