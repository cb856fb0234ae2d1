import LodgePlatform
import HTTPExchange
internal import CLodgeCurl

/// The libcurl options for one exchange.
extension CurlTransfer {
    /// The buffer size of libcurl for transfers that may be large.
    private static let bufferSize = 1 << 18
    /// The buffer size for responses that may be compressed.
    ///
    /// The decompressed bytes of one buffer, up to a thousand times its size, stay in memory while the reader pauses.
    /// libcurl's limit is 64 MB.
    private static let compressedBufferSize = 1 << 15

    /// The minimum size in bytes of in-memory content whose upload is tracked, because it can take long.
    private static let progressSize = 1 << 16

    /// Sets the options. Returns the error code of a failed option, or `nil`.
    func setOptions(_ own: ClientCertificate?) -> CURLcode? {
        let plan = submission.plan
        var failure: CURLcode?
        func require(_ code: CURLcode) {
            if code != CURLE_OK, failure == nil { failure = code }
        }
        func set(_ option: CURLoption, _ value: Int) { require(ccurl_easy_set_long(handle, option, value)) }
        func set(_ option: CURLoption, _ value: String) { require(ccurl_easy_set_string(handle, option, value)) }

        require(ccurl_easy_set_pointer(handle, CURLOPT_ERRORBUFFER, errorBuffer))
        set(CURLOPT_NOSIGNAL, 1)
        _ = ccurl_easy_set_quick_exit(handle)
        require(ccurl_easy_set_http_only(handle))
        set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
        set(CURLOPT_URL, plan.address.text)
        // Send path and query unchanged: libcurl would otherwise normalize `..` and `%2f`.
        set(CURLOPT_PATH_AS_IS, 1)
        set(CURLOPT_REQUEST_TARGET, plan.address.target)
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_HTTP09_ALLOWED, 0)
        if submission.channel == nil {
            // A libcurl without HTTP/2 rejects this and uses HTTP/1.1.
            _ = ccurl_easy_set_long(handle, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
            if plan.address.scheme == "https" { set(CURLOPT_PIPEWAIT, 1) }
        } else {
            // With HTTP/2, libcurl buffers 32 MiB of a paused stream, which cannot be reduced. A separate connection
            // pauses as a whole.
            set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        }
        _ = ccurl_easy_set_string(handle, CURLOPT_ACCEPT_ENCODING, "")
        set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        _ = ccurl_easy_set_long(handle, CURLOPT_PROXY_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        set(CURLOPT_SSL_VERIFYPEER, 1)
        set(CURLOPT_SSL_VERIFYHOST, 2)
        set(CURLOPT_TCP_KEEPALIVE, 1)
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        set(CURLOPT_HEADEROPT, Int(CURLHEADER_SEPARATE))
        // An empty proxy also disables the environment variables: a proxy could read the traffic, and its loopback is a
        // different machine.
        if plan.address.isLocal { set(CURLOPT_PROXY, "") }
        set(CURLOPT_CONNECTTIMEOUT_MS, plan.connectTimeout.milliseconds)
        if plan.address.scheme == "https" {
            require(certificates.apply(extent, to: handle))
            let pins = plan.trust.pinnedKeys
            if !pins.isEmpty {
                set(CURLOPT_PINNEDPUBLICKEY, pins.map { "sha256//\($0.base64)" }.sorted().joined(separator: ";"))
            }
            if let own {
                set(CURLOPT_SSLCERT, own.certificateFile)
                set(CURLOPT_SSLKEY, own.keyFile)
                // Otherwise a key with a passphrase would block the program with a prompt on the terminal.
                set(CURLOPT_KEYPASSWD, "")
            }
        }
        setMethod(set, set, require)
        for line in plan.fieldLines {
            guard let longer = curl_slist_append(fieldList, line) else {
                require(CURLE_OUT_OF_MEMORY)
                break
            }
            fieldList = longer
        }
        // Wait for the server's 100 response before sending large content, in case the server rejects the request
        // immediately.
        if reader == nil {
            guard let longer = curl_slist_append(fieldList, "Expect:") else { return CURLE_OUT_OF_MEMORY }
            fieldList = longer
        }
        require(ccurl_easy_set_pointer(handle, CURLOPT_HTTPHEADER, fieldList))
        setCallbacks(set, require)
        return failure
    }

    private func setMethod(
        _ set: (CURLoption, Int) -> Void, _ setText: (CURLoption, String) -> Void, _ require: (CURLcode) -> Void
    ) {
        let plan = submission.plan
        switch plan.method {
        case "HEAD": set(CURLOPT_NOBODY, 1)
        case "POST", "PUT", "PATCH": setContent(set, require)
        case _ where plan.content != nil: setContent(set, require)
        default: set(CURLOPT_HTTPGET, 1)
        }
        if plan.method != "HEAD" { setText(CURLOPT_CUSTOMREQUEST, plan.method) }
    }

    /// Sets the content. A method with content sends its length even if it is 0 (RFC 9110 section 8.6).
    private func setContent(_ set: (CURLoption, Int) -> Void, _ require: (CURLcode) -> Void) {
        set(CURLOPT_POST, 1)
        guard let reader else {
            require(ccurl_easy_set_offset(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(bytes.count)))
            require(ccurl_easy_set_pointer(handle, CURLOPT_POSTFIELDS, bytes.baseAddress))
            return
        }
        // Without a length, libcurl uses chunked encoding.
        require(ccurl_easy_set_offset(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(reader.length ?? -1)))
        _ = ccurl_easy_set_long(handle, CURLOPT_UPLOAD_BUFFERSIZE, Self.bufferSize)
        let context = Unmanaged.passUnretained(self).toOpaque()
        require(
            ccurl_easy_set_data_callback(handle, CURLOPT_READFUNCTION) { buffer, size, count, context in
                guard let buffer, let context else { return ccurl_abort_reading }
                let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
                return transfer.give(UnsafeMutableRawBufferPointer(start: buffer, count: size * count))
            })
        require(ccurl_easy_set_pointer(handle, CURLOPT_READDATA, context))
        require(
            ccurl_easy_set_seek_callback(
                handle,
                { context, offset, origin in
                    guard let context, origin == SEEK_SET else { return CURL_SEEKFUNC_CANTSEEK }
                    let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
                    return transfer.rewind(to: Int64(offset)) ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_CANTSEEK
                }, context))
    }

    private func setCallbacks(_ set: (CURLoption, Int) -> Void, _ require: (CURLcode) -> Void) {
        let context = Unmanaged.passUnretained(self).toOpaque()
        require(
            ccurl_easy_set_data_callback(handle, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
                guard let bytes, let context else { return 0 }
                let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
                return transfer.take(UnsafeRawBufferPointer(start: bytes, count: size * count))
            })
        require(ccurl_easy_set_pointer(handle, CURLOPT_WRITEDATA, context))
        require(
            ccurl_easy_set_data_callback(handle, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
                guard let bytes, let context else { return 0 }
                let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
                return transfer.takeLine(UnsafeRawBufferPointer(start: bytes, count: size * count)) ? size * count : 0
            })
        require(ccurl_easy_set_pointer(handle, CURLOPT_HEADERDATA, context))
        // Content in one piece reports no other progress while it is sent.
        if submission.meter != nil || bytes.count > Self.progressSize {
            require(
                ccurl_easy_set_progress_callback(
                    handle,
                    { context, toReceive, received, toSend, sent in
                        guard let context else { return 0 }
                        Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
                            .reportProgress(
                                toReceive: Int64(toReceive), received: Int64(received), toSend: Int64(toSend),
                                sent: Int64(sent))
                        return 0
                    }, context))
        }
        if submission.channel != nil {
            let size = submission.plan.asksForContentAsItIs ? Self.bufferSize : Self.compressedBufferSize
            _ = ccurl_easy_set_long(handle, CURLOPT_BUFFERSIZE, size)
        }

        // If a reused connection turns out to be closed, libcurl reconnects and resends the request. A server may
        // already have handled the first one, so a request that must not be repeated stops here. If libcurl is too old
        // for this callback, such a request gets a new connection, which libcurl does not replace.
        let asked = ccurl_easy_set_prerequest_callback(
            handle,
            { context, _, _, _, _ in
                guard let context else { return 1 }
                return Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue().mayWriteRequest() ? 0 : 1
            }, context)
        if asked != CURLE_OK { noteActivity() }
        // Sent chunks cannot be repeated, so start on a new connection.
        if reader?.canSeek == false { set(CURLOPT_FRESH_CONNECT, 1) }
        guard !submission.plan.isIdempotent else { return }
        if asked != CURLE_OK { set(CURLOPT_FRESH_CONNECT, 1) }
        // A connection that was idle for long is probably closed.
        set(CURLOPT_MAXAGE_CONN, 30)
    }
}

extension Duration {
    /// The duration in whole milliseconds, at least 1 and at most 24 days, which every libcurl supports.
    fileprivate var milliseconds: Int {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 1 }
        guard seconds < 2_000_000 else { return 2_000_000_000 }
        return max(1, Int(seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000))
    }
}
