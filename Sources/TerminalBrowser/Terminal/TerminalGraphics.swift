import CommandLineKit
import LodgePlatform

/// Pictures over blank cells of ncurses: kitty's graphics or sixel if the terminal has them, otherwise half blocks.
///
/// Used on the terminal's thread only.
struct TerminalGraphics {
    enum Method: Equatable {
        case kitty, sixel
        case blocks(hasAllColors: Bool)
        case none
    }

    /// The size of a cell in pixels, if known.
    var cell: (width: Int, height: Int)?
    /// Whether the terminal has replied.
    private(set) var hasResponse = false
    private(set) var hasKitty = false
    private(set) var hasSixel = false
    /// The number of colors, set by the drawing.
    var colors = 0
    private let environment: [String: String]
    private let isUnicode: Bool
    private var shown: ScreenPicture?
    /// The sequence written for ``shown``, for redrawing.
    private var sequence = ""

    init(environment: [String: String], isUnicode: Bool) {
        self.environment = environment
        self.isUnicode = isUnicode
    }

    /// The query for kitty's graphics and the cell size, then DA1, to which every terminal replies.
    ///
    /// `nil` for terminals that would print it.
    var query: String? {
        let name = environment["TERM"] ?? ""
        guard !["linux", "vt", "ansi", "cygwin"].contains(where: name.hasPrefix) else { return nil }
        return PictureSequences.kittyQuery + "\u{1B}[16t\u{1B}[c"
    }

    /// Whether the terminal shows real pictures.
    var isAvailable: Bool { hasKitty || hasSixel }

    var method: Method {
        if hasKitty { return .kitty }
        if hasSixel { return .sixel }
        guard isUnicode, colors >= 256 else { return .none }
        return .blocks(hasAllColors: ["truecolor", "24bit"].contains(environment["COLORTERM"]))
    }

    mutating func take(_ report: TerminalReport) {
        switch report {
        case .application(let text): if PictureSequences.isKittyResponse(text) { hasKitty = true }
        case .control(let parameters, "c"):
            guard parameters.hasPrefix("?") else { return }
            hasResponse = true
            hasSixel = parameters.dropFirst().split(separator: ";").dropFirst().contains("4")
        case .control(let parameters, "t"):
            let numbers = parameters.split(separator: ";").compactMap { Int($0) }
            if numbers.count == 3, numbers[0] == 6, numbers[1] > 0, numbers[2] > 0 { cell = (numbers[2], numbers[1]) }
        default: break
        }
    }

    /// Shows or removes the picture, after ncurses erased some rows. `write` writes to the terminal immediately.
    mutating func draw(
        _ picture: ScreenPicture?, _ erased: CursesDrawing.Erased, _ drawing: CursesDrawing, _ write: (String) -> Void
    ) {
        if picture == shown {
            // Only clearing the whole screen removes kitty's pictures.
            if let shown, method == .kitty ? erased.isAll : erased.touches(shown.area) { write(sequence) }
            return
        }
        if let shown { remove(shown, drawing, write) }
        shown = picture
        sequence = picture.map { sequence(for: $0) } ?? ""
        write(sequence)
    }

    /// Removes the picture before the terminal is restored.
    mutating func clear(_ write: (String) -> Void) {
        if shown != nil, method == .kitty { write(PictureSequences.kittyRemoval) }
        shown = nil
    }

    private func remove(_ picture: ScreenPicture, _ drawing: CursesDrawing, _ write: (String) -> Void) {
        if method == .kitty { write(PictureSequences.kittyRemoval) }
        drawing.rewrite(row: picture.area.row, count: picture.area.rows)
    }

    // MARK: Sequences

    private func sequence(for picture: ScreenPicture) -> String {
        let area = picture.area
        guard area.columns > 0, area.rows > 0 else { return "" }
        switch method {
        case .none: return text("This terminal has too few colors for a photo.", in: area)
        case .kitty where picture.bytes.starts(with: Self.pngStart):
            return positioned(
                [
                    PictureSequences.kitty(
                        .png(picture.bytes), columns: min(area.columns, area.rows * 2), rows: area.rows)
                ], area)
        default: break
        }
        if picture.bytes.starts(with: Self.pngStart) {
            return text("The photo is a PNG, which only kitty's graphics show.", in: area)
        }
        guard let library = try? TurboJPEG() else {
            return text("To see photos, install libturbojpeg (\(TurboJPEG.fileName)).", in: area)
        }
        guard let pixels = library.pixels(picture.bytes) else { return text("The photo cannot be read.", in: area) }
        let cell = cell ?? (width: 8, height: 16)
        switch method {
        case .kitty, .sixel:
            let (width, height) = pixels.fitted(into: area.columns * cell.width, area.rows * cell.height)
            let scaled = pixels.scaled(to: width, height)
            if method == .sixel { return positioned([PictureSequences.sixel(scaled)], area) }
            let (columns, rows) = ((width + cell.width - 1) / cell.width, (height + cell.height - 1) / cell.height)
            return positioned([PictureSequences.kitty(.pixels(scaled), columns: columns, rows: rows)], area)
        case .blocks(let hasAllColors):
            let (width, height) = pixels.fitted(into: area.columns, area.rows * 2)
            let scaled = pixels.scaled(to: width, max(2, height))
            return positioned(PictureSequences.blocks(scaled, hasAllColors: hasAllColors), area)
        case .none: return ""
        }
    }

    private static let pngStart = Data([0x89, 0x50, 0x4E, 0x47])

    private func text(_ sentence: String, in area: ScreenArea) -> String {
        positioned(Array(TerminalText.wrapped(sentence, to: area.columns).prefix(area.rows)), area)
    }

    /// Returns the lines, positioned from the area's corner. Saves and restores the cursor and its colors.
    private func positioned(_ lines: [String], _ area: ScreenArea) -> String {
        var sequence = "\u{1B}7"
        for (index, line) in lines.enumerated() {
            sequence += "\u{1B}[0m\u{1B}[\(area.row + index + 1);\(area.column + 1)H" + line
        }
        return sequence + "\u{1B}8"
    }
}
