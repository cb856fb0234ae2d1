#if canImport(Security)
    import CryptoKit
    import Foundation
    import HTTPExchange
    import LodgePlatform
    import Security
    import Synchronization

    /// The trust of a session on Apple platforms: the authorities of the system and of a file, and the pinned keys.
    ///
    /// Sendable is sound: the certificates never change after `init`, and a lock protects the hosts.
    final class SessionIdentity: @unchecked Sendable {
        private let pinnedKeys: Set<PublicKeyPin>
        private let authorities: [SecCertificate]
        private let refusedHosts = Mutex<Set<String>>([])

        /// Creates the trust.
        ///
        /// - Throws: `HTTPTransportError` if the CA file is unreadable, or with a client certificate.
        init(_ trust: ServerTrust, _ clientCertificate: ClientCertificate?, for url: URL) throws {
            let host = url.host() ?? ""
            guard clientCertificate == nil else {
                throw HTTPTransportError(
                    .tls, host: host,
                    reason: "URLSessionTransport does not support client certificates. Use CurlTransport.")
            }
            pinnedKeys = trust.pinnedKeys
            authorities = try trust.caFile.map { try Self.certificates(ofFile: $0, host) } ?? []
        }

        private static func certificates(ofFile path: String, _ host: String) throws -> [SecCertificate] {
            guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
                throw HTTPTransportError(.invalidRequest, host: host, reason: "The CA file cannot be read.")
            }
            let certificates = text.components(separatedBy: "-----BEGIN CERTIFICATE-----").dropFirst().map { block in
                block.components(separatedBy: "-----END CERTIFICATE-----").first.flatMap {
                    Data(base64Encoded: $0, options: .ignoreUnknownCharacters)
                }.flatMap { SecCertificateCreateWithData(nil, $0 as CFData) }
            }
            let valid = certificates.compactMap { $0 }
            guard !valid.isEmpty, valid.count == certificates.count else {
                throw HTTPTransportError(.invalidRequest, host: host, reason: "The CA file has no valid certificate.")
            }
            return valid
        }

        /// Returns whether the certificate of a server is trusted, and has a pinned key if there are any.
        func isTrusted(_ trust: SecTrust, host: String) -> Bool {
            let isTrusted = evaluate(trust)
            if !isTrusted { refusedHosts.withLock { _ = $0.insert(host) } }
            return isTrusted
        }

        private func evaluate(_ trust: SecTrust) -> Bool {
            if !authorities.isEmpty {
                // In addition to the system's authorities.
                guard SecTrustSetAnchorCertificates(trust, authorities as CFArray) == errSecSuccess,
                    SecTrustSetAnchorCertificatesOnly(trust, false) == errSecSuccess
                else { return false }
            }
            // First the evaluation: a pin alone must not make a certificate valid.
            guard SecTrustEvaluateWithError(trust, nil) else { return false }
            guard !pinnedKeys.isEmpty else { return true }
            guard let chain = SecTrustCopyCertificateChain(trust) as? [SecCertificate], let leaf = chain.first,
                let pin = PublicKeyPin(of: leaf)
            else { return false }
            return pinnedKeys.contains(pin)
        }

        /// Returns the reason why the session cancelled a connection itself.
        func refusal(_ url: URL) -> HTTPTransportError? {
            let host = url.host(percentEncoded: false) ?? ""
            guard refusedHosts.withLock({ $0.contains(host) }) else { return nil }
            return HTTPTransportError(
                .tls, host: host,
                reason: "The server's certificate is not trusted, or its public key is not one of the pinned keys.")
        }
    }

    extension SessionExchanges {
        /// Decides about the certificate of a server. All other challenges get the default handling.
        func urlSession(
            _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
        ) {
            let space = challenge.protectionSpace
            guard space.authenticationMethod == NSURLAuthenticationMethodServerTrust, let trust = space.serverTrust
            else {
                return completionHandler(.performDefaultHandling, nil)
            }
            if identity.isTrusted(trust, host: space.host) {
                completionHandler(.useCredential, URLCredential(trust: trust))
            } else {
                completionHandler(.cancelAuthenticationChallenge, nil)
            }
        }
    }

    extension PublicKeyPin {
        /// Creates the pin of the public key of a certificate: RSA, P-256, P-384 or P-521.
        init?(of certificate: SecCertificate) {
            guard let key = SecCertificateCopyKey(certificate),
                let bytes = SecKeyCopyExternalRepresentation(key, nil) as Data?
            else { return nil }
            self.init(ofKey: Array(bytes))
        }

        /// Creates the pin of a key in the form of the Security framework: PKCS #1, or an uncompressed point.
        init?(ofKey key: [UInt8]) {
            guard let info = Self.subjectPublicKeyInfo(key) else { return nil }
            self.init(Data(SHA256.hash(data: info)).base64EncodedString())
        }

        /// Returns the key with its algorithm, as in a certificate.
        ///
        /// See [RFC 5280 section 4.1](https://www.rfc-editor.org/rfc/rfc5280#section-4.1) and [RFC
        /// 5480](https://www.rfc-editor.org/rfc/rfc5480).
        private static func subjectPublicKeyInfo(_ key: [UInt8]) -> [UInt8]? {
            let curvePublicKey: [UInt8] = [0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]
            let algorithm: [UInt8]
            switch (key.first, key.count) {
            case (0x30, _):
                algorithm = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00]
            case (0x04, 65):
                algorithm = curvePublicKey + [0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
            case (0x04, 97): algorithm = curvePublicKey + [0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x22]
            case (0x04, 133): algorithm = curvePublicKey + [0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x23]
            default: return nil
            }
            return element(0x30, element(0x30, algorithm) + element(0x03, [0] + key))
        }

        private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
            switch content.count {
            case ..<0x80: [tag, UInt8(content.count)] + content
            case ..<0x100: [tag, 0x81, UInt8(content.count)] + content
            default: [tag, 0x82, UInt8(content.count >> 8 & 0xFF), UInt8(content.count & 0xFF)] + content
            }
        }
    }
#endif
