import Foundation
import Synchronization
import TestSupport

#if canImport(Glibc)
    import Glibc
    private let stream = Int32(SOCK_STREAM.rawValue)
    private let noSignal = Int32(MSG_NOSIGNAL)
#else
    private let stream = SOCK_STREAM
    private let noSignal: Int32 = 0
#endif

/// A request as the server received it.
struct ReceivedRequest: Sendable {
    var line: String
    var fields: [(name: String, value: String)]
    var body: [UInt8]

    /// Returns the values of the fields with this name.
    func values(_ name: String) -> [String] {
        fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }
}

/// An event that tests wait for.
final class Signal<Value: Sendable>: Sendable {
    private let stream: AsyncStream<Value>
    private let continuation: AsyncStream<Value>.Continuation

    init() { (stream, continuation) = AsyncStream.makeStream() }

    func send(_ value: Value) { continuation.yield(value) }

    func next() async -> Value? {
        var iterator = stream.makeAsyncIterator()
        return await iterator.next()
    }
}

/// A server on 127.0.0.1 that runs a script for each connection, on a separate thread.
final class ScriptedServer: Sendable {
    let port: Int
    private let listener: Int32
    private let state = Mutex(State())

    private struct State {
        var connections = 0
        var requests: [ReceivedRequest] = []
    }

    /// Creates a server that runs the script for each connection, numbered from 1.
    init(_ script: @escaping @Sendable (Connection, Int) -> Void) throws {
        listener = socket(AF_INET, stream, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let socket = listener
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, length) == 0 && listen(socket, 128) == 0 && getsockname(socket, $0, &length) == 0
            }
        }
        guard bound else { throw POSIXError(.EADDRINUSE) }
        port = Int(UInt16(bigEndian: address.sin_port))
        Thread.detachNewThread { [weak self] in
            while true {
                let accepted = accept(socket, nil, nil)
                guard accepted >= 0 else {
                    // Closed here and not in `deinit`: this thread must not use a descriptor that was reused.
                    close(socket)
                    return
                }
                let number =
                    self?.state.withLock {
                        $0.connections += 1
                        return $0.connections
                    } ?? 0
                var limit = timeval()
                limit.tv_sec = .init(TestTime.seconds(120))
                for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
                    setsockopt(accepted, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
                }
                let connection = Connection(socket: accepted) { [weak self] request in
                    self?.state.withLock { $0.requests.append(request) }
                }
                Thread.detachNewThread {
                    script(connection, number)
                    connection.close()
                }
            }
        }
    }

    /// Creates a server that responds to every request with the same closure.
    convenience init(answer: @escaping @Sendable (ReceivedRequest) -> String) throws {
        try self.init { connection, _ in
            while let request = connection.readRequest() { connection.send(answer(request)) }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
    }

    /// The number of connections until now.
    var connectionCount: Int { state.withLock(\.connections) }
    /// The requests until now.
    var requests: [ReceivedRequest] { state.withLock(\.requests) }

    func url(_ target: String = "/", host: String = "127.0.0.1") -> URL {
        URL(string: "http://\(host):\(port)\(target)") ?? URL(filePath: "/")
    }
}

/// A connection of a scripted server. Only one thread uses it.
final class Connection: @unchecked Sendable {
    // Unchecked: only the script's thread uses it.
    private let socket: Int32
    private let received: @Sendable (ReceivedRequest) -> Void
    private var buffer: [UInt8] = []
    private var isClosed = false

    init(socket: Int32, received: @escaping @Sendable (ReceivedRequest) -> Void) {
        self.socket = socket
        self.received = received
    }

    /// Whether a request with "Expect: 100-continue" receives 100.
    var accepts: (ReceivedRequest) -> Bool = { _ in true }

    private func readChunks() -> [UInt8]? {
        var body: [UInt8] = []
        while true {
            guard let end = fill(until: { $0.firstRange(of: Array("\r\n".utf8))?.upperBound }),
                let size = Int(String(decoding: buffer[..<(end - 2)], as: UTF8.self), radix: 16),
                fill(until: { $0.count >= end + size + 2 ? end : nil }) != nil
            else { return nil }
            body += buffer[end..<end + size]
            buffer.removeFirst(end + size + 2)
            if size == 0 { return body }
        }
    }

    /// Returns the next request, or `nil` if the client closed the connection.
    func readRequest() -> ReceivedRequest? {
        guard let end = fill(until: { $0.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound }) else { return nil }
        let lines = String(decoding: buffer[..<end], as: UTF8.self).components(separatedBy: "\r\n").filter {
            !$0.isEmpty
        }
        buffer.removeFirst(end)
        var request = ReceivedRequest(line: lines.first ?? "", fields: [], body: [])
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            request.fields.append(
                (String(parts[0]), parts.count > 1 ? parts[1].trimmingCharacters(in: .whitespaces) : ""))
        }
        if request.values("Expect").contains("100-continue") {
            guard accepts(request) else {
                received(request)
                return request
            }
            send("HTTP/1.1 100 Continue\r\n\r\n")
        }
        guard request.values("Transfer-Encoding") != ["chunked"] else {
            guard let body = readChunks() else { return nil }
            request.body = body
            received(request)
            return request
        }
        let length = request.values("Content-Length").first.flatMap { Int($0) } ?? 0
        guard fill(until: { $0.count >= length ? length : nil }) != nil else { return nil }
        request.body = Array(buffer.prefix(length))
        buffer.removeFirst(length)
        received(request)
        return request
    }

    /// Sends the text. Returns `false` if the client closed the connection.
    @discardableResult func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    /// Sends the bytes. Returns `false` if the client closed the connection.
    @discardableResult func send(_ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                #if canImport(Glibc)
                    Glibc.send(socket, $0.baseAddress, $0.count, noSignal)
                #else
                    Darwin.send(socket, $0.baseAddress, $0.count, noSignal)
                #endif
            }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    /// Waits for the first bytes.
    func readSomething() {
        _ = fill(until: { $0.isEmpty ? nil : $0.count })
    }

    /// Waits without reading until the client closes or resets the connection.
    func waitForHold() {
        var entry = pollfd(fd: socket, events: 0, revents: 0)
        _ = poll(&entry, 1, Int32(TestTime.seconds(60) * 1000))
    }

    /// Waits until the client closes the connection.
    func waitForClose() {
        while fill(until: { _ in nil }) != nil {}
    }

    /// Closes the connection with a reset.
    func reset() {
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(socket, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
        close()
    }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        #if canImport(Glibc)
            Glibc.close(socket)
        #else
            Darwin.close(socket)
        #endif
    }

    private func fill(until found: ([UInt8]) -> Int?) -> Int? {
        while true {
            if let result = found(buffer) { return result }
            guard !isClosed else { return nil }
            var chunk = [UInt8](repeating: 0, count: 65_536)
            let count = recv(socket, &chunk, chunk.count, 0)
            guard count > 0 else { return nil }
            buffer.append(contentsOf: chunk[..<count])
        }
    }
}

/// Creates a response with a Content-Length.
func answer(_ status: String = "200 OK", _ fields: String = "", body: String = "") -> String {
    "HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n\(fields)\r\n\(body)"
}

func url(_ text: String) -> URL { URL(string: text) ?? URL(filePath: "/") }
