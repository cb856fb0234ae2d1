import LodgePlatform
import HTTPExchange
internal import CLodgeCurl

extension PeerCertificate {
    /// Returns the certificates that the server of a URL presents, its own first; empty if libcurl cannot report them.
    ///
    /// Only opens a TLS connection, through the proxy of the environment if there is one. It verifies no certificate,
    /// and therefore sends no request and no account name.
    ///
    /// - Parameters:
    ///   - url: an https URL; its path is ignored.
    ///   - timeout: the maximum time.
    /// - Throws: `HTTPTransportError` if the connection fails; `CancellationError` if the task is cancelled.
    package static func chain(
        of url: URL, timeout: Duration = .seconds(10)
    ) async throws -> [PeerCertificate] {
        guard url.scheme?.lowercased() == "https", let host = url.host(percentEncoded: true), !host.isEmpty else {
            throw HTTPTransportError(.invalidRequest, host: "", reason: "Only an https server presents certificates.")
        }
        let name = host.contains(":") ? "[\(host)]" : host
        try Task.checkCancellation()
        let handshake = Handshake(
            address: "https://\(name)" + (url.port.map { ":\($0)" } ?? "") + "/", host: host, timeout: timeout)
        let outcome = Promise<[PeerCertificate]>()
        let code = DetachedThread.start { outcome.finish(ShutdownLatch.pass { handshake.run() }) }
        guard code == 0 else {
            throw HTTPTransportError(.other, host: host, reason: "Cannot start a thread.")
        }
        return try await outcome.value()
    }
}

/// One connection, for a separate thread, because libcurl blocks. A cancelled one ends at its time limit.
private struct Handshake {
    typealias Outcome = Result<[PeerCertificate], any Error>

    let address: String
    let host: String
    let timeout: Duration

    func run() -> Outcome {
        guard CurlLibrary.isReady, let handle = curl_easy_init() else {
            return .failure(HTTPTransportError(.other, host: host, reason: "Cannot initialize libcurl."))
        }
        defer { curl_easy_cleanup(handle) }
        func set(_ option: CURLoption, _ value: Int) { _ = ccurl_easy_set_long(handle, option, value) }
        guard ccurl_easy_set_http_only(handle) == CURLE_OK,
            ccurl_easy_set_string(handle, CURLOPT_URL, address) == CURLE_OK,
            // This option prevents any request.
            ccurl_easy_set_long(handle, CURLOPT_CONNECT_ONLY, 1) == CURLE_OK
        else {
            return .failure(HTTPTransportError(.invalidRequest, host: host, reason: "libcurl rejected the URL."))
        }
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_CERTINFO, 1)
        set(CURLOPT_SSL_VERIFYPEER, 0)
        set(CURLOPT_SSL_VERIFYHOST, 0)
        set(CURLOPT_TIMEOUT_MS, max(1, Int(timeout / .milliseconds(1))))
        if URL.isLoopbackHost(host) { _ = ccurl_easy_set_string(handle, CURLOPT_PROXY, "") }
        let code = curl_easy_perform(handle)
        guard code == CURLE_OK else {
            return .failure(
                HTTPTransportError(
                    code == CURLE_OPERATION_TIMEDOUT ? .timedOut : .cannotConnect, host: host,
                    reason: CurlTransfer.words("", code)))
        }
        return .success(Self.certificates(handle))
    }

    private static func certificates(_ handle: UnsafeMutableRawPointer) -> [PeerCertificate] {
        var found: [PeerCertificate] = []
        for index in 0..<ccurl_easy_certificate_count(handle) {
            var subject: String?, issuer: String?
            var entry = ccurl_easy_certificate(handle, index)
            while let item = entry?.pointee {
                let text = item.data.map { String(cString: $0) } ?? ""
                if text.hasPrefix("Subject:") { subject = String(text.dropFirst("Subject:".count)) }
                if text.hasPrefix("Issuer:") { issuer = String(text.dropFirst("Issuer:".count)) }
                entry = item.next
            }
            if let subject, let issuer { found.append(PeerCertificate(subject: subject, issuer: issuer)) }
        }
        return found
    }
}
