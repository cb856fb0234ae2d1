import Foundation

/// The folder of third-party test data: next to the package, or at the path in `LODGE_SHARED`.
package enum SharedFolder {
    /// Returns the URL of a file or folder in it, or `nil` if it does not exist.
    package static func url(_ path: String) -> URL? {
        let file = folder.appending(path: path)
        return FileManager.default.fileExists(atPath: file.path) ? file : nil
    }

    private static var folder: URL {
        if let path = ProcessInfo.processInfo.environment["LODGE_SHARED"] { return URL(filePath: path) }
        return URL(filePath: #filePath).appending(path: "../../../../shared").standardizedFileURL
    }
}
