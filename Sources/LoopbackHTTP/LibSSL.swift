import LodgePlatform

/// The functions of libssl, OpenSSL's TLS library, and of libcrypto, which it needs.
///
/// The library is loaded when a listener with TLS starts, because only test providers use it.
struct LibSSL {
    typealias Bytes = UnsafeRawPointer?

    // The values of OpenSSL's macros that this module uses.
    static let wantRead: Int32 = 2
    static let zeroReturn: Int32 = 6
    static let setMinimumVersion: Int32 = 123
    static let version1_2 = 0x0303
    static let setMode: Int32 = 33
    /// SSL_MODE_ENABLE_PARTIAL_WRITE, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER and SSL_MODE_RELEASE_BUFFERS.
    static let modes = 0x1 | 0x2 | 0x10
    /// The type of a key on an elliptic curve, EVP_PKEY_EC.
    static let ellipticCurve: Int32 = 408

    let serverMethod: @convention(c) () -> OpaquePointer?
    let newContext: @convention(c) (OpaquePointer?) -> OpaquePointer?
    let freeContext: @convention(c) (OpaquePointer?) -> Void
    let controlContext: @convention(c) (OpaquePointer, Int32, Int, UnsafeMutableRawPointer?) -> Int
    let useCertificate: @convention(c) (OpaquePointer, Int32, UnsafePointer<UInt8>?) -> Int32
    let usePrivateKey: @convention(c) (Int32, OpaquePointer, UnsafePointer<UInt8>?, Int) -> Int32
    let checkPrivateKey: @convention(c) (OpaquePointer) -> Int32
    let newSession: @convention(c) (OpaquePointer) -> OpaquePointer?
    let freeSession: @convention(c) (OpaquePointer?) -> Void
    let setBuffers: @convention(c) (OpaquePointer, OpaquePointer?, OpaquePointer?) -> Void
    let setAcceptState: @convention(c) (OpaquePointer) -> Void
    let read: @convention(c) (OpaquePointer, UnsafeMutableRawPointer?, Int32) -> Int32
    let write: @convention(c) (OpaquePointer, Bytes, Int32) -> Int32
    let shutDown: @convention(c) (OpaquePointer) -> Int32
    let error: @convention(c) (OpaquePointer, Int32) -> Int32
    let memoryMethod: @convention(c) () -> OpaquePointer?
    let newBuffer: @convention(c) (OpaquePointer?) -> OpaquePointer?
    let readBuffer: @convention(c) (OpaquePointer, UnsafeMutableRawPointer?, Int32) -> Int32
    let writeBuffer: @convention(c) (OpaquePointer, Bytes, Int32) -> Int32
    let clearErrors: @convention(c) () -> Void

    // Homebrew does not link OpenSSL into its library folder.
    static let fileNames = platformValue(
        linux: ["libssl.so.3"],
        darwin: [
            "/opt/homebrew/opt/openssl@3/lib/libssl.3.dylib", "/usr/local/opt/openssl@3/lib/libssl.3.dylib",
            "libssl.3.dylib",
        ])

    init(fileNames: [String] = Self.fileNames) throws(LoopbackError) {
        do throws(DynamicLibrary.Missing) {
            try self.init(DynamicLibrary(fileNames: fileNames))
        } catch {
            throw .tlsUnavailable(reason: "cannot load libssl of OpenSSL 3: \(error.reason)")
        }
    }

    private init(_ library: DynamicLibrary) throws(DynamicLibrary.Missing) {
        serverMethod = try library.function("TLS_server_method")
        newContext = try library.function("SSL_CTX_new")
        freeContext = try library.function("SSL_CTX_free")
        controlContext = try library.function("SSL_CTX_ctrl")
        useCertificate = try library.function("SSL_CTX_use_certificate_ASN1")
        usePrivateKey = try library.function("SSL_CTX_use_PrivateKey_ASN1")
        checkPrivateKey = try library.function("SSL_CTX_check_private_key")
        newSession = try library.function("SSL_new")
        freeSession = try library.function("SSL_free")
        setBuffers = try library.function("SSL_set_bio")
        setAcceptState = try library.function("SSL_set_accept_state")
        read = try library.function("SSL_read")
        write = try library.function("SSL_write")
        shutDown = try library.function("SSL_shutdown")
        error = try library.function("SSL_get_error")
        memoryMethod = try library.function("BIO_s_mem")
        newBuffer = try library.function("BIO_new")
        readBuffer = try library.function("BIO_read")
        writeBuffer = try library.function("BIO_write")
        clearErrors = try library.function("ERR_clear_error")
    }
}
