import LodgePlatform

/// Divides the bytes of a client of oidc-agent into messages.
///
/// The protocol has no framing: a JSON object ends with its last brace, a public key has 44 characters, and an encrypted
/// request begins with the length of its text. Each byte is read once, however the bytes arrive.
struct OIDCAgentMessages {
    enum Message: Equatable {
        /// A JSON object, which is not parsed yet.
        case request([UInt8])
        /// The X25519 public key of a client that will encrypt its request.
        case publicKey([UInt8])
        case encrypted(nonce: [UInt8], cipher: [UInt8])
    }

    struct Malformed: Error, Equatable {
        let reason: String
    }

    /// The maximum size of a message in bytes.
    static let maximumSize = 64 * 1024
    /// The maximum depth of arrays and objects.
    static let maximumDepth = 64

    private static let malformed = Malformed(reason: "expected a JSON object or a public key")
    private static let malformedCipher = Malformed(reason: "expected LENGTH:NONCE:CIPHER, nonce and cipher in base64")

    private var bytes: [UInt8] = []
    /// The first byte of the current message.
    private var start = 0
    /// The first byte that was not read yet.
    private var position = 0
    private var depth = 0
    private var isInString = false
    private var isEscaped = false
    /// Whether the last message was a public key.
    private var expectsCipher = false

    /// Whether the bytes of an incomplete message are present.
    var isWithinMessage: Bool { start < bytes.count }

    mutating func append(_ chunk: [UInt8]) {
        bytes.removeFirst(start)
        position -= start
        start = 0
        bytes += chunk
    }

    /// Returns the next message, or `nil` if it is incomplete.
    mutating func next() throws(Malformed) -> Message? {
        if position == start { skipSpace() }
        guard start < bytes.count else { return nil }
        let message: Message?
        if expectsCipher {
            message = try encrypted()
        } else if bytes[start] == UInt8(ascii: "{") {
            message = try request()
        } else {
            message = try publicKey()
        }
        guard let message else { return nil }
        if case .publicKey = message { expectsCipher = true } else { expectsCipher = false }
        start = position
        return message
    }

    /// Skips white space before a message, and the end of a C string.
    private mutating func skipSpace() {
        while start < bytes.count, [0, 0x09, 0x0A, 0x0D, 0x20].contains(bytes[start]) { start += 1 }
        position = start
    }

    private mutating func request() throws(Malformed) -> Message? {
        while position < bytes.count {
            guard position - start < Self.maximumSize else {
                throw Malformed(reason: "the request has more than \(Self.maximumSize) bytes")
            }
            let byte = bytes[position]
            position += 1
            if isInString {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                guard depth <= Self.maximumDepth else {
                    throw Malformed(reason: "the request is nested deeper than \(Self.maximumDepth)")
                }
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if depth == 0 { return .request(Array(bytes[start..<position])) }
            default: break
            }
        }
        return nil
    }

    private mutating func publicKey() throws(Malformed) -> Message? {
        let size = Self.base64Size(CryptoBox.keySize)
        while position < min(start + size, bytes.count) {
            guard Self.isBase64(bytes[position]) else { throw Self.malformed }
            position += 1
        }
        guard position == start + size else { return nil }
        guard let key = Self.decoded(bytes[start..<position], CryptoBox.keySize) else { throw Self.malformed }
        return .publicKey(key)
    }

    private mutating func encrypted() throws(Malformed) -> Message? {
        // At most 5 digits, so a number of any length is not read.
        let head = bytes[start..<min(start + 6, bytes.count)]
        let digits = head.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard let colon = head.dropFirst(digits.count).first else {
            if digits.count < 6 { return nil }
            throw Self.malformedCipher
        }
        guard colon == UInt8(ascii: ":"), let length = Int(String(decoding: digits, as: UTF8.self)) else {
            throw Self.malformedCipher
        }
        let nonce = digits.endIndex + 1
        let cipher = nonce + Self.base64Size(CryptoBox.nonceSize) + 1
        let end = cipher + Self.base64Size(length + CryptoBox.tagSize)
        guard end - start <= Self.maximumSize else {
            throw Malformed(reason: "the request has more than \(Self.maximumSize) bytes")
        }
        guard end <= bytes.count else { return nil }
        position = end
        guard bytes[cipher - 1] == UInt8(ascii: ":"),
            let nonce = Self.decoded(bytes[nonce..<cipher - 1], CryptoBox.nonceSize),
            let cipher = Self.decoded(bytes[cipher..<end], length + CryptoBox.tagSize)
        else { throw Self.malformedCipher }
        return .encrypted(nonce: nonce, cipher: cipher)
    }

    // MARK: Base64

    private static func base64Size(_ count: Int) -> Int { (count + 2) / 3 * 4 }

    private static func isBase64(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="):
            true
        default: false
        }
    }

    private static func decoded(_ text: ArraySlice<UInt8>, _ count: Int) -> [UInt8]? {
        guard let data = Data(base64Encoded: Data(text)), data.count == count else { return nil }
        return Array(data)
    }
}
