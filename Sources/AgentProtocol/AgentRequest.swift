import StrictJSON
import CLodgeAgent

/// A message is one line of JSON. The reader ignores unknown members.
package enum AgentLine {
    package static func bytes(_ object: JSONObject) -> [UInt8] {
        var bytes: [UInt8] = []
        JSONValue.object(object).write(to: &bytes)
        bytes.append(UInt8(ascii: "\n"))
        return bytes
    }

    /// Returns the object of a line, or `nil` if the line is not a JSON object.
    package static func object(_ bytes: some Sequence<UInt8>) -> JSONObject? {
        let options = JSONReadingOptions(rejectsDuplicates: true, maximumDepth: 8)
        return (try? JSONValue(parsing: bytes, options: options))?.object
    }
}

/// The first message of a client.
package enum AgentRequest: Sendable, Equatable {
    case run(CommandLineRequest)
    case status
    case lock
    /// Serve commands again. With the key of a store, a descriptor comes with the message from which it can be read.
    case unlock(store: String?)
    case stop
    /// Run the command line for each connection to the listening socket whose descriptor comes with the message, until a
    /// time in seconds since 1970. Its standard input and output are the connection.
    case listen(CommandLineRequest, path: String, until: Double)
    /// The standard streams for the accepted command line, and the pipe of ``CommandReport``. The descriptors come with
    /// the message.
    case streams
    /// A signal for the command that runs for this connection.
    case signal(Int32)

    /// Creates a request from a line. Returns `nil` if it is invalid or has another protocol version.
    package init?(_ line: some Sequence<UInt8>) {
        guard let object = AgentLine.object(line) else { return nil }
        if let number = object["signal"]?.number?.int64 {
            guard (1...64).contains(number) else { return nil }
            self = .signal(Int32(number))
            return
        }
        if object["streams"] == true {
            self = .streams
            return
        }
        guard object["protocol"]?.number?.int64 == AgentLimits.protocolVersion else { return nil }
        switch object["ask"]?.string {
        case "run":
            guard let request = CommandLineRequest(object) else { return nil }
            self = .run(request)
        case "status": self = .status
        case "lock": self = .lock
        case "unlock": self = .unlock(store: object["store"]?.string)
        case "stop": self = .stop
        case "listen":
            guard let request = CommandLineRequest(object), let path = object["path"]?.string,
                path.utf8.first == UInt8(ascii: "/"), !path.utf8.contains(0),
                let until = object["until"]?.number?.double
            else { return nil }
            self = .listen(request, path: path, until: until)
        default: return nil
        }
    }

    package static let streamsLine = AgentLine.bytes(["streams": true])

    /// Returns the line of a request that is only a word.
    package static func line(_ word: String) -> [UInt8] {
        AgentLine.bytes(["protocol": .integer(AgentLimits.protocolVersion), "ask": .string(word)])
    }

    /// Returns the line of ``unlock(store:)`` with the key of this store.
    package static func unlockLine(store: String) -> [UInt8] {
        AgentLine.bytes([
            "protocol": .integer(AgentLimits.protocolVersion), "ask": "unlock", "store": .string(store),
        ])
    }
}

