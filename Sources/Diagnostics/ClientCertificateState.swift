import JOSE
import LodgePlatform
import OAuth2AccountStore

/// The certificate of a client that signs its assertions, as Microsoft's portals show it.
struct ClientCertificateState {
    /// The number of days before the expiry from which the certificate needs attention.
    private static let warningDays = 30

    /// The subject, the remaining days and both thumbprints.
    let detail: String
    /// The hint to replace the certificate, or `nil` if there is enough time.
    let remedy: Hint?

    /// Creates the state from the files of a type. Returns `nil` for a type without a certificate.
    ///
    /// - Parameter signs: Whether to try a signature if the key is in a device. Many wrong passwords lock a device.
    /// - Throws: `SettingsError` if the certificate cannot be used, or is not valid now; `CancellationError`.
    init?(of type: AccountType, _ dependencies: Dependencies, signs: Bool = true) async throws {
        guard case .certificate(let credential)? = type.clientAssertion else { return nil }
        let loaded = try await ClientCredentials(type: type, environment: dependencies.environment).certificate(
            credential, dependencies, signs: signs)
        let now = dependencies.now().timeIntervalSince1970
        try loaded.requireValidity(at: now)
        let certificate = loaded.identity.certificate
        func days(_ certificate: Certificate) -> Int { Int((certificate.notAfter - now) / 86_400) }
        func remaining(_ certificate: Certificate) -> String {
            let days = days(certificate)
            return days == 0 ? "expires within a day" : "expires in \(days) day\(days == 1 ? "" : "s")"
        }
        let first = loaded.sent.min { $0.notAfter < $1.notAfter } ?? certificate
        let issuer = first.notAfter < certificate.notAfter ? first : nil
        detail =
            "\(certificate.subject) in \(loaded.path) \(remaining(certificate)); "
            + (issuer.map { "the intermediate certificate \($0.subject) \(remaining($0)); " } ?? "")
            + (loaded.identity.device.map { "its key is \($0); " } ?? "")
            + "thumbprint \(Certificate.hexadecimal(certificate.sha1Thumbprint)), "
            + "SHA-256 thumbprint \(Certificate.hexadecimal(certificate.sha256Thumbprint))"
        remedy =
            if days(first) > Self.warningDays {
                nil
            } else if days(certificate) > Self.warningDays {
                "replace the intermediate certificate in \(loaded.path) with the current one of the authority"
            } else {
                "create a new certificate, add it to the registration of the application, and replace \(loaded.path)"
            }
    }
}
