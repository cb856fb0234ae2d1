// The only file that selects the system's libraries. A file that needs Foundation or the C library imports LodgePlatform.

#if canImport(FoundationEssentials)
    @_exported import FoundationEssentials
#else
    @_exported import Foundation
#endif

#if canImport(Glibc)
    @_exported import Glibc
#elseif canImport(Musl)
    @_exported import Musl
#elseif canImport(Darwin)
    @_exported import Darwin
#endif

/// Returns the value for this system.
package func platformValue<Value>(linux: Value, darwin: Value) -> Value {
    #if canImport(Darwin)
        darwin
    #else
        linux
    #endif
}
