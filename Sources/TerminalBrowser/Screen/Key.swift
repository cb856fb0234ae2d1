package enum Key: Hashable, Sendable {
    /// A typed character: one grapheme, possibly of several scalars.
    case character(Character)
    /// A letter with the Control key: `control("s")`.
    case control(Character)
    /// Pasted text, in one piece.
    case paste(String)
    case up, down, left, right
    case pageUp, pageDown, home, end
    case tab, backTab, enter, escape, backspace, delete
}
