import Foundation

/// A folder that goes away with this.
final class TemporaryFolder: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "transport-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func location(_ name: String) -> URL { url.appending(path: name) }

    /// Writes a file and gives its place.
    func file(_ name: String, _ content: Data) throws -> URL {
        try content.write(to: location(name))
        return location(name)
    }

    /// The names in the folder, hidden ones included, in order.
    var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: url.path).sorted()) ?? [] }
}

/// Bytes in which a piece that is missing or at the wrong place is noticed: a block of an odd length, again and again.
func pattern(_ count: Int, seed: UInt64 = 1) -> Data {
    var state = seed
    let block = Data(
        (0..<min(count, 61_003)).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: state >> 56)
        })
    var whole = Data(capacity: count)
    while whole.count < count { whole.append(block.prefix(count - whole.count)) }
    return whole
}
