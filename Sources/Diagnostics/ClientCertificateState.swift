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
    /// - Throws: `SettingsError` if the certificate cannot be used, or is not valid now.
    init?(of type: AccountType, _ dependencies: Dependencies) throws(SettingsError) {
        guard case .certificate(let credential)? = type.clientAssertion else { return nil }
        let loaded = try ClientCredentials(type: type, environment: dependencies.environment).certificate(credential)
        let now = dependencies.now().timeIntervalSince1970
        try loaded.requireValidity(at: now)
        let certificate = loaded.identity.certificate
        let days = Int((certificate.notAfter - now) / 86_400)
        let remaining = days == 0 ? "expires within a day" : "expires in \(days) day\(days == 1 ? "" : "s")"
        detail =
            "\(certificate.subject) in \(loaded.path) \(remaining); "
            + "thumbprint \(Certificate.hexadecimal(certificate.sha1Thumbprint)), "
            + "SHA-256 thumbprint \(Certificate.hexadecimal(certificate.sha256Thumbprint))"
        remedy =
            days > Self.warningDays
            ? nil
            : "create a new certificate, add it to the registration of the application, and replace \(loaded.path)"
    }
}
