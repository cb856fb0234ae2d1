import CommandLineKit
import JOSE
import LodgePlatform
import OAuth2AccountStore
import StrictJSON

/// The options of `providers add` for a client that authenticates with a certificate.
@MainActor struct CertificateOptions {
    enum Input {
        static let certificate = Option.text(
            "certificate", "FILE", "the client's certificate: PEM or PKCS #12",
            completion: .file)
        static let key = Option.text(
            "key", "FILE|URI", "PEM file of its key, handle:… or pkcs11:… (the file of --certificate)",
            completion: .file)
        static let password = Option.text(
            "certificate-password-env", "NAME", "environment variable with the key's password")
        static let chain = Option.flag("chain", "send the certificate with its chain")
    }

    static let all: [any DeclaredOption] = [Input.certificate, Input.key, Input.password, Input.chain]

    let context: CommandContext
    private var invocation: Invocation { context.invocation }

    /// Returns the value of `clientAssertion`, or `nil` without a certificate.
    func clientAssertion() throws(CommandError) -> JSONValue? {
        guard let path = invocation[Input.certificate] else {
            let option = Self.all.first { invocation.source(of: $0) == .option }
            guard let option else { return nil }
            throw usage("--\(option.spec.name) requires --certificate", "--certificate was not given")
        }
        var members = JSONObject()
        if isBinary(path) {
            guard invocation[Input.key] == nil else {
                throw usage("--key cannot be combined with a PKCS #12 file", "\(path) has the private key")
            }
            members["pkcs12"] = .string(absolute(path))
        } else {
            members["certificate"] = .string(absolute(path))
            if let key = invocation[Input.key] { members["key"] = .string(try location(ofKey: key)) }
        }
        if let name = invocation[Input.password] { members["password"] = ["environment": .string(name)] }
        if invocation[Input.chain] { members["chain"] = true }
        return ["certificate": .object(members)]
    }

    /// Reads the certificate of the new type. Returns the line with the thumbprint to compare, or `nil` without a certificate
    /// or without the variable of its password.
    ///
    /// - Throws: `SettingsError` if the certificate cannot be used.
    func note(_ type: AccountType) async throws -> String? {
        guard case .certificate(let credential)? = type.clientAssertion else { return nil }
        let dependencies = context.dependencies()
        if case .environment(let name)? = credential.password, dependencies.environment[name] == nil { return nil }
        let loaded = try await ClientCredentials(type: type, environment: dependencies.environment).certificate(
            credential, dependencies, signs: true)
        try loaded.requireValidity(at: dependencies.now().timeIntervalSince1970)
        let certificate = loaded.identity.certificate
        return
            "Upload the certificate \(certificate.subject) to the registration of \(type.clientID). Its thumbprint is "
            + Certificate.hexadecimal(certificate.sha1Thumbprint) + "."
    }

    /// Returns whether a file is PKCS #12: DER begins with a sequence.
    private func isBinary(_ path: String) -> Bool {
        guard case .success(let bytes) = OwnerOnlyFile.read(path, maximumSize: 64 * 1024) else {
            return path.lowercased().hasSuffix(".pfx") || path.lowercased().hasSuffix(".p12")
        }
        return bytes.first == 0x30
    }

    /// Returns the URI of a key in a device, or the absolute path of a file.
    private func location(ofKey text: String) throws(CommandError) -> String {
        do throws(CertificateError) {
            return try DeviceKey(text)?.uri ?? absolute(text)
        } catch {
            let hint: Hint? =
                error.part == .password ? "remove it, and use --\(Input.password.spec.name)" : error.hint
            throw CommandError(.usage, "wrong value of --key", reason: "found \(error.found)", hint: hint)
        }
    }

    /// Returns an absolute path, because commands read the settings from any folder.
    private func absolute(_ path: String) -> String {
        path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    }

    private func usage(_ message: String, _ reason: String) -> CommandError {
        CommandError(.usage, message, reason: reason, hint: "lodge help providers add")
    }
}
