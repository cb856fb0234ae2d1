import LoopbackHTTP
import LodgePlatform

/// The last page of a sign-in. It is static, without external resources and without data from the request.
enum SignInPage {
    case signedIn(Account)
    case failed(any Error)
    case refused
    case notFound
    case wrongMethod

    private var status: Int {
        switch self {
        case .signedIn, .failed: 200
        case .refused: 400
        case .notFound: 404
        case .wrongMethod: 405
        }
    }

    private var title: String {
        switch self {
        case .signedIn: "Signed in"
        case .failed: "Not signed in"
        case .refused, .wrongMethod: "Not accepted"
        case .notFound: "Nothing here"
        }
    }

    private var text: [String] {
        switch self {
        case .signedIn(let account):
            [
                "You are signed in to \(account.type) as \(Self.name(account)).",
                "You can close this tab and go back to the program.",
            ]
        case .failed(let error): [Self.reason(error), "You can close this tab."]
        case .refused:
            [
                "No sign-in waits for this redirect. No account was changed.",
                "To sign in, go back to the program: it shows the URL to open.",
            ]
        case .notFound:
            ["This page only receives the redirect of a sign-in.", "Go back to the tab in which you were signing in."]
        case .wrongMethod: ["The redirect of a sign-in uses GET.", "Try again in the program."]
        }
    }

    /// Returns the names of the user at the provider, never the nickname of the account.
    private static func name(_ account: Account) -> String {
        guard let user = account.userName else { return account.displayName ?? account.subject ?? account.id.rawValue }
        return account.displayName.map { $0 == user ? user : "\($0) (\(user))" } ?? user
    }

    /// Returns an explanation of the error and the next step in fixed text. Only the program shows the text of the
    /// provider.
    private static func reason(_ error: any Error) -> String {
        guard let error = error as? AccountStoreError else {
            return "The sign-in failed. The program shows the reason and the next step."
        }
        switch error.kind {
        case .denied:
            return
                "The sign-in was denied or cancelled. No account was changed. To sign in, try again in the program."
        case .network, .unavailable:
            return
                "The provider did not respond. No account was changed. The program shows the reason. Try again later."
        case .settings:
            return "The provider rejected the program's settings. The program shows which setting to change."
        case .storage, .key:
            return "The sign-in could not be saved on this machine. The program shows the reason and the next step."
        default: return "The sign-in failed. The program shows the reason and the next step."
        }
    }

    var response: LoopbackResponse {
        let style =
            ":root{color-scheme:light dark}body{font:1.125rem/1.5 system-ui,sans-serif;max-width:32rem;"
            + "margin:clamp(1.5rem,15vh,9rem) auto;padding:0 1.25rem}h1{font-size:1.6rem;line-height:1.2}"
            + "h1,p{overflow-wrap:anywhere}"
        let paragraphs = text.map { "<p>\(Self.escaped($0))</p>" }.joined()
        let page = """
            <!doctype html>
            <html lang="en"><head><meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>\(title)</title><style>\(style)</style></head>
            <body><main><h1>\(title)</h1>\(paragraphs)</main></body></html>

            """
        return LoopbackResponse(
            status: status, fields: ["Content-Type": "text/html; charset=utf-8"], body: Data(page.utf8))
    }

    /// The maximum length of a name on a page, in Unicode scalars.
    private static let maximumLength = 300

    /// Escapes text for HTML and replaces characters that can hide or reorder text, such as a right-to-left override.
    private static func escaped(_ text: String) -> String {
        var output = ""
        for scalar in text.unicodeScalars.prefix(maximumLength) {
            switch scalar {
            case "&": output += "&amp;"
            case "<": output += "&lt;"
            case ">": output += "&gt;"
            case "\"": output += "&quot;"
            default:
                switch scalar.properties.generalCategory {
                case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned:
                    output += "\u{FFFD}"
                default: output.unicodeScalars.append(scalar)
                }
            }
        }
        return output
    }
}
