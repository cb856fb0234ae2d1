import Foundation

/// A temporary folder that is deleted with this object.
package final class TemporaryDirectory: Sendable {
    package let path: String

    package init() throws {
        path = FileManager.default.temporaryDirectory.path + "/store-test-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        guard chmod(path, 0o700) == 0 else { throw CocoaError(.fileWriteNoPermission) }
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}
