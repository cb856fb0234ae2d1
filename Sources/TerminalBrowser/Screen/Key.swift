package enum Key: Hashable, Sendable {
    /// A character as it was typed: one grapheme, which can be several scalars long.
    case character(Character)
    /// A letter with the control key: `control("s")`.
    case control(Character)
    /// Text that was pasted, in one piece.
    case paste(String)
    case up, down, left, right
    case pageUp, pageDown, home, end
    case tab, backTab, enter, escape, backspace, delete
}
