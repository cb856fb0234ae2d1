/// A reason why the browser cannot use the terminal.
package enum TerminalError: Error, Hashable, Sendable {
    /// terminfo does not know this value of `TERM`, or the terminal cannot move its cursor.
    case unusable(name: String)
    /// The session has no terminal: opening it failed with this value of `errno`.
    case none(Int32)
    /// The program is in the background, and no shell can bring it to the foreground.
    case background
    /// The system provided no pipe and set `errno` to this value.
    case system(Int32)
}
