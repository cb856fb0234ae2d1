#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import HTTPTransport
import OAuth2AccountStore

// The pages that people see: plain HTML without scripts, readable at 320 pixels, light and dark.
extension ProviderCore {
    /// Text as it may stand in an element or in a quoted attribute.
    static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    private static let style = """
        :root { color-scheme: light dark }
        body { font: 1rem/1.5 system-ui, sans-serif; margin: 0 auto; padding: 1rem; max-width: 34rem; overflow-wrap: anywhere }
        h1 { font-size: 1.4rem; line-height: 1.25 }
        fieldset { border: 1px solid #767676; border-radius: .4rem; margin: 0 0 1rem; padding: .5rem 1rem 1rem }
        .choice { display: flex; gap: .6rem; align-items: baseline; padding: .45rem 0 }
        .choice small { display: block; opacity: .8 }
        input[type=text] { font: inherit; width: 100%; box-sizing: border-box; padding: .5rem }
        .buttons { display: flex; flex-wrap: wrap; gap: .6rem }
        button { font: inherit; padding: .6rem 1.4rem; border-radius: .4rem; border: 1px solid #767676; cursor: pointer }
        button[value=approve] { background: #0b57d0; border-color: #0b57d0; color: #fff }
        [role=alert] { border-inline-start: .3rem solid #c5221f; padding-inline-start: .7rem }
        """

    private static func page(_ title: String, _ content: String) -> String {
        """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>\(escaped(title))</title>
        <style>
        \(style)
        </style>
        </head>
        <body>
        <main>
        \(content)
        </main>
        </body>
        </html>

        """
    }

    /// The listener's policy for pages forbids forms; this page has one. `form-action` is left out, because browsers hold
    /// it against the redirect to the application too.
    private static func formPage(_ page: String) -> LoopbackResponse {
        var response = LoopbackResponse.html(page)
        response.fields["Content-Security-Policy"] =
            "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"
        return response
    }

    /// An error that is not sent to the application, because it may not be the one it says.
    func errorPage(_ message: String, status: Int = 400) -> LoopbackResponse {
        .html(
            Self.page(
                "Sign-in error", "<h1>Sign-in is not possible</h1>\n<p role=\"alert\">\(Self.escaped(message))</p>"),
            status: status)
    }

    func signedOutPage() -> LoopbackResponse {
        .html(Self.page("Signed out", "<h1>Signed out</h1>\n<p>You can close this page.</p>"))
    }

    func welcomePage() -> LoopbackResponse {
        let items = ["/.well-known/openid-configuration", "/v1.0/users"].map { path in
            "<li><code>\(Self.escaped(issuer + path))</code></li>"
        }
        return .html(
            Self.page(
                "Local provider",
                "<h1>Local provider</h1>\n<p>An OpenID Connect provider and a directory of \(people.all.count) invented"
                    + " people, on this machine only.</p>\n<ul>\n\(items.joined(separator: "\n"))\n</ul>"))
    }

    /// Who signs in, to what, with what.
    func consentPage(
        _ pending: PendingAuthorization, _ client: RegisteredClient, handle: String, problem: String? = nil
    ) -> LoopbackResponse {
        let hinted = pending.loginHint.flatMap { people.index(signingInAs: $0) }
        var offered = [hinted].compactMap { $0 }
        for index in [0, 1, 2, 3, 7] where index < people.all.count && !offered.contains(index) {
            offered.append(index)
        }
        var content = "<h1>Sign in to \(Self.escaped(client.name))</h1>\n"
        if let problem { content += "<p role=\"alert\" id=\"problem\">\(Self.escaped(problem))</p>\n" }
        content += "<form method=\"post\" action=\"/authorize\">\n"
        content += "<input type=\"hidden\" name=\"request\" value=\"\(Self.escaped(handle))\">\n"
        content += "<fieldset>\n<legend>Who are you?</legend>\n"
        for (number, index) in offered.enumerated() {
            let person = people.all[index]
            let name = Self.escaped(person.displayName ?? person.userPrincipalName)
            let address = Self.escaped(person.userPrincipalName)
            let checked = number == 0 ? " checked" : ""
            content +=
                "<div class=\"choice\"><input type=\"radio\" name=\"person\" id=\"p\(number)\" value=\"\(address)\"\(checked)>"
                + "<label for=\"p\(number)\">\(name) <small>\(address)</small></label></div>\n"
        }
        let typed = hinted == nil ? pending.loginHint.map(Self.escaped) ?? "" : ""
        content += """
            <label for="upn">Somebody else (user principal name)</label>
            <input type="text" name="upn" id="upn" value="\(typed)" autocomplete="off" autocapitalize="none" spellcheck="false">
            </fieldset>
            <p>\(Self.escaped(client.name)) asks for:</p>
            <ul>

            """
        for scope in pending.scopes { content += "<li>\(Self.escaped(Self.meaning(of: scope)))</li>\n" }
        content += """
            </ul>
            <div class="buttons">
            <button type="submit" name="decision" value="approve">Approve</button>
            <button type="submit" name="decision" value="deny">Deny</button>
            </div>
            </form>
            """
        return Self.formPage(Self.page("Sign in to \(client.name)", content))
    }

    private static func meaning(of scope: String) -> String {
        switch Scopes.permission(scope) {
        case "openid": "know who you are (openid)"
        case "profile": "see your name (profile)"
        case "email": "see your mail address (email)"
        case "offline_access": "stay signed in (offline_access)"
        case "User.Read": "read your entry in the directory (User.Read)"
        case "User.ReadBasic.All": "read names and addresses of everybody (User.ReadBasic.All)"
        case "User.Read.All": "read the entries of everybody (User.Read.All)"
        case "Directory.Read.All": "read the directory (Directory.Read.All)"
        default: scope
        }
    }
}
