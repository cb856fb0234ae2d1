import OAuth2AccountStore
import Platform
import HTTPExchange

// Who issued the certificate that a provider presents here: between a provider and this machine somebody may read along.
extension Diagnosis {
    /// Words in the names of authorities that belong to programs which read along: of companies, schools, virus scanners, testers.
    private static let interceptors = [
        "avast", "barracuda", "bitdefender", "blue coat", "bluecoat", "charles proxy", "check point", "cisco umbrella",
        "contentkeeper", "eset ssl filter", "fiddler", "forcepoint", "fortigate", "fortinet", "iboss", "kaspersky",
        "lightspeed", "mitmproxy", "netskope", "palo alto", "portswigger", "securly", "smoothwall", "sonicwall",
        "sophos",
        "squid", "watchguard", "web gateway", "zscaler",
    ]

    /// The findings of a provider with the certificate's issuer in that of the network.
    static func namingIssuer(
        in findings: [Finding], of type: AccountType, _ dependencies: Dependencies
    ) async throws -> [Finding] {
        guard let origin = type.origin, origin.scheme == "https",
            let index = findings.firstIndex(where: { $0.check == .network && ($0.state == .ok || $0.concernsTrust) })
        else { return findings }
        let chain: [PeerCertificate]
        do {
            chain = try await dependencies.peerCertificates(origin)
        } catch let error as CancellationError {
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
                "if that is your organisation's own authority, ask for it and \(AccountRemedy.nameCertificateFile), "
                + "or as caFile of \(type.name); if nobody knows it, somebody reads along: do not sign in here"
        } else if let interceptor {
            finding.state = .warning
            finding.detail += ", but through a proxy that reads along: the certificate is issued by \(interceptor)"
            finding.remedy =
                "ask who runs this network; on a network without it the certificate has another issuer"
        } else {
            finding.detail += "; its certificate is issued by \(issuer)"
            if let file = type.caFile { finding.detail += " (trusted beside the system's: \(file))" }
        }
        findings[index] = finding
        return findings
    }
}

extension Diagnosis.Finding {
    /// Whether the connection failed for what the server presented, which only the transport's words tell.
    fileprivate var concernsTrust: Bool {
        failure?.kind == .network && (detail.contains("certificate") || detail.contains("secure connection"))
    }
}
