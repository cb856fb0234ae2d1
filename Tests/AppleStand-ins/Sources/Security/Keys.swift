// A stand-in for the keys of the Security framework, over libcrypto.

internal import StandInOpenSSL

public let errSecSuccess: OSStatus = 0
public let errSecParam: OSStatus = -50
public let errSecUserCanceled: OSStatus = -128
public let errSecAuthFailed: OSStatus = -25293
public let errSecDuplicateItem: OSStatus = -25299
public let errSecItemNotFound: OSStatus = -25300
public let errSecInteractionNotAllowed: OSStatus = -25308
public let errSecMissingEntitlement: OSStatus = -34018

public func SecCopyErrorMessageString(_ status: OSStatus, _ reserved: UnsafeMutableRawPointer?) -> CFString? {
    switch status {
    case errSecDuplicateItem: "The specified item already exists in the keychain."
    case errSecItemNotFound: "The specified item could not be found in the keychain."
    case errSecInteractionNotAllowed: "User interaction is not allowed."
    case errSecMissingEntitlement: "A required entitlement isn't present."
    default: nil
    }
}

public struct SecRandomRef: Sendable {}
public let kSecRandomDefault: SecRandomRef? = nil

public func SecRandomCopyBytes(_ random: SecRandomRef?, _ count: Int, _ bytes: UnsafeMutableRawPointer) -> Int32 {
    RAND_bytes(bytes.assumingMemoryBound(to: UInt8.self), Int32(count)) == 1 ? errSecSuccess : errSecParam
}

public let kSecAttrKeyType: CFString = "type"
public let kSecAttrKeyTypeRSA: CFString = "42"
public let kSecAttrKeyTypeECSECPrimeRandom: CFString = "73"
public let kSecAttrKeyClass: CFString = "kcls"
public let kSecAttrKeyClassPublic: CFString = "0"
public let kSecAttrKeyClassPrivate: CFString = "1"
public let kSecAttrKeySizeInBits: CFString = "bsiz"

/// A key. Unlike this class, the type of the real framework is not annotated as Sendable.
public final class SecKey {
    let pointer: OpaquePointer
    let isPrivate: Bool

    init(_ pointer: OpaquePointer, isPrivate: Bool) {
        self.pointer = pointer
        self.isPrivate = isPrivate
    }
    deinit { EVP_PKEY_free(pointer) }

    var isRSA: Bool { EVP_PKEY_is_a(pointer, "RSA") == 1 }
}

@available(*, unavailable)
extension SecKey: Sendable {}

public struct SecKeyAlgorithm: RawRepresentable, Hashable, Sendable {
    public let rawValue: CFString
    public init(rawValue: CFString) { self.rawValue = rawValue }

    public static let rsaSignatureDigestPKCS1v15SHA256 = SecKeyAlgorithm(
        rawValue: "algid:sign:RSA:digest-PKCS1v15:SHA256")
    public static let rsaSignatureDigestPKCS1v15SHA384 = SecKeyAlgorithm(
        rawValue: "algid:sign:RSA:digest-PKCS1v15:SHA384")
    public static let rsaSignatureDigestPKCS1v15SHA512 = SecKeyAlgorithm(
        rawValue: "algid:sign:RSA:digest-PKCS1v15:SHA512")
    public static let rsaSignatureDigestPSSSHA256 = SecKeyAlgorithm(
        rawValue: "algid:sign:RSA:digest-PSS:SHA256:SHA256:32")
    public static let rsaSignatureDigestPSSSHA384 = SecKeyAlgorithm(
        rawValue: "algid:sign:RSA:digest-PSS:SHA384:SHA384:48")
    public static let rsaSignatureDigestPSSSHA512 = SecKeyAlgorithm(
        rawValue: "algid:sign:RSA:digest-PSS:SHA512:SHA512:64")

    var digest: String { ["SHA256", "SHA384", "SHA512"].first { rawValue.contains($0) } ?? "" }
    var isPSS: Bool { rawValue.contains("PSS") }
}

