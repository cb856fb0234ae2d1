import Platform
import Dispatch

/// Why the browser was not opened.
public struct BrowserError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The reason in words.
    public let description: String
}

/// Shows an address in the user's browser.
enum Browser {
    #if os(macOS)
        private static let opener = "open"
    #else
        private static let opener = "xdg-open"
    #endif

    /// Starts the browser: `$BROWSER` when it is set, else the system's opener. The address is one argument of its own; no
    /// shell reads it. It does not wait for the browser to end.
    ///
    /// - Throws: ``BrowserError`` when the address is not http(s), or the program cannot be started.
    static func open(_ url: URL, environment: [String: String]) async throws {
        guard let scheme = url.scheme?.lowercased(), scheme == "https" || scheme == "http" else {
            throw BrowserError(description: "only web addresses are opened")
        }
        #if os(iOS) || os(tvOS) || os(watchOS) || os(visionOS)
            throw BrowserError(description: "show the address with the system's web authentication session")
        #else
            let wanted = environment["BROWSER"].flatMap { $0.split(separator: ":").first.map(String.init) }
            let program = wanted.flatMap { $0.contains("%") || $0.contains(" ") ? nil : $0 } ?? opener
            try spawn([program, url.absoluteString], environment: environment)
        #endif
    }

    #if !(os(iOS) || os(tvOS) || os(watchOS) || os(visionOS))
        private static func spawn(_ arguments: [String], environment: [String: String]) throws {
            // What the browser writes does not belong into the program's output, and Ctrl-C in the terminal ends the program only.
            let child: pid_t
            switch ChildProcess.start(
                arguments, environment: environment, input: nil, isSilent: true, hasOwnGroup: true)
            {
            case .success(let process): child = process
            case .failure(let failure):
                throw BrowserError(
                    description: "\(arguments[0]) cannot be started: \(failure.explanation)")
            }
            DispatchQueue.global(qos: .utility).async { ChildProcess.waitForExit(child) }
        }
    #endif
}

extension BrowserError: LocalizedError {
    /// The failure in a sentence, for an alert.
    public var errorDescription: String? { "Cannot open the browser." }
    /// The reason in a sentence.
    public var failureReason: String? { description.sentence }
    /// The remedy in a sentence.
    public var recoverySuggestion: String? { "Open the URL in a browser." }
}
