/// The numbers of an RSA key, big-endian and without leading zeros.
struct RSANumbers {
    /// The members of RFC 7518 sections 6.3.2.2 to 6.3.2.6, in the order of ``remainders``.
    static let remainderNames = ["p", "q", "dp", "dq", "qi"]

    /// The modulus.
    var n: [UInt8]
    /// The public exponent.
    var e: [UInt8]
    /// The private exponent; `nil` for a public key.
    var d: [UInt8]?
    /// The primes, their exponents and the coefficient. Empty for a public key, and for a key pair without primes.
    var remainders: [[UInt8]] = []
}

/// Arithmetic with unsigned big-endian numbers, for checks of public numbers.
enum UnsignedNumber {
    static func bitCount(_ number: [UInt8]) -> Int {
        guard let start = number.firstIndex(where: { $0 != 0 }) else { return 0 }
        return (number.count - start) * 8 - number[start].leadingZeroBitCount
    }

    static func isOdd(_ number: [UInt8]) -> Bool { (number.last ?? 0) & 1 == 1 }

    /// Returns the number in digits of 32 bits, the highest first.
    static func digits(_ number: [UInt8]) -> [UInt64] {
        var digits: [UInt64] = []
        digits.reserveCapacity(number.count / 4 + 1)
        var digit: UInt64 = 0
        for (index, byte) in number.enumerated() {
            digit = digit << 8 | UInt64(byte)
            if (number.count - index) % 4 == 1 {
                digits.append(digit)
                digit = 0
            }
        }
        return digits
    }

    /// Returns the remainder of the division of a number by a divisor of at most 32 bits.
    static func remainder(_ digits: [UInt64], dividingBy divisor: UInt64) -> UInt64 {
        digits.reduce(0) { ($0 << 32 | $1) % divisor }
    }
}

// `Crypto` and `KeyHandle` are the only access of this module to a cryptographic library. They have two implementations
// with the same functions, of which the build contains one: `Crypto+CryptoKit.swift` on Apple platforms, with CryptoKit
// and Security, and the files `…+Libcrypto.swift` on all other systems.
extension Crypto {
    /// The length of the nonce of AES-GCM in bytes.
    static let nonceByteCount = 12
    /// The length of the tag of AES-GCM in bytes.
    static let tagByteCount = 16
    /// The difference in bytes between sealed and plain text.
    static let overhead = nonceByteCount + tagByteCount
}

extension KeyHandle {
    /// Returns whether the bytes are a signature of the content, in the form of RFC 7518 section 3.
    ///
    /// Does not check the use of the key.
    func isSignature(_ signature: [UInt8], of content: [UInt8], _ algorithm: JWSAlgorithm) -> Bool {
        let count: Int? =
            switch algorithm.keyType {
            // RFC 8017 sections 8.1.2 and 8.2.2: exactly as long as the modulus.
            case .rsa: (bitCount + 7) / 8
            case .ec: algorithm.curve.map { 2 * $0.coordinateByteCount }
            case .okp: 64
            case .symmetric: nil
            }
        return signature.count == count && verify(signature, content, algorithm)
    }

    /// Whether the private and the public key of an RSA pair belong together.
    ///
    /// The full check takes a tenth of a second. A test signature also detects a wrong exponent, prime or coefficient.
    var isWholeRSAPair: Bool {
        let probe = Array("probe".utf8)
        return signature(of: probe, .rs256).map { isSignature($0, of: probe, .rs256) } ?? false
    }

    /// Returns the signature of the content in the form of RFC 7518 section 3, or `nil` if the key cannot sign.
    func signature(of content: [UInt8], _ algorithm: JWSAlgorithm) -> [UInt8]? {
        algorithm.keyType == .symmetric ? nil : sign(content, algorithm)
    }
}
