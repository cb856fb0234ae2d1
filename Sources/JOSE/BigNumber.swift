import CLodgeOpenSSL

/// An integer of libcrypto, wiped when it is released.
struct BigNumber: ~Copyable {
    let pointer: OpaquePointer

    /// Creates a number from big-endian bytes. The memory is wiped on release, including copies made by libcrypto.
    init?(_ bytes: some Collection<UInt8>) {
        let bytes = Array(bytes)
        guard let count = Int32(exactly: bytes.count), let pointer = BN_secure_new() else { return nil }
        guard BN_bin2bn(bytes, count, pointer) != nil else {
            BN_clear_free(pointer)
            return nil
        }
        self.pointer = pointer
    }

    /// Creates a number that owns the pointer.
    init(owning pointer: OpaquePointer) { self.pointer = pointer }

    deinit { BN_clear_free(pointer) }

    var bitCount: Int { Int(BN_num_bits(pointer)) }
    var isOdd: Bool { BN_is_odd(pointer) == 1 }

    /// Returns the big-endian bytes, padded with leading zeros to this length. The default is the minimum length.
    func bytes(count: Int? = nil) -> [UInt8]? {
        let count = count ?? (bitCount + 7) / 8
        guard let length = Int32(exactly: count) else { return nil }
        var bytes = [UInt8](repeating: 0, count: count)
        return BN_bn2binpad(pointer, &bytes, length) == length ? bytes : nil
    }

    /// Returns the remainder of a division by a small number.
    func remainder(dividingBy divisor: UInt) -> UInt { BN_mod_word(pointer, divisor) }
}
