// The only file that selects the system's libraries. A file that needs Foundation or the C library imports LodgePlatform.

#if canImport(FoundationEssentials)
    @_exported import FoundationEssentials
#else
    @_exported import Foundation
#endif

// Darwin first, everywhere: a build with a stand-in for Darwin has Glibc too.
#if canImport(Darwin)
    @_exported import Darwin
#elseif canImport(Glibc)
    @_exported import Glibc
#elseif canImport(Musl)
    @_exported import Musl
#endif

/// Returns the value for this system.
package func platformValue<Value>(linux: Value, darwin: Value) -> Value {
    #if canImport(Darwin)
        darwin
    #else
        linux
    #endif
}
