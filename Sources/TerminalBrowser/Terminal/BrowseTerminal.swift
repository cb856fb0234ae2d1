/// The terminal that shows the browser and reads keys.
///
/// It posts keys, sizes, suspensions and the end to the queue and never blocks.
package protocol BrowseTerminal: Sendable {
    /// Whether the terminal shows real pictures, not half blocks.
    var showsPictures: Bool { get }
    /// Draws a screen. If several arrive before the terminal is ready, it draws only the last.
    func draw(_ screen: Screen)
    func redraw()
    /// Suspends the program, like Ctrl-Z. ``BrowseEvent/resumed`` follows when it continues.
    func suspend()
    /// Copies a string to the clipboard of the user's terminal (OSC 52).
    func copy(_ text: String)
    /// Restores the terminal.
    func close() async
}
