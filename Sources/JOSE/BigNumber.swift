import COpenSSL

/// A whole number of libcrypto, wiped when it goes.
struct BigNumber: ~Copyable {
    let pointer: OpaquePointer

    /// The number of these big-endian bytes. Memory that is wiped on release holds it, and so do the copies that
    /// libcrypto makes of it.
    init?(_ bytes: some Collection<UInt8>) {
        let bytes = Array(bytes)
        guard let count = Int32(exactly: bytes.count), let pointer = BN_secure_new() else { return nil }
        guard BN_bin2bn(bytes, count, pointer) != nil else {
            BN_clear_free(pointer)
            return nil
        }
        self.pointer = pointer
    }

    /// Takes over a number.
    init(owning pointer: OpaquePointer) { self.pointer = pointer }

    deinit { BN_clear_free(pointer) }

    var bitCount: Int { Int(BN_num_bits(pointer)) }
    var isOdd: Bool { BN_is_odd(pointer) == 1 }

    /// The big-endian bytes, filled with zeros from the left to this length; as few as possible without one.
    func bytes(count: Int? = nil) -> [UInt8]? {
        let count = count ?? (bitCount + 7) / 8
        guard let length = Int32(exactly: count) else { return nil }
        var bytes = [UInt8](repeating: 0, count: count)
        return BN_bn2binpad(pointer, &bytes, length) == length ? bytes : nil
    }

    /// The remainder of a division by a small number.
    func remainder(dividingBy divisor: UInt) -> UInt { BN_mod_word(pointer, divisor) }
}
