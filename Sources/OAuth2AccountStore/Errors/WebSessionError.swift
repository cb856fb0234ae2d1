#if canImport(Darwin)
    import Foundation
#endif

/// The errors of the system's web authentication session, which only Apple platforms have.
enum WebSessionError {
    #if canImport(Darwin)
        /// Returns whether the user closed an `ASWebAuthenticationSession`. It compares the domain and the code, so that
        /// the store need not link AuthenticationServices.
        static func isCancellation(_ error: any Error) -> Bool {
            let error = error as NSError
            return error.domain == "com.apple.AuthenticationServices.WebAuthenticationSession" && error.code == 1
        }
    #else
        /// Returns `false`.
        static func isCancellation(_ error: any Error) -> Bool { false }
    #endif
}
