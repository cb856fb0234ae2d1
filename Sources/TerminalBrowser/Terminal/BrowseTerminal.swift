/// What shows the browser and gives it its keys. Keys, sizes, stops and the end come into an inbox; nothing here waits.
package protocol BrowseTerminal: Sendable {
    /// Whether it shows pictures as such, not in blocks.
    var showsPictures: Bool { get }
    /// Shows this. Of several that come before the terminal is ready the last is shown.
    func draw(_ screen: Screen)
    func redraw()
    /// Stops the program as ctrl-z does; ``BrowseEvent/resumed`` comes when it goes on.
    func suspend()
    /// Puts a text where the terminal's owner can paste it (OSC 52).
    func copy(_ text: String)
    /// Gives the terminal back, as it was found.
    func close() async
}
