import CommandLineKit
import LodgePlatform
import HTTPExchange
import OAuth2AccountStore

/// The URL of a request: the typed URL, or a path below the API of an account type.
struct RequestURL {
    let type: AccountType?

    /// Returns the URL with invalid characters percent-encoded. Encoded characters stay.
    ///
    /// A `#` in a path is encoded too: it is part of names such as `ada_fabrikam.com#EXT#@contoso.com`, and as the
    /// start of a fragment it would request another resource. In a full URL it is ambiguous and therefore an error.
    func url(_ text: String) throws(CommandError) -> URL {
        let isPath = text.hasPrefix("/")
        guard isPath || !text.utf8.contains(UInt8(ascii: "#")) else {
            throw CommandError(
                .usage, "the URL contains #", reason: "a fragment is never sent",
                hint: "encode # as %23, or omit the fragment")
        }
        let whole = isPath ? try base(for: text) + text.replacingBytes("#", with: "%23") : text
        guard let url = URL(written: whole), let scheme = url.scheme?.lowercased(),
            ["https", "http"].contains(scheme), url.host()?.isEmpty == false
        else {
            throw CommandError(
                .usage, "\(UsageError.quoted(text)) is not a URL",
                reason: "expected a URL that starts with https://, or a path that starts with /",
                hint: "\(run: "request") GET /me")
        }
        // Such letters are easy to confuse, and the settings name hosts in their ASCII form.
        guard url.host(percentEncoded: false)?.utf8.allSatisfy({ $0 < 0x80 }) == true else {
            throw CommandError(
                isPath ? .settings : .usage, "the host of the URL is not ASCII",
                reason: "expected its ASCII form, which starts with xn--",
                hint: "use this form, here and in resourceHosts")
        }
        guard scheme == "https" || url.isLoopback else {
            throw CommandError(
                .usage, "cannot send the request over plain HTTP", reason: "plain HTTP is allowed only to this machine",
                hint: "use an https URL")
        }
        guard url.user() == nil, url.password() == nil else {
            throw CommandError(
                .usage, "the URL contains a user name or a password", reason: "other users could see it",
                hint: "send them with --header")
        }
        return url
    }

    /// Returns the base URL of a path without a trailing slash.
    ///
    /// It includes the version of Microsoft Graph unless the path has one.
    private func base(for path: String) throws(CommandError) -> String {
        guard let type else {
            throw CommandError(
                .settings, "a path requires an account type", reason: "the settings contain no account type",
                hint: "use the complete URL, starting with https://")
        }
        if let api = type.graphAPI {
            var base = api.absoluteString
            while base.hasSuffix("/") { base.removeLast() }
            guard type.directory == .graph, !type.graphVersion.isEmpty else { return base }
            let first = path.dropFirst().prefix { $0 != "/" && $0 != "?" }
            return ["v1.0", "beta", type.graphVersion[...]].contains(first) ? base : base + "/" + type.graphVersion
        }
        if let host = type.resourceHosts.first { return "https://" + host }
        throw CommandError(
            .settings, "a path requires the URL of an API",
            reason: "\(type.name) has neither graphAPI nor resourceHosts",
            hint: "use the complete URL, starting with https://, or add one of them to the settings")
    }
}
