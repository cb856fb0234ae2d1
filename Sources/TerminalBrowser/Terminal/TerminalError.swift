/// A reason why the browser cannot use the terminal.
package enum TerminalError: Error, Hashable, Sendable {
    /// `TERM` has this value, which terminfo does not know or whose terminal cannot move its cursor.
    case unusable(name: String)
    /// The session has no terminal: opening it failed with this value of `errno`.
    case none(Int32)
    /// The program is in the background, and no shell can bring it to the foreground.
    case background
    /// The system refused a pipe, with this value of `errno`.
    case system(Int32)
}
