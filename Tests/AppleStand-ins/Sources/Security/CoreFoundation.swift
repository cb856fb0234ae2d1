// A stand-in for the part of Core Foundation that the Security framework's interface uses.

@_exported import Foundation

public typealias CFTypeRef = Any
public typealias CFString = String
public typealias CFData = Data
public typealias CFArray = [Any]
public typealias CFDictionary = [String: Any]
public typealias CFAllocator = Never
public typealias OSStatus = Int32

public final class CFError: Error {
    public let code: Int
    init(_ code: Int) { self.code = code }
}

public let kCFBooleanTrue = true
public let kCFBooleanFalse = false

/// Stores an error for the caller to release, as functions of Core Foundation do.
func fail<Value>(_ error: UnsafeMutablePointer<Unmanaged<CFError>?>?, _ code: OSStatus) -> Value? {
    error?.pointee = Unmanaged.passRetained(CFError(Int(code)))
    return nil
}
