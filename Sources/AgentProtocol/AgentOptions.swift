import StrictJSON

/// What the user chose for the agent. The process gets it when it starts.
package struct AgentOptions: Sendable, Equatable {
    /// A socket that another program uses, and the command line for each of its connections.
    package struct Listener: Sendable, Equatable {
        package var descriptor: Int32
        package var path: String
        package var arguments: [String]

        package init(descriptor: Int32, path: String, arguments: [String]) {
            (self.descriptor, self.path, self.arguments) = (descriptor, path, arguments)
        }
    }

    /// The time in seconds without a command after which the agent locks itself.
    package var lockAfter: Double?
    /// Whether a suspend locks the agent.
    package var locksOnSleep = false
    /// The files with tokens, which the agent removes when it is locked or ends.
    package var files: [String] = []
    /// The command line that writes these files. The agent runs it before a token in them expires.
    package var filesCommand: [String] = []
    package var listeners: [Listener] = []

    package init() {}

    /// Creates the options from their text. Returns `nil` if it is invalid.
    package init?(_ text: String) {
        func words(_ value: JSONValue?) -> [String] { value?.array?.compactMap(\.string) ?? [] }
        guard let object = AgentLine.object(text.utf8) else { return nil }
        lockAfter = object["lockAfter"]?.number?.double
        locksOnSleep = object["locksOnSleep"]?.bool ?? false
        files = words(object["files"])
        filesCommand = words(object["filesCommand"])
        for case .object(let listener) in object["listeners"]?.array ?? [] {
            guard let descriptor = listener["descriptor"]?.number?.int64, let path = listener["path"]?.string else {
                return nil
            }
            listeners.append(
                Listener(
                    descriptor: Int32(clamping: descriptor), path: path, arguments: words(listener["arguments"])))
        }
    }

    /// The options as JSON.
    package var text: String {
        func array(_ words: [String]) -> JSONValue { .array(words.map { .string($0) }) }
        let listeners = listeners.map { listener -> JSONValue in
            [
                "descriptor": .integer(Int64(listener.descriptor)), "path": .string(listener.path),
                "arguments": array(listener.arguments),
            ]
        }
        let object: JSONObject = [
            "lockAfter": lockAfter.flatMap(JSONNumber.init).map { .number($0) } ?? .null,
            "locksOnSleep": .bool(locksOnSleep), "files": array(files), "filesCommand": array(filesCommand),
            "listeners": .array(listeners),
        ]
        return String(decoding: JSONValue.object(object).serialized(), as: UTF8.self)
    }
}
