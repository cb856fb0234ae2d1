import OAuth2AccountStore
import LodgePlatform
import HTTPExchange

// The issuer of the provider's certificate shows whether a proxy decrypts the traffic: such a proxy presents its own
// certificate.
extension Diagnosis {
    /// Words in the certificate issuers of products that intercept TLS: proxies of companies and schools, virus
    /// scanners, and test tools.
    private static let interceptors = [
        "avast", "barracuda", "bitdefender", "blue coat", "bluecoat", "charles proxy", "check point", "cisco umbrella",
        "contentkeeper", "eset ssl filter", "fiddler", "forcepoint", "fortigate", "fortinet", "iboss", "kaspersky",
        "lightspeed", "mitmproxy", "netskope", "palo alto", "portswigger", "securly", "smoothwall", "sonicwall",
        "sophos",
        "squid", "watchguard", "web gateway", "zscaler",
    ]

    /// Adds the issuer of the provider's certificate to the network finding.
    ///
    /// If the issuer is a known interceptor, a network finding without a problem becomes a warning.
    static func addingIssuer(
        to findings: [Finding], of type: AccountType, _ dependencies: Dependencies
    ) async throws -> [Finding] {
        guard let origin = type.origin, origin.scheme == "https",
            let index = findings.firstIndex(where: { $0.check == .network && ($0.state == .ok || $0.concernsTrust) })
        else { return findings }
        let chain: [PeerCertificate]
        do {
            chain = try await dependencies.peerCertificates(origin)
        } catch let error where error.isCancellation {
            throw error
        } catch {
            return findings
        }
        guard let issuer = chain.first?.issuer else { return findings }
        var findings = findings
        var finding = findings[index]
        let interceptor = chain.map(\.issuer).first { name in interceptors.contains { name.lowercased().contains($0) } }
        if finding.state == .problem {
            finding.detail += " The certificate that came is issued by: \(chain.last?.issuer ?? issuer)."
            finding.remedy =
                "if that is your organization's own authority, ask for it and \(AccountRemedy.nameCertificateFile), "
                + "or as caFile of \(type.name); if it is unknown, a third party may read the traffic: do not sign in here"
        } else if let interceptor {
            finding.state = .warning
            finding.detail +=
                ", but through a proxy that decrypts the traffic: the certificate is issued by \(interceptor)"
            finding.remedy =
                "ask the administrator of this network; on another network the certificate has another issuer"
        } else {
            finding.detail += "; its certificate is issued by \(issuer)"
            if let file = type.caFile { finding.detail += " (trusted in addition to the system's: \(file))" }
        }
        findings[index] = finding
        return findings
    }
}

extension Diagnosis.Finding {
    /// Whether the server's certificate caused the connection error. Only the transport's message shows this.
    fileprivate var concernsTrust: Bool {
        failure?.kind == .network && (detail.contains("certificate") || detail.contains("secure connection"))
    }
}
