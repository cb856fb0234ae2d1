import SealedStorage
import LodgePlatform

/// The functions of libpq, PostgreSQL's client library.
///
/// See https://www.postgresql.org/docs/current/libpq.html.
struct LibPQ {
    typealias Strings = UnsafePointer<UnsafePointer<CChar>?>?
    typealias NoticeProcessor = @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<CChar>?) -> Void

    /// The C structure `PQconninfoOption`, with the same layout.
    private struct Option {
        let keyword: UnsafePointer<CChar>?
        let variable: UnsafePointer<CChar>?
        let defaultValue: UnsafePointer<CChar>?
        let value: UnsafePointer<CChar>?
        let label: UnsafePointer<CChar>?
        let display: UnsafePointer<CChar>?
        let size: Int32
    }

    // The values of libpq's enumerations that this module uses.
    static let connectionOK: Int32 = 0
    static let connectionBad: Int32 = 1
    static let pollingFailed: Int32 = 0
    static let pollingReading: Int32 = 1
    static let pollingWriting: Int32 = 2
    static let pollingOK: Int32 = 3
    static let emptyQuery: Int32 = 0
    static let commandOK: Int32 = 1
    static let tuplesOK: Int32 = 2
    static let verboseErrors: Int32 = 2

    private let parseConnection:
        @convention(c) (UnsafePointer<CChar>, UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?
    private let freeOptions: @convention(c) (UnsafeMutableRawPointer) -> Void
    let startConnection: @convention(c) (Strings, Strings, Int32) -> OpaquePointer?
    let pollConnection: @convention(c) (OpaquePointer) -> Int32
    let finish: @convention(c) (OpaquePointer) -> Void
    let status: @convention(c) (OpaquePointer) -> Int32
    let needsPassword: @convention(c) (OpaquePointer) -> Int32
    let socket: @convention(c) (OpaquePointer) -> Int32
    let setNonBlocking: @convention(c) (OpaquePointer, Int32) -> Int32
    let setErrorVerbosity: @convention(c) (OpaquePointer, Int32) -> Int32
    let setNoticeProcessor:
        @convention(c) (OpaquePointer, NoticeProcessor, UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?
    let errorMessage: @convention(c) (OpaquePointer) -> UnsafePointer<CChar>?
    let sendQuery: @convention(c) (OpaquePointer, UnsafePointer<CChar>) -> Int32
    let sendPrepare:
        @convention(c) (OpaquePointer, UnsafePointer<CChar>, UnsafePointer<CChar>, Int32, UnsafePointer<UInt32>) ->
            Int32
    let sendPrepared:
        @convention(c) (
            OpaquePointer, UnsafePointer<CChar>, Int32, Strings, UnsafePointer<Int32>, UnsafePointer<Int32>, Int32
        ) -> Int32
    let flush: @convention(c) (OpaquePointer) -> Int32
    let consumeInput: @convention(c) (OpaquePointer) -> Int32
    let isBusy: @convention(c) (OpaquePointer) -> Int32
    let nextNotification: @convention(c) (OpaquePointer) -> UnsafeMutableRawPointer?
    let free: @convention(c) (UnsafeMutableRawPointer) -> Void
    let nextResult: @convention(c) (OpaquePointer) -> OpaquePointer?
    let clear: @convention(c) (OpaquePointer) -> Void
    let resultStatus: @convention(c) (OpaquePointer) -> Int32
    let errorField: @convention(c) (OpaquePointer, Int32) -> UnsafePointer<CChar>?
    let rowCount: @convention(c) (OpaquePointer) -> Int32
    let columnCount: @convention(c) (OpaquePointer) -> Int32
    let columnType: @convention(c) (OpaquePointer, Int32) -> UInt32
    let isNull: @convention(c) (OpaquePointer, Int32, Int32) -> Int32
    let length: @convention(c) (OpaquePointer, Int32, Int32) -> Int32
    let value: @convention(c) (OpaquePointer, Int32, Int32) -> UnsafePointer<CChar>?

    // Homebrew does not link libpq into its library folder.
    static let fileNames = platformValue(
        linux: ["libpq.so.5"],
        darwin: [
            "libpq.5.dylib", "/opt/homebrew/opt/libpq/lib/libpq.5.dylib", "/usr/local/opt/libpq/lib/libpq.5.dylib",
        ])

    /// Creates the functions by loading the library.
    ///
    /// - Throws: ``StorageError`` if none of the files can be loaded, or the library lacks a function.
    init(fileNames: [String] = Self.fileNames) throws(StorageError) {
        do throws(DynamicLibrary.Missing) { try self.init(DynamicLibrary(fileNames: fileNames)) } catch {
            throw StorageError(
                .other, location: "postgresql",
                reason: "cannot load libpq, the client library of PostgreSQL: \(error.reason)",
                hint: "install libpq (libpq5 on Debian and Ubuntu, libpq with Homebrew)")
        }
    }

    private init(_ library: DynamicLibrary) throws(DynamicLibrary.Missing) {
        parseConnection = try library.function("PQconninfoParse")
        freeOptions = try library.function("PQconninfoFree")
        startConnection = try library.function("PQconnectStartParams")
        pollConnection = try library.function("PQconnectPoll")
        finish = try library.function("PQfinish")
        status = try library.function("PQstatus")
        needsPassword = try library.function("PQconnectionNeedsPassword")
        socket = try library.function("PQsocket")
        setNonBlocking = try library.function("PQsetnonblocking")
        setErrorVerbosity = try library.function("PQsetErrorVerbosity")
        setNoticeProcessor = try library.function("PQsetNoticeProcessor")
        errorMessage = try library.function("PQerrorMessage")
        sendQuery = try library.function("PQsendQuery")
        sendPrepare = try library.function("PQsendPrepare")
        sendPrepared = try library.function("PQsendQueryPrepared")
        flush = try library.function("PQflush")
        consumeInput = try library.function("PQconsumeInput")
        isBusy = try library.function("PQisBusy")
        nextNotification = try library.function("PQnotifies")
        free = try library.function("PQfreemem")
        nextResult = try library.function("PQgetResult")
        clear = try library.function("PQclear")
        resultStatus = try library.function("PQresultStatus")
        errorField = try library.function("PQresultErrorField")
        rowCount = try library.function("PQntuples")
        columnCount = try library.function("PQnfields")
        columnType = try library.function("PQftype")
        isNull = try library.function("PQgetisnull")
        length = try library.function("PQgetlength")
        value = try library.function("PQgetvalue")
    }

    /// A parameter of a connection string or URL.
    struct Parameter {
        let keyword: String
        let value: String
        /// Whether libpq asks programs to hide the value: a password.
        let isSecret: Bool
    }

    /// Returns the parameters in a connection string or URL, or `nil` if it is not valid.
    func parameters(of connection: String) -> [Parameter]? {
        guard let options = parseConnection(connection, nil) else { return nil }
        defer { freeOptions(options) }
        var parameters: [Parameter] = []
        var option = options.assumingMemoryBound(to: Option.self)
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.value {
                let isSecret = option.pointee.display.map { String(cString: $0) == "*" } ?? false
                parameters.append(
                    Parameter(keyword: String(cString: keyword), value: String(cString: value), isSecret: isSecret))
            }
            option += 1
        }
        return parameters
    }
}
