import LodgePlatform
import Dispatch

/// An error that prevented opening the browser.
public struct BrowserError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The reason, as a phrase.
    public let description: String
}

/// Opens URLs in the user's browser.
enum Browser {
    private static let opener = platformValue(linux: "xdg-open", darwin: "open")

    /// Starts the browser: the program in `$BROWSER` if it is set, otherwise the opener of the system. Does not wait
    /// for the browser to exit.
    ///
    /// The URL is a separate argument, which no shell interprets.
    ///
    /// - Throws: ``BrowserError`` if the scheme is not `http` or `https`, or the program cannot be started.
    static func open(_ url: URL, environment: [String: String]) async throws {
        guard let scheme = url.scheme?.lowercased(), scheme == "https" || scheme == "http" else {
            throw BrowserError(description: "the URL is not an http or https URL")
        }
        let wanted = environment["BROWSER"].flatMap { $0.split(separator: ":").first.map(String.init) }
        let program = wanted.flatMap { $0.contains("%") || $0.contains(" ") ? nil : $0 } ?? opener
        try spawn([program, url.absoluteString], environment: environment)
    }

    private static func spawn(_ arguments: [String], environment: [String: String]) throws {
        // Discard the output of the browser. Start it in its own process group, so that Ctrl-C in the terminal ends
        // only this program.
        let child: pid_t
        switch ChildProcess.start(
            arguments, environment: environment, input: nil, isSilent: true, hasOwnGroup: true)
        {
        case .success(let process): child = process
        case .failure(SystemError(ENOTSUP)):
            throw BrowserError(description: "show the URL with the system's web authentication session")
        case .failure(let failure):
            throw BrowserError(
                description: "\(arguments[0]) cannot be started: \(failure.explanation)")
        }
        DispatchQueue.global(qos: .utility).async { ChildProcess.waitForExit(child) }
    }
}

extension BrowserError: LocalizedError {
    /// The failed task in a sentence, for an alert.
    public var errorDescription: String? { "Cannot open the browser." }
    /// The reason in a sentence.
    public var failureReason: String? { description.sentence }
    /// The remedy in a sentence.
    public var recoverySuggestion: String? { "Open the URL in a browser." }
}
