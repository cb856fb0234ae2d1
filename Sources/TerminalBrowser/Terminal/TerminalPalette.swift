/// How styles look in a terminal.
///
/// Nothing is told by colour alone, and the background is always the terminal's own, light or dark. With 256 colours those are taken that
/// can be read on white and on black; with 16 the terminal's own, which its owner chose for its background; without, or where colour is
/// refused, bold, dim, underlined and reversed text.
struct TerminalPalette: Sendable, Equatable {
    struct Look: OptionSet, Hashable, Sendable {
        let rawValue: UInt32
        static let bold = Look(rawValue: 1)
        static let dim = Look(rawValue: 2)
        static let underline = Look(rawValue: 4)
        static let reverse = Look(rawValue: 8)
    }

    /// A look and a colour over it; nil: the terminal's own colour.
    struct Appearance: Hashable, Sendable {
        var look: Look = []
        var colour: Int?
    }

    /// How many colours the terminal has; fewer than 8 is none.
    var colours: Int

    func appearance(_ style: ScreenStyle) -> Appearance {
        let plain = plainAppearance(style)
        guard colours >= 8, let pair = Self.hues[style] else { return plain }
        return Appearance(look: pair.look, colour: colours >= 256 ? pair.of256 : pair.of8)
    }

    private func plainAppearance(_ style: ScreenStyle) -> Appearance {
        switch style {
        case .plain, .input: Appearance()
        case .heading: Appearance(look: .bold)
        case .label, .dimmed, .bar: Appearance(look: .dim)
        case .selected: Appearance(look: .reverse)
        case .selectedElsewhere: Appearance(look: .underline)
        case .marked: Appearance(look: .bold)
        case .match: Appearance(look: [.bold, .underline])
        case .key: Appearance(look: .bold)
        case .good: Appearance()
        case .warning: Appearance(look: .bold)
        case .failure: Appearance(look: [.bold, .underline])
        }
    }

    /// A colour of the terminal's own eight, one of 256, and what else the text is.
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
