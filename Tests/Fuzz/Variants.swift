/// Changed copies of an input.
///
/// libFuzzer examines the counters of the whole program after each call, which takes longer than most readers. So a call reads the
/// input of libFuzzer and some variants of it. The variants depend only on the input: an input that fails, fails again.
struct Variants: Sequence, IteratorProtocol {
    private let input: [UInt8]
    private var left: Int
    private var state: UInt64

    init(of input: [UInt8], count: Int) {
        self.input = input
        left = count
        // FNV-1a
        state = input.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }

    mutating func next() -> [UInt8]? {
        guard left > 0 else { return nil }
        left -= 1
        var bytes = input
        for _ in 0...random(below: 3) { change(&bytes) }
        return bytes
    }

    /// Returns a number of the generator SplitMix64.
    private mutating func random(below limit: Int) -> Int {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
        return Int((value ^ (value >> 31)) % UInt64(limit))
    }

    private mutating func change(_ bytes: inout [UInt8]) {
        guard !bytes.isEmpty else { return bytes.append(UInt8(random(below: 256))) }
        let place = random(below: bytes.count)
        switch random(below: 7) {
        case 0: bytes[place] ^= 1 << UInt8(random(below: 8))
        case 1: bytes[place] = UInt8(random(below: 256))
        case 2: bytes[place] = bytes[random(below: bytes.count)]
        case 3: bytes.removeSubrange(part(from: place, of: bytes))
        case 4: bytes.insert(contentsOf: bytes[part(from: place, of: bytes)], at: random(below: bytes.count))
        case 5:
            bytes.replaceSubrange(
                part(from: place, of: bytes), with: bytes[part(from: random(below: bytes.count), of: bytes)])
        default: bytes.removeSubrange(place...)
        }
    }

    /// Returns a range of up to 32 bytes.
    private mutating func part(from start: Int, of bytes: [UInt8]) -> Range<Int> {
        start..<start + 1 + random(below: Swift.min(bytes.count - start, 32))
    }
}
