/// A library that is loaded at run time, so that a program starts on a machine without it. It stays loaded.
package struct DynamicLibrary {
    private let handle: UnsafeMutableRawPointer

    /// Loads the first of the files that can be loaded; `nil` if none can, with the reason in ``lastError``.
    package init?(_ fileNames: [String]) {
        guard let handle = fileNames.lazy.compactMap({ dlopen($0, RTLD_NOW | RTLD_LOCAL) }).first else { return nil }
        self.handle = handle
    }

    /// The reason why the last library could not be loaded.
    package static var lastError: String { dlerror().map { String(cString: $0) } ?? "unknown error" }

    /// Returns the address of a symbol of the library or of the libraries that it needs.
    package func symbol(_ name: String) -> UnsafeMutableRawPointer? { dlsym(handle, name) }

    /// Returns a function. It is sound only if the type is the type of the C function in the library's header.
    package func function<Function>(_ name: String, as type: Function.Type = Function.self) -> Function? {
        symbol(name).map { unsafeBitCast($0, to: type) }
    }
}