/// A command line, and everything of the client's process that it can depend on, except its standard streams.
package struct CommandLineRequest: Sendable, Equatable {
    package var arguments: [String]
    /// The variables, each as `NAME=VALUE`.
    package var environment: [String]
    package var folder: String
    package var umask: Int64
    /// Which standard streams are terminals: bits 0, 1 and 2.
    package var terminals: Int64
    package var identity: ProcessIdentity

    package init(
        arguments: [String], environment: [String], folder: String, umask: Int64, terminals: Int64,
        identity: ProcessIdentity
    ) {
        (self.arguments, self.environment, self.folder) = (arguments, environment, folder)
        (self.umask, self.terminals, self.identity) = (umask, terminals, identity)
    }

    init?(_ object: JSONObject) {
        func words(_ name: String) -> [String]? {
            guard let array = object[name]?.array else { return nil }
            let words = array.compactMap(\.string)
            // A command line cannot contain a zero byte.
            return words.count == array.count && !words.contains { $0.utf8.contains(0) } ? words : nil
        }
        guard let arguments = words("arguments"), let environment = words("environment"),
            let folder = object["folder"]?.string, folder.utf8.first == UInt8(ascii: "/"), !folder.utf8.contains(0),
            let umask = object["umask"]?.number?.int64, (0...0o777).contains(umask),
            let terminals = object["terminals"]?.number?.int64, (0...7).contains(terminals),
            let program = object["program"]?.string, let place = object["place"]?.string
        else { return nil }
        self.init(
            arguments: arguments, environment: environment, folder: folder, umask: umask, terminals: terminals,
            identity: ProcessIdentity(program: program, place: place))
    }

    /// The line of ``AgentRequest/run(_:)``.
    package var line: [UInt8] { line(asking: "\"run\"") }

    /// Returns the line of ``AgentRequest/listen(_:path:until:)``.
    package func listenLine(path: String, until: Double) -> [UInt8] {
        let options: JSONObject = [
            "path": .string(path), "until": JSONNumber(until).map { .number($0) } ?? .null,
        ]
        let members = JSONValue.object(options).serialized().dropFirst().dropLast()
        return line(asking: "\"listen\"," + String(decoding: members, as: UTF8.self))
    }

    private func line(asking words: String) -> [UInt8] {
        // Written without an intermediate value: the client of a remembered output does little else.
        var bytes: [UInt8] = []
        bytes.reserveCapacity(8192)
        func write(_ text: String) { bytes += text.utf8 }
        func write(_ name: String, _ word: String) {
            write(name)
            JSONValue.string(word).write(to: &bytes)
        }
        func write(_ name: String, _ words: [String]) {
            write(name)
            var separator = "["
            for word in words {
                write(separator, word)
                separator = ","
            }
            write(words.isEmpty ? "[]" : "]")
        }
        write(
            "{\"protocol\":\(AgentLimits.protocolVersion),\"ask\":\(words),\"umask\":\(umask),\"terminals\":\(terminals)"
        )
        write(",\"program\":", identity.program)
        write(",\"place\":", identity.place)
        write(",\"folder\":", folder)
        write(",\"arguments\":", arguments)
        write(",\"environment\":", environment)
        write("}\n")
        return bytes
    }

    /// Returns the key of the output: a client with an equal key would print the same.
    package func outputKey(_ rule: OutputKeyRule) -> [String] {
        let variables = environment.filter { Self.has($0, rule.variables) }.sorted()
        // A relative path depends on the current folder.
        let isRelative =
            arguments.contains { Self.has($0, rule.pathOptions) }
            || variables.contains {
                Self.has($0, rule.pathVariables)
                    && $0.utf8.drop { $0 != UInt8(ascii: "=") }.dropFirst().first != UInt8(ascii: "/")
            }
        // Only a terminal at standard output can change the format.
        return ["\(terminals & 2)", isRelative ? folder : ""] + arguments + ["\u{0}"] + variables
    }

    /// The variables that system libraries read themselves. A worker gets them when it starts, because changing them
    /// later is not safe while its threads run.
    package var libraryEnvironment: [String] {
        environment.filter { variable in
            let name = variable.prefix { $0 != "=" }
            return Self.has(variable, Self.libraryPrefixes) || name.lowercased().hasSuffix("_proxy")
        }.sorted()
    }

    private static let libraryPrefixes = [
        "CURL_", "DBUS_", "DISPLAY=", "HOME=", "HOSTALIASES=", "KRB5", "LANG", "LC_", "LOCALDOMAIN=", "LOGNAME=", "NSS",
        "OPENSSL_", "PATH=", "PG", "RES_OPTIONS=", "SQLITE_", "SSL", "TMPDIR=", "TZ", "USER=", "WAYLAND_DISPLAY=",
        "XDG_",
    ]

    /// Returns whether a word starts with one of these prefixes. Compares bytes: Swift compares characters slowly.
    package static func has(_ word: String, _ prefixes: [String]) -> Bool {
        prefixes.contains { word.utf8.starts(with: $0.utf8) }
    }
}

/// What an output of the program can depend on.
package struct OutputKeyRule: Sendable {
    /// The beginnings of the variables.
    let variables: [String]
    /// The beginnings of the options with a path. Names of options can be abbreviated.
    let pathOptions: [String]
    /// The beginnings of the variables with a path.
    let pathVariables: [String]

    package init(variables: [String], pathOptions: [String], pathVariables: [String]) {
        (self.variables, self.pathOptions, self.pathVariables) = (variables, pathOptions, pathVariables)
    }
}

extension JSONValue {
    package static func integer(_ value: Int64) -> JSONValue { .number(JSONNumber(value)) }
}

/// What distinguishes two processes that have the same paths and variables: their program file, and the file system and
/// the network that they see. In a container they can differ.
package struct ProcessIdentity: Sendable, Equatable {
    package let program: String
    package let place: String

    package init(program: String, place: String) { (self.program, self.place) = (program, place) }

    /// Creates the identity of this process, which runs the program at the path. Returns `nil` without the program.
    package init?(program path: String) {
        guard let program = Self.program(at: path) else { return nil }
        self.init(program: program, place: Self.currentPlace)
    }

    package static var programPath: String? {
        var bytes = [CChar](repeating: 0, count: 4096)
        let count = lodge_agent_program_path(&bytes, bytes.count)
        guard count > 0 else { return nil }
        return String(validating: bytes.prefix(Int(count)), as: UTF8.self)
    }

    package static func program(at path: String) -> String? {
        FileStamp(reading: path, .file).state?.text
    }

    /// The root folder, the current folder and the network of this process.
    package static var currentPlace: String {
        ["/", ".", "/proc/self/ns/net"].map { path in
            SystemCalls.status(path).map { "\($0.st_dev):\($0.st_ino)" } ?? ""
        }.joined(separator: " ")
    }
}

extension CommandLineRequest {
    /// Creates a request from the line of a client. Returns `nil` if it is invalid.
    package init?(line: some Sequence<UInt8>) {
        guard case .run(let request)? = AgentRequest(line) else { return nil }
        self = request
    }
}
