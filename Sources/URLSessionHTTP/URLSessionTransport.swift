import Foundation
public import HTTPExchange
import LodgePlatform
import Synchronization

/// Sends requests with `URLSession`.
///
/// For programs on Apple platforms, whose network settings it uses, and for tests with `URLProtocol`. It stores no
/// cookies, cached responses or passwords, and sends plain HTTP only to loopback. It follows redirects only as the
/// request allows, and never sends the token to another origin.
///
/// Pinned keys, certificate authorities of a file and client certificates work on Apple platforms. On other systems
/// `URLSession` does not support them, and a request with them fails: use `CurlTransport` there.
public final class URLSessionTransport: HTTPTransport {
    private struct Session {
        let session: URLSession
        let exchanges: SessionExchanges
    }

    private let configuration: URLSessionConfiguration
    private let caFile: String?
    private let clientCertificate: ClientCertificate?
    /// `URLSession` decides about trust for each connection, so each trust has its own session.
    private let sessions = Mutex<[ServerTrust: Session]>([:])

    /// Creates a transport with sessions of this configuration. The default is an ephemeral one.
    ///
    /// Cookies, cache and passwords are disabled in both cases.
    ///
    /// - Parameters:
    ///   - configuration: The configuration of the sessions.
    ///   - caFile: A PEM file of certificate authorities to trust in addition to the system's.
    ///   - clientCertificate: The certificate for https servers that request one.
    public init(
        configuration: URLSessionConfiguration? = nil, caFile: String? = nil,
        clientCertificate: ClientCertificate? = nil
    ) {
        let configuration = configuration ?? .ephemeral
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        self.configuration = configuration
        self.caFile = caFile
        self.clientCertificate = clientCertificate
    }

    deinit {
        for session in sessions.withLock(\.values) { session.session.finishTasksAndInvalidate() }
    }

    /// Sends the request and returns the complete response with any status.
    ///
    /// The timeout of the request limits the whole exchange, including redirects. Without a timeout, the exchange
    /// continues while bytes arrive, for at most `HTTPRequest.maximumDuration`.
    ///
    /// - Throws: `HTTPTransportError` if there is no response; `HTTPFileError` if the content cannot be read;
    ///   `CancellationError` if the task is cancelled.
    public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        // Without a timeout, the session's idle timeout applies. This limit stops a server that keeps sending single
        // bytes.
        let isInMemory = request.content?.isInMemory ?? true
        let limit = request.ownTimeout ?? (isInMemory ? HTTPRequest.maximumDuration : nil)
        return try await exchange(request, limit, nil).whole(limit: max(0, request.maximumResponseSize))
    }

    /// Sends the request and returns the response when its header fields are complete.
    ///
    /// The content arrives while it is read. Content from chunks or from several parts is written to a temporary file
    /// before it is sent.
    ///
    /// - Throws: The errors of ``send(_:)``. Reading the content throws the same errors.
    public func stream(_ request: HTTPRequest, progress: HTTPProgress.Handler?) async throws -> HTTPStreamedResponse {
        let meter = progress.map { ProgressMeter($0) }
        do {
            return try await exchange(request, request.ownTimeout, meter)
        } catch {
            meter?.end()
            throw error
        }
    }

    /// Sends the request and follows redirects.
    private func exchange(
        _ request: HTTPRequest, _ limit: Duration?, _ meter: ProgressMeter?
    ) async throws -> HTTPStreamedResponse {
        let deadline = limit.map { ContinuousClock.now.advanced(by: min(max($0, .zero), .seconds(1_000_000_000))) }
        var current = request
        var followed = 0
        while true {
            try Task.checkCancellation()
            _ = try Self.origin(of: current.url)
            let (head, body) = try await open(current, until: deadline, meter)
            guard case .follow(let limit) = request.redirects,
                let next = try current.redirected(by: head, origin: Self.origin(of:))
            else {
                return HTTPStreamedResponse(
                    status: head.status, fields: head.fields, body: HTTPResponseBody(source: body),
                    url: head.url ?? current.url)
            }
            body.stop()
            followed += 1
            guard followed <= limit else {
                throw HTTPTransportError(
                    .redirectRefused, host: current.url.host() ?? "", reason: "More than \(max(0, limit)) redirects.")
            }
            guard next.content?.isReplayable ?? true else {
                throw HTTPTransportError(
                    .redirectRefused, host: current.url.shownHost,
                    reason: "The redirect asks for the content again, and it can be read only once.")
            }
            current = next
        }
    }

    /// Returns the scheme, host and port of a URL as Foundation parses them, because it opens the connection.
    ///
    /// - Throws: `HTTPTransportError` if the transport does not send to this URL.
    package static func origin(of url: URL) throws(HTTPTransportError) -> String {
        func refused(_ kind: HTTPTransportError.Kind, _ reason: String) -> HTTPTransportError {
            HTTPTransportError(kind, host: url.shownHost, reason: reason)
        }
        guard let origin = url.origin, let host = url.host(percentEncoded: false), !host.isEmpty,
            host.utf8.allSatisfy({ $0 < 0x80 }),
            origin.hasPrefix("https://") || origin.hasPrefix("http://")
        else { throw refused(.invalidRequest, "The URL is not a complete http or https URL.") }
        guard url.user == nil, url.password == nil else {
            throw refused(
                .invalidRequest, "The URL contains a user name or password; send them in an Authorization field.")
        }
        guard origin.hasPrefix("https://") || url.isLoopback else {
            throw refused(.plainHTTPRefused, "Plain http is refused for any host but this machine; use https.")
        }
        return origin
    }

    private func session(for trust: ServerTrust, _ url: URL) throws -> Session {
        var trust = trust
        trust.caFile = trust.caFile ?? caFile
        return try sessions.withLock { sessions in
            if let session = sessions[trust] { return session }
            let identity = try SessionIdentity(trust, clientCertificate, for: url)
            let exchanges = SessionExchanges(identity)
            let session = Session(
                session: URLSession(configuration: configuration, delegate: exchanges, delegateQueue: nil),
                exchanges: exchanges)
            sessions[trust] = session
            return session
        }
    }

    private func open(
        _ request: HTTPRequest, until deadline: ContinuousClock.Instant?, _ meter: ProgressMeter?
    ) async throws -> (HTTPResponse, SessionBody) {
        let session = try session(for: request.trust, request.url)
        let total = try request.content?.length() ?? nil
        let (task, file) = try await task(request, session.session)
        let transfer = SessionTransfer(task, request.url, meter, totalToSend: total)
        let body = SessionBody(transfer, session.exchanges, of: self)
        // The content of the file was sent when the response begins or the transfer fails.
        defer { file?.remove() }
        if let deadline {
            transfer.expire(at: deadline) { [exchanges = session.exchanges] in exchanges.cancel($0) }
        }
        session.exchanges.start(transfer)
        let head = try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { transfer.awaitHead($0) }
        } onCancel: {
            body.stop()
        }
        return (head, body)
    }

    private func task(_ request: HTTPRequest, _ session: URLSession) async throws -> (URLSessionTask, SpooledContent?) {
        guard let content = request.content, !content.isInMemory else {
            return (session.dataTask(with: try URLRequest(request)), nil)
        }
        var bare = request
        bare.content = nil
        let urlRequest = try URLRequest(bare)
        if content.segments.count == 1, case .file(let file) = content.segments[0], file.offset == 0, file.length == nil
        {
            return (session.uploadTask(with: urlRequest, fromFile: URL(filePath: file.path)), nil)
        }
        let file = try await SpooledContent(content)
        return (session.uploadTask(with: urlRequest, fromFile: file.url), file)
    }
}
