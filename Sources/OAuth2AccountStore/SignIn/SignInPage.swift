#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The pages that a sign-in ends on: static text, nothing from elsewhere, nothing that the request brought.
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

    private var text: String {
        switch self {
        case .signedIn(let account):
            "You are signed in to \(account.type) as \(account.label). You can close this tab and go back to the program."
        case .failed(let error as AccountStoreError) where error.kind == .denied:
            "The sign-in was refused. Nothing was changed. You can close this tab."
        case .failed: "The sign-in did not work. The program says why. You can close this tab."
        case .refused: "This is not the answer to a sign-in that is waiting here."
        case .notFound: "This address only waits for a sign-in to come back."
        case .wrongMethod: "A sign-in comes back with GET."
        }
    }

    /// The page as an answer.
    var response: LoopbackResponse {
        let style =
            "body{font:1.1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:15vh auto;padding:0 1.25rem;"
            + "color-scheme:light dark}h1{font-size:1.6rem}p{overflow-wrap:anywhere}"
        let page = """
            <!doctype html>
            <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
            <title>\(title)</title><style>\(style)</style></head>
            <body><main><h1>\(title)</h1><p>\(Self.escaped(text))</p></main></body></html>

            """
        return LoopbackResponse(
            status: status, fields: ["Content-Type": "text/html; charset=utf-8"], body: Data(page.utf8))
    }

    /// The longest text of somebody else's on a page, in Unicode scalars.
    private static let maximumLength = 300

    /// Safe between tags. What could reorder or hide the text around it, such as a name with a right-to-left override, is left
    /// out.
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
