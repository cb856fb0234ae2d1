/// The appearance of styles in a terminal.
///
/// No meaning depends on color alone, and the background is the terminal's own, light or dark. The 256 colors are those readable on
/// white and on black; with 16 they are the terminal's own; without color there is bold, dim, underlined and reversed text.
struct TerminalPalette: Sendable, Equatable {
    struct Look: OptionSet, Hashable, Sendable {
        let rawValue: UInt32
        static let bold = Look(rawValue: 1)
        static let dim = Look(rawValue: 2)
        static let underline = Look(rawValue: 4)
        static let reverse = Look(rawValue: 8)
    }

    /// Attributes and a color; `nil` for the terminal's default color.
    struct Appearance: Hashable, Sendable {
        var look: Look = []
        var color: Int?
    }

    /// The number of colors of the terminal. Fewer than 8 means no color.
    var colors: Int

    func appearance(_ style: ScreenStyle) -> Appearance {
        let plain = plainAppearance(style)
        guard colors >= 8, let pair = Self.hues[style] else { return plain }
        return Appearance(look: pair.look, color: colors >= 256 ? pair.of256 : pair.of8)
    }

    private func plainAppearance(_ style: ScreenStyle) -> Appearance {
        switch style {
        case .plain, .input, .good: Appearance()
        case .heading, .marked, .key, .warning: Appearance(look: .bold)
        case .label, .dimmed, .bar: Appearance(look: .dim)
        case .selected: Appearance(look: .reverse)
        case .selectedElsewhere: Appearance(look: .underline)
        case .match, .failure: Appearance(look: [.bold, .underline])
        }
    }

    /// A color of the 8 basic colors, one of the 256, and other attributes.
    struct Hue: Sendable {
        var of8: Int
        var of256: Int
        var look: Look = []
    }

    static let hues: [ScreenStyle: Hue] = [
        .label: Hue(of8: 6, of256: 31), .marked: Hue(of8: 5, of256: 133, look: .bold),
        .match: Hue(of8: 5, of256: 133, look: .bold), .good: Hue(of8: 2, of256: 28),
        .warning: Hue(of8: 3, of256: 130, look: .bold), .failure: Hue(of8: 1, of256: 160, look: .bold),
    ]
}
