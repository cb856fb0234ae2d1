import CurlHTTP
import AgentProtocol
import OAuth2AccountStore
import Synchronization

/// The transports of a worker, which keep their connections open between commands.
final class OpenTransports: Sendable {
    private let transports = Mutex<[String: CurlTransport]>([:])

    /// Returns the transport that trusts the authorities of a file.
    ///
    /// A changed file gets a new transport, because a transport reads its file only once.
    func transport(caFile: String?) -> CurlTransport {
        let key = caFile.map { $0 + "\n" + (FileStamp(reading: $0, .file).state?.text ?? "") } ?? ""
        return transports.withLock { transports in
            if let transport = transports[key] { return transport }
            let transport = CurlTransport(userAgent: Program.userAgent, caFile: caFile)
            // The old file is not used again.
            if let caFile { transports = transports.filter { !$0.key.hasPrefix(caFile + "\n") } }
            transports[key] = transport
            return transport
        }
    }
}
