import LodgePlatform

/// A secret of the settings in a file that other users can read.
package struct ExposedSecret: Sendable, Equatable {
    /// The name of the account type.
    package let type: String
    /// The key of the settings, such as `clientSecret`.
    package let key: String
    /// The file, the users who can read it, and the command that prevents this.
    package let problem: FileAccess.Problem
}

extension Settings {
    /// Returns the secrets of these types that other users can read: in the settings file, or in files that it names.
    package func exposedSecrets(of types: [AccountType], access: FileAccess = FileAccess()) -> [ExposedSecret] {
        types.flatMap { type in
            [
                ("clientSecret", file(of: type.clientSecret)), ("clientKey", file(of: type.clientKey)),
                ("clientCertificate", type.clientCertificate?.keyFile),
                ("clientAssertion", file(of: type.clientAssertion)),
                ("serviceAccount", type.grant == .serviceAccount ? type.googleAccount?.file : nil),
            ].compactMap { key, path in
                path.flatMap(access.reader).map { ExposedSecret(type: type.name, key: key, problem: $0) }
            }
        }
    }

    private func file(of assertion: AccountType.ClientAssertion?) -> String? {
        guard case .certificate(let credential)? = assertion else { return nil }
        // No user can read a key in a device.
        guard (try? credential.deviceKey()) == nil else { return nil }
        return switch credential.files {
        case .pem(let certificate, let key): key ?? certificate
        case .pkcs12(let path): path
        }
    }

    private func file(of source: AccountType.SecretSource?) -> String? {
        switch source {
        case .inline: self.source
        case .file(let path): path
        case .environment, nil: nil
        }
    }
}
