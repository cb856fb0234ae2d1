import Foundation

extension Pipe {
    /// Creates a pipe whose reading end returns these bytes and then ends.
    package convenience init(holding bytes: [UInt8]) throws {
        self.init()
        try fileHandleForWriting.write(contentsOf: Data(bytes))
        try fileHandleForWriting.close()
    }
}
