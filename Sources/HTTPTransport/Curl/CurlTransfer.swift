internal import CCurl

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// One exchange on one libcurl handle. Lives on the worker's thread only.
final class CurlTransfer {
    let submission: Submission
    let handle: UnsafeMutableRawPointer
    private(set) var head = ResponseHead()
    private(set) var body = Data()
    /// Whether the content passed the request's limit.
    private(set) var isTooLarge = false
    /// Whether libcurl wanted to send a request that must not be sent twice again.
    private(set) var wasStoppedBeforeResending = false

    private var requestsWritten = 0
    private var fieldList: UnsafeMutablePointer<curl_slist>?
    private let content: UnsafeMutableBufferPointer<UInt8>
    private let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

    /// How many of the trusted certificates are looked through.
    let extent: TrustedCertificates.Extent

    /// Sets the handle up. The transfer and the certificates must outlive the handle's use of them.
    init(
        _ submission: Submission, on handle: UnsafeMutableRawPointer, certificates: TrustedCertificates,
        _ extent: TrustedCertificates.Extent, clientCertificate: ClientCertificate?
    ) {
        self.extent = extent
        self.submission = submission
        self.handle = handle
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        let body = submission.plan.body ?? Data()
        content = .allocate(capacity: body.count)
        _ = content.initialize(from: body)
        failedOption = setOptions(certificates, clientCertificate)
    }

    /// What libcurl did not accept, if anything: then the transfer must not start.
    private(set) var failedOption: CURLcode?

    deinit {
        curl_slist_free_all(fieldList)
        // Form bodies hold secrets; what is freed here is overwritten first.
        content.update(repeating: 0)
        content.deallocate()
        errorText.deallocate()
    }

    /// What libcurl wrote about the failure, in its own words.
    var errorWords: String { String(cString: errorText) }

    // MARK: - Setting up

    private func setOptions(_ certificates: TrustedCertificates, _ own: ClientCertificate?) -> CURLcode? {
        let plan = submission.plan
        var failure: CURLcode?
        func require(_ code: CURLcode) {
            if code != CURLE_OK, failure == nil { failure = code }
        }
        func set(_ option: CURLoption, _ value: Int) { require(ccurl_easy_set_long(handle, option, value)) }
        func set(_ option: CURLoption, _ value: String) { require(ccurl_easy_set_string(handle, option, value)) }

        require(ccurl_easy_set_pointer(handle, CURLOPT_ERRORBUFFER, errorText))
        set(CURLOPT_NOSIGNAL, 1)
        _ = ccurl_easy_set_quick_exit(handle)
        require(ccurl_easy_set_http_only(handle))
        set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
        set(CURLOPT_URL, plan.address.text)
        // The path and query go out as they were written, whatever libcurl would make of `..` or `%2f`.
        set(CURLOPT_PATH_AS_IS, 1)
        set(CURLOPT_REQUEST_TARGET, plan.address.target)
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_HTTP09_ALLOWED, 0)
        // A libcurl without HTTP/2 refuses this and goes on with HTTP/1.1.
        _ = ccurl_easy_set_long(handle, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
        if plan.address.scheme == "https" { set(CURLOPT_PIPEWAIT, 1) }
        _ = ccurl_easy_set_string(handle, CURLOPT_ACCEPT_ENCODING, "")
        set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        _ = ccurl_easy_set_long(handle, CURLOPT_PROXY_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        set(CURLOPT_SSL_VERIFYPEER, 1)
        set(CURLOPT_SSL_VERIFYHOST, 2)
        set(CURLOPT_TCP_KEEPALIVE, 1)
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        set(CURLOPT_HEADEROPT, Int(CURLHEADER_SEPARATE))
        // An empty proxy also switches the variables of the environment off: a proxy would see what is sent to this
        // machine, and its “loopback” is another one.
        if plan.address.isLoopback { set(CURLOPT_PROXY, "") }
        set(CURLOPT_CONNECTTIMEOUT_MS, plan.connectTimeout.milliseconds)
        if plan.address.scheme == "https" {
            require(certificates.apply(extent, to: handle))
            if let own {
                set(CURLOPT_SSLCERT, own.certificateFile)
                set(CURLOPT_SSLKEY, own.keyFile)
                // Without this a key with a passphrase would stop the program for a question on the terminal.
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
        case _ where plan.body != nil: setContent(set, require)
        default: set(CURLOPT_HTTPGET, 1)
        }
        if plan.method != "HEAD" { setText(CURLOPT_CUSTOMREQUEST, plan.method) }
    }

    /// A method that has content says how much, even when that is nothing: RFC 9110 section 8.6.
    private func setContent(_ set: (CURLoption, Int) -> Void, _ require: (CURLcode) -> Void) {
        set(CURLOPT_POST, 1)
        require(ccurl_easy_set_offset(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(content.count)))
        require(ccurl_easy_set_pointer(handle, CURLOPT_POSTFIELDS, content.baseAddress))
    }

    private func setCallbacks(_ set: (CURLoption, Int) -> Void, _ require: (CURLcode) -> Void) {
        let context = Unmanaged.passUnretained(self).toOpaque()
        require(
            ccurl_easy_set_data_callback(handle, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
                guard let bytes, let context else { return 0 }
                let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
                return transfer.take(UnsafeRawBufferPointer(start: bytes, count: size * count)) ? size * count : 0
            })
        require(ccurl_easy_set_pointer(handle, CURLOPT_WRITEDATA, context))
        require(
            ccurl_easy_set_data_callback(handle, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
                guard let bytes, let context else { return 0 }
                let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
                let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
                return transfer.head.read(line) ? size * count : 0
            })
        require(ccurl_easy_set_pointer(handle, CURLOPT_HEADERDATA, context))

        // When a kept connection turns out to be dead, libcurl connects again and sends the request again. A server may
        // have acted on the first one, so a request that must not happen twice stops there. Where libcurl is too old
        // to ask, such a request gets a connection of its own, which libcurl does not replace.
        guard !submission.plan.isIdempotent else { return }
        let asked = ccurl_easy_set_prerequest_callback(
            handle,
            { context, _, _, _, _ in
                guard let context else { return 1 }
                return Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue().mayWriteRequest() ? 0 : 1
            }, context)
        if asked != CURLE_OK { set(CURLOPT_FRESH_CONNECT, 1) }
        // A connection that was idle for long is the likeliest to be dead.
        set(CURLOPT_MAXAGE_CONN, 30)
    }

    // MARK: - What libcurl calls

    private func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count <= submission.plan.maximumResponseSize - body.count else {
            isTooLarge = true
            return false
        }
        if body.isEmpty, let length = head.fields["Content-Length"].flatMap({ Int($0) }), length > bytes.count {
            body.reserveCapacity(min(length, submission.plan.maximumResponseSize, 1 << 20))
        }
        body.append(contentsOf: bytes)
        return true
    }

    private func mayWriteRequest() -> Bool {
        requestsWritten += 1
        if requestsWritten > 1 { wasStoppedBeforeResending = true }
        return requestsWritten == 1
    }
}

extension Duration {
    /// Whole milliseconds, at least 1 and at most 24 days, which every libcurl can count.
    fileprivate var milliseconds: Int {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 1 }
        guard seconds < 2_000_000 else { return 2_000_000_000 }
        return max(1, Int(seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000))
    }
}