/// Reads PKCS #1 for RSA, as the real framework does: not PKCS #8, not SubjectPublicKeyInfo.
public func SecKeyCreateWithData(
    _ keyData: CFData, _ attributes: CFDictionary, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecKey? {
    guard attributes[kSecAttrKeyType as String] as? String == kSecAttrKeyTypeRSA,
        let keyClass = attributes[kSecAttrKeyClass as String] as? String
    else { return fail(error, errSecParam) }
    let isPrivate = keyClass == kSecAttrKeyClassPrivate
    let bytes = Array(keyData)
    let pointer = bytes.withUnsafeBufferPointer { bytes -> OpaquePointer? in
        var position = bytes.baseAddress
        let key =
            isPrivate
            ? d2i_PrivateKey(EVP_PKEY_RSA, nil, &position, bytes.count)
            : d2i_PublicKey(EVP_PKEY_RSA, nil, &position, bytes.count)
        guard position == bytes.baseAddress.map({ $0 + bytes.count }) else {
            EVP_PKEY_free(key)
            return nil
        }
        return key
    }
    guard let pointer else {
        ERR_clear_error()
        return fail(error, errSecParam)
    }
    return SecKey(pointer, isPrivate: isPrivate)
}

public func SecKeyCreateRandomKey(
    _ parameters: CFDictionary, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecKey? {
    guard parameters[kSecAttrKeyType as String] as? String == kSecAttrKeyTypeRSA,
        let bits = parameters[kSecAttrKeySizeInBits as String] as? Int
    else { return fail(error, errSecParam) }
    let context = EVP_PKEY_CTX_new_from_name(nil, "RSA", nil)
    defer { EVP_PKEY_CTX_free(context) }
    var key: OpaquePointer?
    guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_CTX_set_rsa_keygen_bits(context, Int32(bits)) == 1,
        EVP_PKEY_generate(context, &key) == 1, let key
    else { return fail(error, errSecParam) }
    return SecKey(key, isPrivate: true)
}

public func SecKeyCopyPublicKey(_ key: SecKey) -> SecKey? {
    EVP_PKEY_up_ref(key.pointer)
    return SecKey(key.pointer, isPrivate: false)
}

public func SecKeyGetBlockSize(_ key: SecKey) -> Int { Int(EVP_PKEY_get_size(key.pointer)) }

// PKCS #1 for RSA, and the point of a public key on a curve.
public func SecKeyCopyExternalRepresentation(
    _ key: SecKey, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    guard key.isRSA else {
        var count = 0
        guard EVP_PKEY_get_octet_string_param(key.pointer, OSSL_PKEY_PARAM_PUB_KEY, nil, 0, &count) == 1 else {
            return fail(error, errSecParam)
        }
        var bytes = [UInt8](repeating: 0, count: count)
        EVP_PKEY_get_octet_string_param(key.pointer, OSSL_PKEY_PARAM_PUB_KEY, &bytes, count, &count)
        return Data(bytes)
    }
    let encode = key.isPrivate ? i2d_PrivateKey : i2d_PublicKey
    let count = encode(key.pointer, nil)
    guard count > 0 else { return fail(error, errSecParam) }
    var bytes = [UInt8](repeating: 0, count: Int(count))
    bytes.withUnsafeMutableBufferPointer { bytes in
        var end = bytes.baseAddress
        _ = encode(key.pointer, &end)
    }
    return Data(bytes)
}

private func prepare(_ context: OpaquePointer?, _ algorithm: SecKeyAlgorithm) -> Bool {
    let digest = EVP_get_digestbyname(algorithm.digest)
    return EVP_PKEY_CTX_set_rsa_padding(context, algorithm.isPSS ? RSA_PKCS1_PSS_PADDING : RSA_PKCS1_PADDING) == 1
        && EVP_PKEY_CTX_set_signature_md(context, digest) == 1
        && (!algorithm.isPSS
            || EVP_PKEY_CTX_set_rsa_mgf1_md(context, digest) == 1
                && EVP_PKEY_CTX_set_rsa_pss_saltlen(context, EVP_MD_get_size(digest)) == 1)
}

public func SecKeyCreateSignature(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ dataToSign: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    let context = EVP_PKEY_CTX_new_from_pkey(nil, key.pointer, nil)
    defer { EVP_PKEY_CTX_free(context) }
    let digest = Array(dataToSign)
    var signature = [UInt8](repeating: 0, count: SecKeyGetBlockSize(key))
    var count = signature.count
    guard key.isPrivate, key.isRSA, EVP_PKEY_sign_init(context) == 1, prepare(context, algorithm),
        EVP_PKEY_sign(context, &signature, &count, digest, digest.count) == 1
    else {
        ERR_clear_error()
        return fail(error, errSecParam)
    }
    return Data(signature.prefix(count))
}

public func SecKeyVerifySignature(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ signedData: CFData, _ signature: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> Bool {
    let context = EVP_PKEY_CTX_new_from_pkey(nil, key.pointer, nil)
    defer { EVP_PKEY_CTX_free(context) }
    let digest = Array(signedData)
    let signature = Array(signature)
    guard key.isRSA, EVP_PKEY_verify_init(context) == 1, prepare(context, algorithm),
        EVP_PKEY_verify(context, signature, signature.count, digest, digest.count) == 1
    else {
        ERR_clear_error()
        let _: Bool? = fail(error, -67808)
        return false
    }
    return true
}
