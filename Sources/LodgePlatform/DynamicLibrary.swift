/// A library loaded at run time, so that a program starts on a machine without it. The library stays loaded.
package struct DynamicLibrary {
    /// The error for a missing library or function.
    package struct Missing: Error {
        package let reason: String

        package init(reason: String) { self.reason = reason }
    }

    private let handle: UnsafeMutableRawPointer

    /// The program with its linked libraries.
    static var program: DynamicLibrary? { dlopen(nil, RTLD_NOW).map(DynamicLibrary.init(handle:)) }

    private init(handle: UnsafeMutableRawPointer) { self.handle = handle }

    /// Creates a library by loading the first of the files that exists.
    package init(fileNames: [String]) throws(Missing) {
        guard let handle = fileNames.lazy.compactMap({ dlopen($0, RTLD_NOW | RTLD_LOCAL) }).first else {
            throw Missing(reason: dlerror().map { String(cString: $0) } ?? "unknown error")
        }
        self.handle = handle
    }

    /// Returns a function of the library, or of a library that it depends on.
    ///
    /// The cast is sound if the caller's type matches the C function in the library's header.
    package func function<Function>(_ name: String) throws(Missing) -> Function {
        guard let address = dlsym(handle, name) else { throw Missing(reason: "it has no function \(name)") }
        return unsafeBitCast(address, to: Function.self)
    }
}
