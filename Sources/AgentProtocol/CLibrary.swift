// This module uses neither Foundation nor Dispatch: both would start threads and cost milliseconds.

#if canImport(Glibc)
    @_exported import Glibc
#elseif canImport(Musl)
    @_exported import Musl
#elseif canImport(Darwin)
    @_exported import Darwin
#endif

/// Functions of the C library for this system.
package enum SystemCalls {
    /// Returns the value of an environment variable, or `nil` if it is empty or not set.
    package static func variable(_ name: String) -> String? {
        guard let value = getenv(name), value.pointee != 0 else { return nil }
        return String(cString: value)
    }

    /// Returns the state of a file, without following a link at its end.
    package static func linkStatus(_ path: String) -> stat? {
        var status = stat()
        return lstat(path, &status) == 0 ? status : nil
    }

    package static func status(_ path: String) -> stat? {
        var status = stat()
        return stat(path, &status) == 0 ? status : nil
    }

    /// Returns the change time of a file's content and permissions.
    package static func changeTime(_ status: stat) -> String {
        #if canImport(Darwin)
            "\(status.st_ctimespec.tv_sec).\(status.st_ctimespec.tv_nsec)"
        #else
            "\(status.st_ctim.tv_sec).\(status.st_ctim.tv_nsec)"
        #endif
    }
}
