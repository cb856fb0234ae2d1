import OAuth2AccountStore
import LodgePlatform
import HTTPExchange
import OAuth2Protocol
import StrictJSON

extension ProviderReport {
    /// The maximum number of parent paths of an issuer to try.
    private static let maximumParents = 4

    /// Returns a valid issuer instead of the issuer of a type.
    ///
    /// It is the issuer in the metadata document, or a parent of a URL that is not an issuer, such as the URL of a
    /// sign-in page.
    ///
    /// It is a suggestion for the user and never used automatically.
    ///
    /// - Returns: `nil` if the type has no issuer or no other issuer is found.
    /// - Throws: `CancellationError`
    package static func workingIssuer(for type: AccountType, dependencies: Dependencies) async throws -> String? {
        guard case .issuer(let issuer) = type.provider else { return nil }
        let transport = dependencies.transport(for: type)
        var candidates: [String] = []
        do {
            for url in metadataURLs(issuer) {
                if let named = try await issuerNamed(by: url, transport) { candidates.append(named) }
            }
        } catch is HTTPTransportError {
            // A second request to an unreachable server would only take time.
            return nil
        }
        candidates += parents(of: issuer)
        var tried: Set<String> = [issuer]
        for candidate in candidates where tried.insert(candidate).inserted {
            guard let found = try? EndpointURL.check(candidate, name: "the issuer", allowsLoopbackHTTP: true),
                // Only a server on this machine may name a server on this machine.
                !found.isLoopback || URL(string: issuer)?.isLoopback == true
            else { continue }
            var other = type
            other.provider = .issuer(candidate)
            do {
                _ = try await server(of: other, dependencies: dependencies)
                return candidate
            } catch let error where error.isCancellation {
                throw error
            } catch {
                continue
            }
        }
        return nil
    }

    /// Returns the URLs of the possible metadata documents of an issuer, and the URL itself if it is the URL of a document.
    private static func metadataURLs(_ issuer: String) -> [URL] {
        if issuer.contains("/.well-known/") { return [URL(string: issuer)].compactMap { $0 } }
        return [Discovery.Placement.openID, .oauth].compactMap {
            try? Discovery(issuer: issuer, placement: $0, allowsLoopbackHTTP: true).url
        }
    }

    private static func issuerNamed(by url: URL, _ transport: any HTTPTransport) async throws -> String? {
        let response = try await transport.send(HTTPRequest(.get, url, fields: ["Accept": "application/json"]))
        guard response.status == 200 else { return nil }
        return (try? JSONValue(parsing: response.body))?.object?.text("issuer")
    }

    /// Returns the parent URLs of a URL, the nearest first.
    private static func parents(of issuer: String) -> [String] {
        guard let slashes = issuer.firstRange(of: "://") else { return [] }
        var text = issuer[..<(issuer.firstIndex { $0 == "?" || $0 == "#" } ?? issuer.endIndex)]
        var parents: [String] = []
        while parents.count < maximumParents, let slash = text.lastIndex(of: "/"), slash > slashes.upperBound {
            text = text[..<slash]
            parents.append(String(text))
        }
        return parents
    }
}
