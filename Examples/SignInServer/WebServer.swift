// The stand-in for a web framework: a server for this machine, with one GET request for each connection.
import Foundation

struct Request: Sendable {
    let url: URL
    /// The value of the only cookie.
    let cookie: String
    let connection: Int32
    func respond(with response: Response) {
        _ = response.text.withCString { send(connection, $0, strlen($0), 0) }
        close(connection)
    }
}

struct Response {
    let text: String
    /// Redirects with a cookie that only the server reads. With https, add the attribute Secure.
    static func redirect(to url: String, cookie: String) -> Response {
        let cookie = "visitor=\(cookie); Path=/; HttpOnly; SameSite=Lax"
        return Response(text: "HTTP/1.1 303 See Other\r\nLocation: \(url)\r\nSet-Cookie: \(cookie)\r\n\r\n")
    }

    static func text(_ status: String, _ text: String) -> Response {
        Response(text: "HTTP/1.1 \(status)\r\nContent-Type: text/plain\r\n\r\n\(text)\n")
    }
}

struct WebServer: Sendable {
    let url: String
    let requests: AsyncStream<Request>

    init(port: String) throws {
        signal(SIGPIPE, SIG_IGN)
        var hints = addrinfo()
        (hints.ai_family, hints.ai_protocol) = (AF_INET, Int32(IPPROTO_TCP))
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo("127.0.0.1", port, &hints, &found) == 0, let address = found?.pointee,
            case let listener = socket(address.ai_family, address.ai_socktype, address.ai_protocol),
            bind(listener, address.ai_addr, address.ai_addrlen) == 0, listen(listener, 16) == 0
        else { throw POSIXError(.EADDRINUSE) }
        url = "http://127.0.0.1:\(port)"
        requests = AsyncStream { [url] continuation in
            Thread.detachNewThread {
                while case let connection = accept(listener, nil, nil), connection >= 0 {
                    // A browser can open a connection before it has a request.
                    Thread.detachNewThread {
                        var bytes = [UInt8](repeating: 0, count: 16_384)
                        let count = max(0, recv(connection, &bytes, bytes.count, 0))
                        let head = String(decoding: bytes[..<count], as: UTF8.self)
                        let target = head.firstMatch(of: /^GET (\S+)/)?.1 ?? "/"
                        let cookie = head.firstMatch(of: /\bvisitor=([\w-]+)/)?.1 ?? ""
                        let page = URL(string: url + target) ?? URL(filePath: "/")
                        continuation.yield(Request(url: page, cookie: String(cookie), connection: connection))
                    }
                }
            }
        }
    }
}
