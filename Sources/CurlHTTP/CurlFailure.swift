import HTTPExchange
internal import CLodgeCurl

extension CurlTransfer {
    private func error(_ kind: HTTPTransportError.Kind, _ reason: String) -> HTTPTransportError {
        HTTPTransportError(kind, host: submission.plan.shownHost, reason: reason)
    }

    /// Returns the response or the error for a result code of libcurl.
    func result(_ code: CURLcode) -> Result<HTTPResponse, any Error> {
        if let fileFailure { return .failure(fileFailure) }
        if isTooLarge || head.isTooLarge {
            let reason =
                isTooLarge
                ? "The response has more than the \(submission.plan.maximumResponseSize) bytes that the request allows."
                : "The response's header has more than \(ResponseHead.maximumBytes) bytes."
            return .failure(error(.responseTooLarge, reason))
        }
        guard code == CURLE_OK else { return .failure(failure(code)) }
        if head.isComplete, head.status > 599 {
            return .failure(
                error(.other, "The response's status is \(head.status), which HTTP does not have."))
        }
        guard head.isComplete, (200...599).contains(head.status) else {
            return .failure(
                error(.connectionLost, "The connection ended before a complete HTTP response."))
        }
        return .success(HTTPResponse(status: head.status, fields: head.fields, body: body))
    }

    /// Returns the error of the transport.
    private func failure(_ code: CURLcode) -> HTTPTransportError {
        if wasStoppedBeforeResending {
            return error(
                .connectionLost,
                "The connection ended before a response. The server may have acted on the request, so it"
                    + " was not sent again.")
        }
        let words = Self.words(errorWords, code)
        switch code {
        case CURLE_URL_MALFORMAT, CURLE_UNKNOWN_OPTION, CURLE_NOT_BUILT_IN:
            return error(.invalidRequest, "libcurl refused the request: \(words).")
        case CURLE_COULDNT_RESOLVE_HOST:
            return error(.cannotResolveHost, "The name has no address (\(words)). Check its spelling and the network.")
        case CURLE_COULDNT_RESOLVE_PROXY, CURLE_PROXY:
            return proxyFailure(words)
        case CURLE_COULDNT_CONNECT:
            if concernsProxy { return proxyFailure(words) }
            return error(.cannotConnect, "No server accepted the connection (\(words)).")
        case CURLE_OPERATION_TIMEDOUT:
            return error(.timedOut, "No connection within the connect timeout (\(words)).")
        case CURLE_SSL_CERTPROBLEM:
            return error(
                .invalidRequest,
                "The client certificate or its key cannot be used; both must be readable PEM files that belong"
                    + " together, the key without a passphrase (\(words)).")
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CIPHER,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CRL_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS,
            CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_CLIENTCERT:
            return secureConnectionFailure(code, words)
        case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY:
            return error(.connectionLost, "The response is not HTTP (\(words)).")
        case CURLE_BAD_CONTENT_ENCODING:
            return error(
                .other,
                "The compression of the response is not supported (\(words)). Request it uncompressed,"
                    + " with the header field Accept-Encoding: identity.")
        case CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE, CURLE_HTTP2,
            CURLE_HTTP2_STREAM, CURLE_SEND_FAIL_REWIND:
            if proxyRefused { return proxyFailure(words) }
            return error(.connectionLost, "The connection ended before the response was complete (\(words)).")
        case CURLE_OUT_OF_MEMORY:
            return error(
                .other,
                "Out of memory. If the response is compressed, request it uncompressed, with the"
                    + " header field Accept-Encoding: identity.")
        default:
            return error(.other, "libcurl failed: \(words) (\(code.rawValue)).")
        }
    }

    private func secureConnectionFailure(_ code: CURLcode, _ words: String) -> HTTPTransportError {
        let lower = words.lowercased()
        func says(_ parts: String...) -> Bool { parts.contains { lower.contains($0) } }
        if code == CURLE_SSL_CONNECT_ERROR,
            says("ssl_error_syscall", "connection reset", "unexpected eof", "broken pipe")
        {
            return error(.connectionLost, "The connection ended during the TLS handshake (\(words)).")
        }
        let plain =
            // libcurl's message for it also contains "does not match".
            if code == CURLE_SSL_PINNEDPUBKEYNOTMATCH {
                "The server's public key is not a pinned key; if the server changed it on purpose, pin the new key"
            } else if says("has expired") {
                "The certificate has expired; check this machine's clock, or tell the server's operator"
            } else if says("not yet valid") {
                "The certificate is not valid yet; check this machine's clock"
            } else if says("subject name", "does not match", "hostname mismatch", "name mismatch") {
                "The certificate is for another host; check the URL"
            } else if says("self-signed", "self signed", "local issuer", "unable to verify", "issuer certificate") {
                "The certificate comes from an authority that is not trusted here; for a private authority add its"
                    + " certificate with a CA file"
            } else if code == CURLE_SSL_CACERT_BADFILE {
                "The trusted certificates cannot be read; install the system's CA certificates or check the CA file"
            } else if says("protocol version", "unsupported protocol", "wrong version", "no protocols available") {
                "The server does not support TLS 1.2 or newer"
            } else {
                "No secure connection could be made"
            }
        return error(.tls, "\(plain) (\(words)).")
    }

    // MARK: - Proxies

    private func proxyFailure(_ words: String) -> HTTPTransportError {
        error(.proxy, "The proxy could not be used (\(words)). Check https_proxy, ALL_PROXY and NO_PROXY.")
    }

    /// Whether a proxy rejected CONNECT.
    private var proxyRefused: Bool {
        var status = 0
        return ccurl_easy_get_long(handle, CURLINFO_HTTP_CONNECTCODE, &status) == CURLE_OK && status >= 300
    }

    /// Whether the connection to the proxy failed: libcurl's message then names a different host.
    private var concernsProxy: Bool {
        let words = errorWords.lowercased()
        let host = submission.plan.address.host.filter { $0 != "[" && $0 != "]" }
        guard !submission.plan.address.isLocal else { return false }
        return words.contains("unsupported proxy") || (words.contains("failed to connect to") && !words.contains(host))
    }

    // MARK: - Messages

    /// Returns libcurl's message for an error: its error buffer, or the meaning of the code.
    ///
    /// The buffer may contain a URL, such as the URL of a proxy with its password. Then only the meaning of the code is
    /// returned.
    static func words(_ buffer: String, _ code: CURLcode) -> String {
        let buffer = String(buffer.prefix(200).map { $0.isNewline || $0 == "\0" ? " " : $0 })
        guard buffer.isEmpty || buffer.contains("@") || buffer.contains("://") || buffer.contains("?") else {
            return buffer
        }
        return curl_easy_strerror(code).map { String(cString: $0) } ?? "code \(code.rawValue)"
    }
}
