import OAuth2AccountStore
import LodgePlatform
import HTTPExchange

// The proxy of the environment, a frequent cause of network errors.
extension Diagnosis {
    private static let proxyVariables = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]

    /// Checks the proxy's URL, and sends a request to the first remote provider through the proxy.
    ///
    /// Findings never contain the proxy's password.
    mutating func checkProxy(_ dependencies: Dependencies, towards types: [AccountType]) async throws {
        let environment = dependencies.environment
        guard let name = Self.proxyVariables.first(where: { !(environment[$0] ?? "").isEmpty }),
            let value = environment[name]
        else { return add(.proxy, .ok, "none") }
        let exceptions = ProxyExceptions(environment)
        if let exceptions, exceptions.coversAllHosts {
            return add(.proxy, .ok, of: name, "not used: \(exceptions.variable) is *, which excludes every host")
        }
        let url = URL(string: value.contains("://") ? value : "http://" + value)
        guard let host = url?.host(percentEncoded: true), !host.isEmpty else {
            let error = SettingsError(
                variable: name, expected: "the address of a proxy", found: "something else",
                hint: "unset \(name), or set it to http://HOST:PORT")
            return add(.proxy, of: name, failing: error)
        }
        let location = host + (url?.port.map { ":\($0)" } ?? "")
        let passes = "requests to other machines go through \(location)"
        guard let (type, origin) = types.lazy.compactMap({ type in type.remoteOrigin.map { (type, $0) } }).first else {
            return add(.proxy, .ok, of: name, passes)
        }
        if let exceptions, let host = origin.host(percentEncoded: true), exceptions.covers(host) {
            return add(
                .proxy, .ok, of: name, "\(passes), but not those to \(host), which \(exceptions.variable) names")
        }
        do {
            _ = try await dependencies.transport(type.caFile).send(HTTPRequest(.get, origin))
        } catch let error where error.isCancellation {
            throw error
        } catch let error as HTTPTransportError where error.kind == .proxy {
            let failure = AccountStoreError(
                .network, what: "the proxy cannot be used", reason: "\(location): \(error.reason)",
                remedy: .retryLater(after: nil),
                hint: "correct \(name), or use no proxy: unset \(name); for some hosts only: NO_PROXY=HOST")
            return add(.proxy, of: name, failing: failure)
        } catch {
            // The error occurred beyond the proxy. The finding of the network reports it.
            return add(.proxy, .ok, of: name, passes)
        }
        add(.proxy, .ok, of: name, passes + ", which lets them pass")
    }
}

/// The hosts whose requests bypass the proxy, with libcurl's rules for the list.
///
/// A name excludes itself and its subdomains; `*` excludes every host. Address ranges are ignored.
struct ProxyExceptions {
    /// The variable with the list, as selected by libcurl if both are set.
    let variable: String
    let coversAllHosts: Bool
    private let names: [String]

    init?(_ environment: [String: String]) {
        guard let variable = ["no_proxy", "NO_PROXY"].first(where: { !(environment[$0] ?? "").isEmpty }),
            let list = environment[variable]
        else { return nil }
        self.variable = variable
        coversAllHosts = list == "*"
        names = list.split { $0 == "," || $0.isWhitespace }.map(Self.normal)
    }

    func covers(_ host: String) -> Bool {
        let host = Self.normal(host[...])
        return coversAllHosts || names.contains { !$0.isEmpty && (host == $0 || host.hasSuffix("." + $0)) }
    }

    /// Returns the name in lowercase, without a leading or trailing dot.
    private static func normal(_ name: Substring) -> String {
        var name = name.lowercased()
        if name.hasPrefix(".") { name.removeFirst() }
        if name.hasSuffix(".") { name.removeLast() }
        return name
    }
}

extension AccountType {
    /// The origin of the provider's URL in the settings, with the path `/`.
    var origin: URL? {
        let url: URL? =
            switch provider {
            case .authority(let authority): URL(string: "\(authority)")
            case .issuer(let issuer): URL(string: issuer)
            case .endpoints: endpoints["token_endpoint"]
            case .staticToken: serviceURL
            }
        return url?.origin.flatMap { URL(string: $0 + "/") }
    }

    /// The origin, or `nil` if it is on this machine.
    var remoteOrigin: URL? {
        guard let origin, origin.scheme == "https", !origin.isLoopback else { return nil }
        return origin
    }
}
