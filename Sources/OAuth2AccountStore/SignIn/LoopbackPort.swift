import LodgePlatform

/// Hints for a loopback port that is already in use.
package enum LoopbackPort {
    /// Returns the hint for a port that cannot be opened: how to find the program that uses it, and which setting to
    /// change.
    package static func hint(_ port: UInt16?, of type: String) -> Hint {
        guard let port else { return "set redirectUri of \(type) to http://127.0.0.1/callback" }
        return
            "to find the program that uses the port, run: \(listenerCommand(port)); close it, or set another port in redirectUri of \(type)"
    }

    /// Returns a command that shows which program uses the port. `ss` and `lsof` are on most machines.
    static func listenerCommand(_ port: UInt16) -> String {
        platformValue(linux: "ss -ltnp 'sport = :\(port)'", darwin: "lsof -nP -iTCP:\(port) -sTCP:LISTEN")
    }
}
