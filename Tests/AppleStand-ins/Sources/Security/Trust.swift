// A stand-in for certificates and trust of the Security framework, over libcrypto.

@_exported import FoundationNetworking
internal import StandInOpenSSL

public final class SecCertificate {
    let pointer: OpaquePointer
    init(_ pointer: OpaquePointer) { self.pointer = pointer }
    deinit { X509_free(pointer) }
}

public final class SecPolicy {
    let host: String?
    init(_ host: String?) { self.host = host }
}

public final class SecTrust {
    let chain: [SecCertificate]
    let policy: SecPolicy?
    var anchors: [SecCertificate] = []
    var usesOnlyAnchors = false

    init(_ chain: [SecCertificate], _ policy: SecPolicy?) {
        self.chain = chain
        self.policy = policy
    }
}

@available(*, unavailable)
extension SecCertificate: Sendable {}
@available(*, unavailable)
extension SecTrust: Sendable {}

public func SecCertificateCreateWithData(_ allocator: CFAllocator?, _ data: CFData) -> SecCertificate? {
    let bytes = Array(data)
    return bytes.withUnsafeBufferPointer { bytes in
        var position = bytes.baseAddress
        return d2i_X509(nil, &position, bytes.count).map(SecCertificate.init)
    }
}

public func SecCertificateCopyKey(_ certificate: SecCertificate) -> SecKey? {
    X509_get_pubkey(certificate.pointer).map { SecKey($0, isPrivate: false) }
}

public func SecPolicyCreateSSL(_ server: Bool, _ hostname: CFString?) -> SecPolicy { SecPolicy(hostname) }

public func SecTrustCreateWithCertificates(
    _ certificates: CFTypeRef, _ policies: CFTypeRef?, _ trust: UnsafeMutablePointer<SecTrust?>
) -> OSStatus {
    guard let chain = certificates as? [SecCertificate], !chain.isEmpty else { return errSecParam }
    trust.pointee = SecTrust(chain, policies as? SecPolicy)
    return errSecSuccess
}

public func SecTrustSetAnchorCertificates(_ trust: SecTrust, _ anchorCertificates: CFArray?) -> OSStatus {
    guard let anchors = anchorCertificates as? [SecCertificate]? else { return errSecParam }
    trust.anchors = anchors ?? []
    trust.usesOnlyAnchors = true
    return errSecSuccess
}

public func SecTrustSetAnchorCertificatesOnly(_ trust: SecTrust, _ anchorCertificatesOnly: Bool) -> OSStatus {
    trust.usesOnlyAnchors = anchorCertificatesOnly
    return errSecSuccess
}

public func SecTrustCopyCertificateChain(_ trust: SecTrust) -> CFArray? { trust.chain }

public func SecTrustEvaluateWithError(
    _ trust: SecTrust, _ error: UnsafeMutablePointer<CFError?>?
) -> Bool {
    guard let leaf = trust.chain.first, let store = X509_STORE_new() else { return false }
    defer { X509_STORE_free(store) }
    if !trust.usesOnlyAnchors { X509_STORE_set_default_paths(store) }
    for anchor in trust.anchors { X509_STORE_add_cert(store, anchor.pointer) }
    let context = X509_STORE_CTX_new()
    defer { X509_STORE_CTX_free(context) }
    X509_STORE_CTX_init(context, store, leaf.pointer, nil)
    if let host = trust.policy?.host {
        X509_VERIFY_PARAM_set1_host(X509_STORE_CTX_get0_param(context), host, host.utf8.count)
    }
    let isValid = X509_verify_cert(context) == 1
    if !isValid {
        ERR_clear_error()
        error?.pointee = CFError(-67843)
    }
    return isValid
}

// MARK: - URLSession

public let NSURLAuthenticationMethodServerTrust = "NSURLAuthenticationMethodServerTrust"

extension URLProtectionSpace {
    /// `nil`: the URLSession of Linux does not ask about trust.
    public var serverTrust: SecTrust? { nil }
}

extension URLCredential {
    public convenience init(trust: SecTrust) { self.init(user: "", password: "", persistence: .none) }
}
