import CommandLineKit
import Platform
import HTTPExchange
import OAuth2AccountStore

/// Where a request goes: the address that was typed, or the path below the API of an account type.
struct RequestURL {
    let type: AccountType?

    init(_ type: AccountType?) { self.type = type }

    /// The address. What cannot stand in one, a space or a letter with an accent, is percent-encoded; what is encoded already stays.
    ///
    /// A `#` in a path is encoded too: it is a part of names such as `ada_fabrikam.com#EXT#@contoso.com`. As the start of a fragment,
    /// which is never sent, it would cut the path there, and another resource would be asked for. In a whole address it may be meant
    /// either way, and is refused.
    ///
    /// - Throws: ``CommandError`` of the status `usage` for what is no address, and `settings` where a path has no API to be below.
    func url(_ text: String) throws(CommandError) -> URL {
        let isPath = text.hasPrefix("/")
        guard isPath || !text.utf8.contains(UInt8(ascii: "#")) else {
            throw CommandError(
                .usage, "the address has a # in it", reason: "what follows it is never sent",
                hint: "write %23 where it is part of a name, or leave out what begins with it")
        }
        let whole = isPath ? try base(for: text) + text.replacing("#", with: "%23") : text
        guard let url = URL(written: whole), let scheme = url.scheme?.lowercased(),
            ["https", "http"].contains(scheme), url.host()?.isEmpty == false
        else {
            throw CommandError(
                .usage, "\(UsageError.quoted(text)) is no address",
                reason: "expected one that begins with https://, or a path that begins with /",
                hint: "\(run: "request") GET /me")
        }
        // Their letters are told apart badly, and the settings name hosts as they are sent.
        guard url.host(percentEncoded: false)?.utf8.allSatisfy({ $0 < 0x80 }) == true else {
            throw CommandError(
                isPath ? .settings : .usage, "the address's host has letters that are not ASCII",
                reason: "expected the form of it that is sent, which begins with xn--",
                hint: "write that form, here and in resourceHosts")
        }
        guard scheme == "https" || url.isLoopback else {
            throw CommandError(
                .usage, "the request is not sent by plain http", reason: "only this machine may be asked so",
                hint: "begin the address with https://")
        }
        guard url.user() == nil, url.password() == nil else {
            throw CommandError(
                .usage, "the address has a user name or a password in it", reason: "it would be seen by everybody",
                hint: "give them with --header")
        }
        return url
    }

    /// The API that paths are below, without a slash at the end. Microsoft Graph's version is added, unless the path has one.
    private func base(for path: String) throws(CommandError) -> String {
        guard let type else {
            throw CommandError(
                .settings, "a path needs an account type", reason: "the settings have none to be used",
                hint: "give the whole address, beginning with https://")
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
            .settings, "a path needs the address of an API",
            reason: "\(type.name) has neither graphAPI nor resourceHosts",
            hint: "give the whole address, beginning with https://, or add one of them to the settings")
    }
}
