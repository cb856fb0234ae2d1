import CommandLineKit
import LodgePlatform
import StrictJSON

/// The connection to a client of oidc-agent, on standard input and output.
@MainActor final class OIDCAgentConnection {
    /// The time limit of a client to read the previous responses.
    static let writeLimit = Duration.seconds(30)

    private let context: CommandContext
    private var messages = OIDCAgentMessages()
    /// The keys of the current request, or `nil` if it is not encrypted.
    private var box: CryptoBox?

    init(_ context: CommandContext) { self.context = context }

    /// Returns the next request, or `nil` if there are no more requests.
    ///
    /// The client gets the reason why its request is not valid. Then there are no more requests, because the end of an
    /// invalid request is unknown.
    func request(within limit: Duration) async throws -> JSONObject? {
        do {
            return try read(until: ContinuousClock.now + limit)
        } catch let error as OIDCAgentMessages.Malformed {
            box = nil
            try send(Self.failure("Bad Request: \(error.reason)"))
            return nil
        }
    }

    private func read(until limit: ContinuousClock.Instant) throws -> JSONObject? {
        let deadline = min(limit, context.deadline ?? limit)
        while true {
            switch try messages.next() {
            case .request(let bytes): return try object(bytes)
            case .publicKey(let key):
                guard let sodium = try? context.world.loadSodium() else {
                    try send(
                        Self.failure(
                            "cannot decrypt requests: libsodium is not installed",
                            info: "install \(LibSodium.packageName)"))
                    return nil
                }
                guard let box = CryptoBox(sodium, peer: key) else {
                    throw OIDCAgentMessages.Malformed(reason: "the public key is not valid")
                }
                self.box = box
                try write(Array(Data(box.publicKey).base64EncodedString().utf8))
            case .encrypted(let nonce, let cipher):
                guard let bytes = box?.open(cipher, nonce: nonce) else {
                    throw OIDCAgentMessages.Malformed(reason: "cannot decrypt the request")
                }
                return try object(bytes)
            case nil:
                guard let chunk = try context.world.readAvailable(deadline) else {
                    context.console.verbose("The client sent no request in time.")
                    return nil
                }
                guard !chunk.isEmpty else {
                    if messages.isWithinMessage {
                        throw OIDCAgentMessages.Malformed(reason: "the request is not complete")
                    }
                    return nil
                }
                messages.append(chunk)
            }
        }
    }

    private func object(_ bytes: [UInt8]) throws(OIDCAgentMessages.Malformed) -> JSONObject {
        let options = JSONReadingOptions(rejectsDuplicates: true, maximumDepth: OIDCAgentMessages.maximumDepth)
        guard let object = (try? JSONValue(parsing: bytes, options: options))?.object else {
            throw OIDCAgentMessages.Malformed(reason: "the request is not a JSON object with unique names")
        }
        return object
    }

    /// Sends a response, encrypted if its request was.
    func send(_ response: JSONObject) throws {
        let text = Array(JSONValue.object(response).serialized())
        guard let box else { return try write(text) }
        self.box = nil
        let (nonce, cipher) = box.seal(text)
        let message =
            "\(text.count):\(Data(nonce).base64EncodedString()):\(Data(cipher).base64EncodedString())"
        try write(Array(message.utf8))
    }

    /// Writes a message with one system call, because clients use the result of one read.
    ///
    /// - Throws: `OutputError.closed` if the client does not read, so that it cannot block the process.
    private func write(_ message: [UInt8]) throws {
        try context.console.flush()
        guard try context.world.acceptsOutput(ContinuousClock.now + Self.writeLimit) else {
            context.console.verbose("The client did not read the responses in time.")
            throw OutputError.closed
        }
        try context.console.write(bytes: message)
        try context.console.flush()
    }

    /// Returns the response for an error.
    static func failure(_ error: String, info: String? = nil) -> JSONObject {
        var response: JSONObject = ["status": "failure", "error": .string(error)]
        if let info { response.append("info", .string(info)) }
        return response
    }
}
