import OAuth2AccountStore
import Platform
import HTTPExchange

// The proxy of the environment: no fault, but often why something fails.
extension Diagnosis {
    private static let proxyVariables = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]

    /// Looks at the proxy's address, and whether it lets a request through to the first of these types that is elsewhere. Its
    /// password is not shown.
    mutating func lookAtProxy(_ dependencies: Dependencies, towards types: [AccountType]) async throws {
        let environment = dependencies.environment
        guard let name = Self.proxyVariables.first(where: { !(environment[$0] ?? "").isEmpty }),
            let value = environment[name]
        else { return add(Finding(.proxy, .ok, "none")) }
        let exceptions = ProxyExceptions(environment)
        if let exceptions, exceptions.coverEverything {
            return add(
                Finding(
                    .proxy, .ok, of: name,
                    "not used: \(exceptions.variable) is *, so that every request goes without a proxy"))
        }
        let url = URL(string: value.contains("://") ? value : "http://" + value)
        guard let host = url?.host(percentEncoded: true), !host.isEmpty else {
            let error = SettingsError(
                file: "environment", key: name, expected: "the address of a proxy", found: "something else",
                hint: "unset \(name), or set it to http://HOST:PORT")
            return add(Finding(.proxy, of: name, failing: error))
        }
        let location = host + (url?.port.map { ":\($0)" } ?? "")
        let passes = "requests to other machines go through \(location)"
        guard let (type, origin) = types.lazy.compactMap({ type in type.remoteOrigin.map { (type, $0) } }).first else {
            return add(Finding(.proxy, .ok, of: name, passes))
        }
        if let exceptions, let host = origin.host(percentEncoded: true), exceptions.cover(host) {
            let detail = "\(passes), but not those to \(host), which \(exceptions.variable) names"
            return add(Finding(.proxy, .ok, of: name, detail))
        }
        do {
            _ = try await dependencies.transport(type.caFile).send(HTTPRequest(.get, origin))
        } catch let error as CancellationError {
            throw error
        } catch let error as HTTPTransportError where error.kind == .proxy {
            let failure = AccountStoreError(
                .network, what: "the proxy cannot be used", reason: "\(location): \(error.reason)",
                remedy: .retryLater(after: nil),
                hint: "correct \(name), or go without it: unset \(name); for some hosts alone: NO_PROXY=HOST")
            return add(Finding(.proxy, .problem, of: name, failure.reason, failure: failure))
        } catch {
            // Something behind the proxy, which the network's own finding tells.
            return add(Finding(.proxy, .ok, of: name, passes))
        }
        add(Finding(.proxy, .ok, of: name, passes + ", which lets them pass"))
    }
}

/// The hosts that are asked without a proxy, as libcurl reads the list: a name stands for itself and all names below it, `*` alone for
/// every host. Ranges of addresses are not looked at.
struct ProxyExceptions {
    /// The variable that has the list: the one that libcurl takes where both are set.
    let variable: String
    let coverEverything: Bool
    private let names: [String]

    /// Nil where no variable is set.
    init?(_ environment: [String: String]) {
        guard let variable = ["no_proxy", "NO_PROXY"].first(where: { !(environment[$0] ?? "").isEmpty }),
            let list = environment[variable]
        else { return nil }
        self.variable = variable
        coverEverything = list == "*"
        names = list.split { $0 == "," || $0.isWhitespace }.map(Self.normal)
    }

    /// Whether this host is asked without the proxy.
    func cover(_ host: String) -> Bool {
        let host = Self.normal(host[...])
        return coverEverything || names.contains { !$0.isEmpty && (host == $0 || host.hasSuffix("." + $0)) }
    }

    /// In lower case, without the dot that may stand before or behind it.
    private static func normal(_ name: Substring) -> String {
        var name = name.lowercased()
        if name.hasPrefix(".") { name.removeFirst() }
        if name.hasSuffix(".") { name.removeLast() }
        return name
    }
}

extension AccountType {
    /// Where the provider is, as the settings name it: its scheme, host and port with the path `/`.
    var origin: URL? {
        let address: URL? =
            switch provider {
            case .authority(let authority): URL(string: "\(authority)")
            case .issuer(let issuer): URL(string: issuer)
            case .endpoints: endpoints["token_endpoint"]
            }
        return address?.origin.flatMap { URL(string: $0 + "/") }
    }

    /// The same when it is on another machine.
    var remoteOrigin: URL? {
        guard let origin, origin.scheme == "https", !origin.isLoopback else { return nil }
        return origin
    }
}
