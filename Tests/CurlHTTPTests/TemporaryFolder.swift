import Foundation

/// A temporary folder that is deleted with this object.
final class TemporaryFolder: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "transport-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func location(_ name: String) -> URL { url.appending(path: name) }

    /// Writes a file and returns its URL.
    func file(_ name: String, _ content: Data) throws -> URL {
        try content.write(to: location(name))
        return location(name)
    }

    /// The sorted names in the folder, including hidden files.
    var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: url.path).sorted()) ?? [] }
}

/// Creates bytes in which a missing or misplaced part is detectable: a repeated block of odd length.
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
