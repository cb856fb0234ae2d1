import CommandLineKit
import JOSE
import LodgePlatform
import OAuth2Protocol
import OAuth2AccountStore

extension CommandContext {
    private static let choiceVariable = "LODGE_KEY_CUSTODY"
    private static let passphraseVariable = "LODGE_PASSPHRASE_FILE"

    /// Returns the key location of the environment, or `nil` to use the location saved in the store.
    func keyChoice() throws -> KeyCustodyChoice? {
        guard let text = world.environment[Self.choiceVariable], !text.isEmpty else { return nil }
        return try keyChoice(text, "wrong value of \(Self.choiceVariable)")
    }

    /// Throws if the caller did not pass the descriptor.
    ///
    /// This program may have reused the number for a file. Its own files close on exec; an inherited descriptor never
    /// does.
    private func checkHandedOver(_ choice: KeyCustodyChoice?) throws {
        guard case .descriptor(let number?) = choice else { return }
        let flags = fcntl(number, F_GETFD)
        guard flags < 0 || flags & FD_CLOEXEC != 0 else { return }
        throw CommandError(
            .store, "there is no key in file descriptor \(number)", reason: "it is not open",
            hint: "pass the key when the program starts: \(number)< FILE")
    }

    func keyChoice(_ text: String, _ message: String) throws -> KeyCustodyChoice {
        do throws(KeyCustodyError) {
            return try KeyCustodyChoice(text)
        } catch {
            throw CommandError(.usage, message, reason: error.reason, hint: error.hint)
        }
    }

    /// The identifier of the store for the agent. The location of a store can contain a password.
    var agentStore: String {
        get throws { Base64URL.encode(SHA2.sha256.digest(Array(try storeLocation.utf8))) }
    }

    /// Returns the possible key locations. `target` is the location to move the key to.
    func keyLocations(target: KeyCustodyChoice? = nil) throws -> KeyLocations {
        var locations = KeyLocations(
            directory: try storeDirectory, choice: try keyChoice(), environment: world.environment)
        locations.keyLabel = "Key of the lodge accounts"
        try checkHandedOver(locations.choice)
        try checkHandedOver(target)
        locations.allowsPrompts = !console.options.disablesInput
        if let limit = invocation[GlobalOptions.timeout], command.timeoutUse != .signIn {
            locations.keyringTimeLimit = min(limit, locations.keyringTimeLimit)
            locations.promptTimeLimit = min(limit, locations.promptTimeLimit)
        }
        if let sleep = world.sleep { locations.sleep = sleep }
        if let (key, store) = world.agentKey, store == (try agentStore) {
            locations.replacements[KeyCustodyChoice.passphrase.word] = key
        }
        let file = world.environment[Self.passphraseVariable].flatMap { $0.isEmpty ? nil : $0 }
        let (console, read) = (console, world.readHiddenLine)
        locations.passphrase = { purpose in
            if let file { return try await PassphraseFile(path: file).read() }
            guard await console.canPrompt else { return nil }
            return try await PassphrasePrompt(console: console, readLine: read).read(purpose)
        }
        return locations
    }
}

/// A passphrase file, possibly a pipe. The passphrase is its first line.
struct PassphraseFile {
    let path: String

    private static let maximumByteCount = 4096
    /// The maximum wait for a pipe and the interval of interruption checks, in milliseconds.
    private static let patience: Int32 = 10_000
    private static let step: Int32 = 100

    /// Reads the passphrase. Blocks the main thread instead of a thread of Swift's pool.
    @MainActor func read() throws -> Secret {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { throw failure(String(cString: strerror(errno)), "use a file that you can read") }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0 else { throw failure(String(cString: strerror(errno)), "use another file") }
        guard status.st_mode & S_IFMT != S_IFREG || status.st_mode & 0o077 == 0 else {
            throw failure("other users can read it", "run: chmod 600 '\(path)'")
        }
        var bytes = try contents(file)
        defer { for index in bytes.indices { bytes[index] = 0 } }
        var line = bytes.prefix { $0 != UInt8(ascii: "\n") }
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        guard let text = String(validating: line, as: UTF8.self) else {
            throw failure("it is not UTF-8 text", "write the passphrase as UTF-8")
        }
        return Secret(text)
    }

    private func contents(_ file: Int32) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: Self.maximumByteCount)
        defer { for index in chunk.indices { chunk[index] = 0 } }
        var waited: Int32 = 0
        while !bytes.contains(UInt8(ascii: "\n")) {
            try Task.checkCancellation()
            let count: Int?
            do throws(SystemError) {
                count = try FileDescriptor.read(file, into: &chunk, waiting: Self.step)
            } catch {
                throw failure(error.explanation, "use a file that you can read")
            }
            guard let count else {
                waited += Self.step
                guard waited < Self.patience else { throw failure("it is empty", "write the passphrase to it") }
                continue
            }
            if count == 0 { break }
            bytes += chunk[..<count]
            guard bytes.count <= Self.maximumByteCount else {
                throw failure("it has more than \(Self.maximumByteCount) bytes", "use the file with the passphrase")
            }
        }
        return bytes
    }

    private func failure(_ reason: String, _ hint: Hint) -> KeyCustodyError {
        KeyCustodyError(location: "the passphrase file \(path)", reason: reason, hint: hint)
    }
}

/// A prompt for the passphrase without echo.
@MainActor struct PassphrasePrompt {
    let console: Console
    let readLine: @MainActor @Sendable (_ limit: Int) async throws -> String?

    private static let maximumByteCount = 4096

    /// Returns the typed passphrase, or `nil` if the user typed nothing.
    func read(_ purpose: PassphrasePurpose) async throws -> Secret? {
        switch purpose {
        case .open: return try await line("Passphrase of the key, which is not shown while you type:")
        case .choose:
            guard let first = try await line("New passphrase of the key, which is not shown while you type:") else {
                return nil
            }
            guard first == (try await line("Repeat the passphrase:")) else {
                throw KeyCustodyError(
                    location: "the new passphrase", reason: "the two entries differ", hint: "try again")
            }
            return first
        }
    }

    private func line(_ question: String) async throws -> Secret? {
        console.note(question)
        guard let line = try await readLine(Self.maximumByteCount) else { return nil }
        return Secret(line.last == "\r" ? String(line.dropLast()) : line)
    }
}
