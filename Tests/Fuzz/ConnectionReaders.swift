@testable import CurlHTTP
import HTTPExchange
@testable import LoopbackHTTP
import LodgePlatform

let connectionReaders = [
    FuzzReader(
        "loopback",
        [
            .init("GET / HTTP/1.1\r\nHost: 127.0.0.1:1\r\n", "A: b\r\n"), .init("GET /", "a"), .init("", "\r\n"),
            .init("POST / HTTP/1.1\r\nHost: 127.0.0.1:1\r\nContent-Length: 60000\r\n\r\n", "a"), .init("GET /?", "%"),
            .init("GET / HTTP/1.1\r\nHost: 127.0.0.1:1\r\nConnection: ", "a,"),
        ], readLoopback),
    FuzzReader(
        "head",
        [
            .init("HTTP/1.1 200 OK\r\n", "A: b\r\n", "\r\n"), .init("HTTP/1.1 200 OK\r\nA: b\r\n", " c\r\n", "\r\n"),
            .init("HTTP/1.1 200 OK\r\nA:", " ", "\r\n\r\n"), .init("", "HTTP/1.1 100 Continue\r\n\r\n"),
            .init("", "\n"),
            .init("HTTP/1.1 200 OK\r\nA: ", "\u{E9}", "\r\n\r\n"),
        ], readHead),
]

private func readLoopback(_ bytes: [UInt8]) {
    func result(_ pieces: [Int]) -> [String] {
        var reader = LoopbackRequestReader(limits: .init(), authority: LoopbackAuthority(host: "127.0.0.1", port: 1))
        var results: [String] = []
        var start = 0
        for end in pieces {
            do throws(LoopbackRequestReader.Rejection) {
                while case .request(let request, let consumed, let keeps) = try reader.read(Array(bytes[start..<end])) {
                    require(consumed > 0, "a request has bytes")
                    require(request.path.hasPrefix("/") || request.path == "*", "a request has a path")
                    results.append("\(request.method.rawValue) \(request.target) \(request.body.count) \(keeps)")
                    start += consumed
                }
            } catch {
                require((400..<600).contains(error.status), "a rejection has a status")
                return results + ["\(error.status)"]
            }
        }
        return results
    }
    let whole = result([bytes.count])
    let middle = bytes.isEmpty ? 0 : (Int(bytes[bytes.count / 2]) * 7) % bytes.count
    require(result([middle, bytes.count]) == whole, "the pieces of a request do not matter")
}

private func readHead(_ bytes: [UInt8]) {
    var head = ResponseHead()
    bytes.withUnsafeBytes { buffer in
        var start = 0
        while start < buffer.count {
            let end = buffer[start...].firstIndex(of: 0x0A).map { $0 + 1 } ?? buffer.count
            guard head.read(UnsafeRawBufferPointer(rebasing: buffer[start..<end])) else {
                require(head.isTooLarge && end > ResponseHead.maximumBytes, "only a large head is refused")
                break
            }
            start = end
        }
    }
    require((0..<1000).contains(head.status), "a status has three digits")
    var size = 0
    for field in head.fields {
        require(HTTPFields.isToken(field.name), "a name is a token")
        require(
            field.value.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }, "a value has no controls")
        size += field.value.utf8.count
    }
    require(size <= 2 * ResponseHead.maximumBytes, "the size of the fields has a limit")
    let response = HTTPResponse(status: head.status, fields: head.fields)
    _ = response.fields["Date"].flatMap(HTTPDate.parse)
}
