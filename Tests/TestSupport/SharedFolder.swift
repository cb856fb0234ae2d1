import Foundation

/// Other people's data, which stays outside the package: beside it, or where `LODGE_SHARED` says.
package enum SharedFolder {
    /// A file or folder in it; nil when it is not there.
    package static func url(_ path: String) -> URL? {
        let file = folder.appending(path: path)
        return FileManager.default.fileExists(atPath: file.path) ? file : nil
    }

    private static var folder: URL {
        if let path = ProcessInfo.processInfo.environment["LODGE_SHARED"] { return URL(filePath: path) }
        return URL(filePath: #filePath).appending(path: "../../../../shared").standardizedFileURL
    }
}
