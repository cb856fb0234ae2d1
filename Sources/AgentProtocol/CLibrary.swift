// This module uses neither Foundation nor Dispatch: both would start threads and cost milliseconds.

import CLodgeAgent

#if canImport(Darwin)
    @_exported import Darwin
#elseif canImport(Glibc)
    @_exported import Glibc
#elseif canImport(Musl)
    @_exported import Musl
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

    /// Starts a program in its own session, with the null device as its standard streams. The descriptors get the numbers 3
    /// and 4. Returns its process ID, or -1 as an error.
    @discardableResult
    package static func start(_ words: [String], _ environment: [String], _ descriptors: [Int32] = []) -> pid_t {
        let arguments = words.map { strdup($0) } + [nil]
        let variables = environment.map { strdup($0) } + [nil]
        defer { for word in arguments + variables { free(word) } }
        return lodge_agent_start(words[0], arguments, variables, descriptors, Int32(descriptors.count))
    }

    /// Returns the change time of a file's content and permissions.
    package static func changeTime(_ status: stat) -> timespec {
        #if canImport(Darwin)
            status.st_ctimespec
        #else
            status.st_ctim
        #endif
    }
}
