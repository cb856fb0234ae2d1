@testable import LocalProvider
import LodgePlatform
import StrictJSON

let localProviderReaders = [
    FuzzReader(
        "odata",
        [
            .init("", "("), .init("", "not "), .init("givenName eq '", "a", "'"), .init("givenName eq '", "''", "'"),
            .init("", "givenName eq 'a' and "), .init("givenName in (", "'a',", "'b')"), .init("", " "), .init("", "a"),
            .init("startswith(givenName,'", "\u{301}", "')"), .init("", "a/"), .init("\"displayName:", "a", "\""),
            .init("", "\"displayName:a\" OR "), .init("\"displayName:", "\\\"", "\""),
        ], readOData),
    FuzzReader(
        "scim",
        [
            .init("", "("), .init("", "not ("), .init("userName eq \"", "a", "\""),
            .init("userName eq \"", "\\\\", "\""),
            .init("", "userName pr and "), .init("", "emails["), .init("", " "), .init("", "a"),
        ], readSCIM),
    FuzzReader(
        "x509", [.init("", "0"), .init("", "-----BEGIN CERTIFICATE-----\n"), .init("", "MIIC")], readX509),
]

private func readX509(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    for certificate in [X509(der: bytes)].compactMap(\.self) + X509.certificates(pem: text) {
        _ = certificate.key
        _ = certificate.issued(certificate)
    }
}

private func readOData(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    if let filter = try? ODataFilter(parsing: text) { _ = try? filter.advancedReason() }
    _ = ODataSearch(parsing: text)
    _ = PageToken(text, for: "")
    // Each quoted string is one literal.
    let quoted = "startswith(givenName,'" + text.replacingBytes("'", with: "''") + "')"
    if let filter = try? ODataFilter(parsing: quoted), case .startsWith(_, let literal) = filter {
        require(Array(literal.unicodeScalars) == Array(text.unicodeScalars), "a literal is read unchanged")
    } else {
        fatalError("a quoted text is a literal")
    }
}

private func readSCIM(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    _ = try? SCIMFilterReader.filter(text)
    let quoted = "userName sw " + JSONValue.string(text).text()
    if let filter = try? SCIMFilterReader.filter(quoted), case .startsWith(_, let literal) = filter {
        require(Array(literal.unicodeScalars) == Array(text.unicodeScalars), "a literal is read unchanged")
    } else {
        fatalError("a quoted text is a literal")
    }
}
