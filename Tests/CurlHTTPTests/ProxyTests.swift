import Foundation
import CurlHTTP
import HTTPExchange
import Testing

// Environment variables apply to the whole process, so each test runs in a separate process.
@Suite struct `Proxies` {
    @Test func `requests to loopback never use a proxy`() async {
        await #expect(processExitsWith: .success) {
            let proxy = try ScriptedServer { _ in answer("502 Bad Gateway") }
            setProxies(to: "http://127.0.0.1:\(proxy.port)")
            let server = try ScriptedServer { _ in answer() }
            let transport = CurlTransport()
            for host in ["127.0.0.1", "localhost"] {
                let request = HTTPRequest(.get, server.url(host: host), fields: ["Authorization": "Bearer t"])
                #expect(try await transport.send(request).status == 200)
            }
            #expect(proxy.connectionCount == 0)
        }
    }

    @Test func `https uses the proxy as a tunnel without credentials`() async {
        await #expect(processExitsWith: .success) {
            let proxy = try ScriptedServer { _ in answer("407 Proxy Authentication Required") }
            setProxies(to: "http://user:proxypassword@127.0.0.1:\(proxy.port)")
            let request = HTTPRequest(
                .get, url("https://directory.example/users?q=secret"), fields: ["Authorization": "Bearer t"])
            let error = await failure(CurlTransport(), request)
            #expect(error?.kind == .proxy, "\(error as Any)")
            #expect(error.map { !"\($0)".contains("secret") && !"\($0)".contains("proxypassword") } == true)
            let tunnel = try #require(proxy.requests.first)
            #expect(tunnel.line == "CONNECT directory.example:443 HTTP/1.1")
            #expect(tunnel.values("Authorization").isEmpty)
        }
    }

    @Test func `requests to NO_PROXY hosts do not use the proxy`() async {
        await #expect(processExitsWith: .success) {
            let proxy = try ScriptedServer { _ in answer() }
            setProxies(to: "http://127.0.0.1:\(proxy.port)")
            setenv("NO_PROXY", "directory.invalid", 1)
            setenv("no_proxy", "directory.invalid", 1)
            var request = HTTPRequest(.get, url("https://directory.invalid/"))
            request.timeout = .seconds(20)
            let kind = await failure(CurlTransport(), request)?.kind
            #expect(kind == .cannotResolveHost || kind == .timedOut)
            #expect(proxy.connectionCount == 0)
        }
    }

    @Test(arguments: [
        "http://127.0.0.1:1", "http://user:proxypassword@no-such-proxy.invalid:1", "nonsense://u:proxypassword@x",
    ])
    func `an unusable proxy is an error without its password`(address: String) async {
        await #expect(processExitsWith: .success) { [address] in
            setProxies(to: address)
            let error = await failure(CurlTransport(), HTTPRequest(.get, url("https://directory.example/")))
            #expect(error?.kind == .proxy, "\(error as Any)")
            #expect(error.map { !"\($0)".contains("proxypassword") } == true)
        }
    }

    @Test func `a process can exit during requests`() async {
        await #expect(processExitsWith: .exitCode(7)) {
            let arrived = Signal<Void>()
            let server = try ScriptedServer { connection, _ in
                _ = connection.readRequest()
                arrived.send(())
                connection.waitForClose()
            }
            let transport = CurlTransport()
            for _ in 0..<8 { Task { try await transport.send(HTTPRequest(.get, server.url())) } }
            await arrived.next()
            exit(7)
        }
    }
}

func setProxies(to address: String) {
    for name in ["http_proxy", "https_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"] { setenv(name, address, 1) }
    for name in ["NO_PROXY", "no_proxy"] { unsetenv(name) }
}
