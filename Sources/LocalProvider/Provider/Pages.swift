import LodgePlatform
import HTTPExchange
import JOSE
import LoopbackHTTP

// The pages for users: plain HTML without scripts, readable at 320 pixels, light and dark.
extension ProviderState {
    static let entities: [Unicode.Scalar: String] = [
        "&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;", "'": "&#39;",
    ]

    /// Returns text escaped for an element or a quoted attribute.
    static func escaped(_ text: String) -> String {
        text.unicodeScalars.map { entities[$0] ?? String($0) }.joined()
    }

    static let unknownUser = "No user has this name. Choose a user, or type another name."

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

    /// Returns a page with a form, which the listener's policy forbids.
    ///
    /// `form-action` is omitted, because browsers also apply it to the redirect to the application.
    private static func formPage(_ page: String) -> LoopbackResponse {
        var response = LoopbackResponse.html(page)
        response.fields["Content-Security-Policy"] =
            "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"
        return response
    }

    /// Returns an error page instead of a redirect, because the application may not be authentic.
    func errorPage(_ message: String, status: Int = 400) -> LoopbackResponse {
        .html(
            Self.page(
                "Sign-in error", "<h1>Sign-in is not possible</h1>\n<p role=\"alert\">\(Self.escaped(message))</p>"),
            status: status)
    }

    /// Returns a page that posts its form to the application automatically. See OAuth 2.0 Form Post Response Mode.
    func responsePage(to uri: String, _ fields: FormFields) -> LoopbackResponse {
        let script = "document.forms[0].submit()"
        let inputs = fields.fields.map { field in
            "<input type=\"hidden\" name=\"\(Self.escaped(field.name))\" value=\"\(Self.escaped(field.value))\">\n"
        }
        var response = LoopbackResponse.html(
            Self.page(
                "Continue to the application",
                "<form method=\"post\" action=\"\(Self.escaped(uri))\">\n\(inputs.joined())"
                    + "<noscript><button type=\"submit\">Continue</button></noscript>\n</form>\n<script>\(script)</script>"
            ))
        let digest = Data(SHA2.sha256.digest(Array(script.utf8))).base64EncodedString()
        response.fields["Content-Security-Policy"] =
            "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-\(digest)'; base-uri 'none';"
            + " frame-ancestors 'none'"
        return response
    }

    /// Returns the response of a function, or an error page if the function throws.
    func page(_ respond: () throws(OAuthFailure) -> LoopbackResponse) -> LoopbackResponse {
        do throws(OAuthFailure) {
            return try respond()
        } catch {
            return errorPage(error.description, status: error.status)
        }
    }

    func messagePage(_ title: String, _ message: String) -> LoopbackResponse {
        .html(Self.page(title, "<h1>\(Self.escaped(title))</h1>\n<p role=\"status\">\(Self.escaped(message))</p>"))
    }

    func welcomePage() -> LoopbackResponse {
        let items = ["/.well-known/openid-configuration", "/v1.0/users"].map { path in
            "<li><code>\(Self.escaped(origin + path))</code></li>"
        }
        return .html(
            Self.page(
                "Local provider",
                "<h1>Local provider</h1>\n<p>An OpenID Connect provider and a directory of \(contents.count) invented"
                    + " users, on this machine only.</p>\n<ul>\n\(items.joined(separator: "\n"))\n</ul>"))
    }

    func consentPage(
        _ pending: ConsentRequest, _ client: LocalClient, handle: String, problem: String? = nil
    ) -> LoopbackResponse {
        let title = "Sign in to \(client.name)"
        var content = Self.heading(title, problem)
        content += "<form method=\"post\" action=\"/authorize\">\n"
        content += "<input type=\"hidden\" name=\"request\" value=\"\(Self.escaped(handle))\">\n"
        content += userFields(hint: pending.loginHint) + Self.scopeList(client, pending.scopes) + Self.buttons
        return Self.formPage(Self.page(title, content))
    }

    /// Returns the page with the code and the user, and the scopes if the code is known.
    func devicePage(userCode: String?, problem: String? = nil) -> LoopbackResponse {
        let title = "Sign in on a device"
        var content = Self.heading(title, problem)
        content += """
            <form method="post" action="/device">
            <p><label for="code">The code that the device shows</label>
            <input type="text" name="user_code" id="code" value="\(Self.escaped(userCode ?? ""))" autocomplete="off" \
            autocapitalize="characters" spellcheck="false"></p>

            """
        content += userFields(hint: nil)
        let known = state.withLock { $0.grants.devices.first { $1.userCode == userCode } }?.1
        if let known, let client = client(id: known.clientID) {
            content += Self.scopeList(client, known.scopes)
        }
        return Self.formPage(Self.page(title, content + Self.buttons))
    }

    // MARK: Parts of the forms

    private static func heading(_ title: String, _ problem: String?) -> String {
        "<h1>\(escaped(title))</h1>\n" + (problem.map { "<p role=\"alert\">\(escaped($0))</p>\n" } ?? "")
    }

    /// Returns a selection of a few users, starting with the login hint, and a field for any other user.
    private func userFields(hint: String?) -> String {
        let hinted = hint.flatMap { contents.index(signingInAs: $0) }
        let samples = [0, 1, 2, 3, 7].filter { $0 < contents.count && $0 != hinted }
        let offered = [hinted].compactMap(\.self) + samples
        var fields = "<fieldset>\n<legend>User</legend>\n"
        for (number, index) in offered.enumerated() {
            let user = contents[index]
            let name = Self.escaped(user.displayName ?? user.userPrincipalName)
            let address = Self.escaped(user.userPrincipalName)
            let checked = number == 0 ? " checked" : ""
            fields += """
                <div class="choice"><input type="radio" name="person" id="p\(number)" value="\(address)"\(checked)>\
                <label for="p\(number)">\(name) <small>\(address)</small></label></div>

                """
        }
        let typed = hinted == nil ? hint.map(Self.escaped) ?? "" : ""
        return fields + """
            <label for="upn">Another user (user principal name)</label>
            <input type="text" name="upn" id="upn" value="\(typed)" autocomplete="off" autocapitalize="none" \
            spellcheck="false">
            </fieldset>

            """
    }

    private static func scopeList(_ client: LocalClient, _ scopes: [String]) -> String {
        "<p>\(escaped(client.name)) requests permission to:</p>\n<ul>\n"
            + scopes.map { "<li>\(escaped(meaning(of: $0)))</li>\n" }.joined() + "</ul>\n"
    }

    private static let buttons = """
        <div class="buttons">
        <button type="submit" name="decision" value="approve">Approve</button>
        <button type="submit" name="decision" value="deny">Deny</button>
        </div>
        </form>
        """

    private static func meaning(of scope: String) -> String {
        switch Scopes.permission(scope) {
        case "openid": "know who you are (openid)"
        case "profile": "see your name (profile)"
        case "email": "see your mail address (email)"
        case "offline_access": "stay signed in (offline_access)"
        case "User.Read": "read your entry in the directory (User.Read)"
        case "User.ReadBasic.All": "read names and addresses of all users (User.ReadBasic.All)"
        case "User.Read.All": "read the entries of all users (User.Read.All)"
        case "Directory.Read.All": "read the directory (Directory.Read.All)"
        default: scope
        }
    }
}
