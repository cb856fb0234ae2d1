import Platform

/// What to do about the port that the browser comes back to.
package enum LoopbackPort {
    /// What to do when it cannot be opened: how to see which program has it, and the way around.
    package static func hint(_ port: UInt16?, of type: String) -> Hint {
        guard let port else { return "set redirectUri of \(type) to http://127.0.0.1/callback" }
        return
            "to find the program that uses the port, run: \(listenerCommand(port)); close it, or set another port in redirectUri of \(type)"
    }

    /// The command line that names the program with the port. `ss` and `lsof` are on most machines.
    static func listenerCommand(_ port: UInt16) -> String {
        #if os(Linux)
            "ss -ltnp 'sport = :\(port)'"
        #else
            "lsof -nP -iTCP:\(port) -sTCP:LISTEN"
        #endif
    }
}
