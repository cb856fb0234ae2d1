import JOSE

/// A private key and the algorithm it signs with: for client assertions, signed requests and DPoP proofs.
public struct SigningKey: Sendable, Equatable {
    /// The private key. Its `kid` goes into the header of what it signs.
    public let key: JWK
    /// The algorithm.
    public let algorithm: JWSAlgorithm

    /// A key for signing.
    ///
    /// - Throws: ``OAuth2Error/configuration(_:)`` when the key cannot sign with the algorithm: it is public, of another type,
    ///   or symmetric.
    public init(_ key: JWK, algorithm: JWSAlgorithm) throws(OAuth2Error) {
        guard key.isPrivate, !algorithm.isSymmetric, key.canSign(with: algorithm) else {
            throw .configuration("the key cannot sign with \(algorithm); expected a private key for that algorithm")
        }
        self.key = key
        self.algorithm = algorithm
    }

    /// The same public key and algorithm.
    public static func == (left: SigningKey, right: SigningKey) -> Bool {
        left.algorithm == right.algorithm && left.key.publicJSON == right.key.publicJSON
    }

    /// The first of these keys whose algorithm a provider announces; the first of all when it announces none.
    ///
    /// - Throws: ``OAuth2Error/configuration(_:)`` when there is none.
    public static func first(of keys: [SigningKey], announced: [String]?) throws(OAuth2Error) -> SigningKey {
        guard let key = keys.first(where: { announced?.contains($0.algorithm.rawValue) ?? true }) else {
            throw .configuration(
                "no key signs with an algorithm that the provider takes; it takes "
                    + (announced ?? []).joined(separator: ", "))
        }
        return key
    }
}
