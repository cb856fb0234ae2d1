// A stand-in for the AuthenticationServices framework: the web authentication session, driven by a test.

@_exported import Foundation

/// Stands for UIWindow and NSWindow.
@MainActor
public final class StandInWindow: NSObject {}
public typealias ASPresentationAnchor = StandInWindow

@MainActor
public protocol ASWebAuthenticationPresentationContextProviding: NSObjectProtocol {
    func presentationAnchor(for session: ASWebAuthenticationSession) -> ASPresentationAnchor
}

public struct ASWebAuthenticationSessionError: Error {
    public enum Code: Int, Sendable {
        case canceledLogin = 1
        case presentationContextNotProvided = 2
        case presentationContextInvalid = 3
    }

    public let code: Code
    public init(_ code: Code) { self.code = code }
}

@MainActor
public class ASWebAuthenticationSession: NSObject {
    public typealias CompletionHandler = (URL?, (any Error)?) -> Void

    public final class Callback: NSObject {
        public let text: String
        private init(_ text: String) { self.text = text }

        public class func customScheme(_ customScheme: String) -> Callback { Callback("\(customScheme):") }
        public class func https(host: String, path: String) -> Callback { Callback("https://\(host)\(path)") }
    }

    /// The action of the user, for a test. It returns whether the session starts.
    public static var onStart: ((ASWebAuthenticationSession) -> Bool)?

    public let url: URL
    public let callback: Callback
    public private(set) var isCancelled = false
    public weak var presentationContextProvider: (any ASWebAuthenticationPresentationContextProviding)?
    public var prefersEphemeralWebBrowserSession = false
    private var completionHandler: CompletionHandler?

    public init(url: URL, callback: Callback, completionHandler: @escaping CompletionHandler) {
        self.url = url
        self.callback = callback
        self.completionHandler = completionHandler
    }

    @discardableResult
    public func start() -> Bool { Self.onStart?(self) ?? false }

    public func cancel() {
        isCancelled = true
        complete(nil, ASWebAuthenticationSessionError(.canceledLogin))
    }

    /// Ends the session, for a test.
    public func complete(_ url: URL?, _ error: (any Error)?) {
        completionHandler?(url, error)
        completionHandler = nil
    }
}
