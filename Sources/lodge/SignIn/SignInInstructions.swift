import CommandLineKit
import LodgePlatform
import OAuth2Protocol
import OAuth2AccountStore
import Synchronization

/// The instructions of `sign-in`: URL, code, redirect. Printed even with `--quiet`.
struct SignInInstructions: Sendable {
    let console: Console
    /// Creates the QR code of a URL; `nil` without `--qr`.
    let makeCode: (@Sendable (String) throws -> QRCode)?

    /// Returns the browser sign-in. `reason` is why no browser opens; `nil` if the user requested this.
    func browser(
        opens: Bool, because reason: String?, _ open: @escaping @Sendable (URL) async throws -> Void
    ) -> SignInMethod {
        let rejected = Atomic(0)
        return .browser(
            showing: { prepared in
                if let reason {
                    await console.instruct(
                        "lodge opens no browser: \(reason). The provider does not support sign-in on another device.")
                }
                await console.instruct(
                    opens
                        ? "Opening the browser. If it does not open, go to:"
                        : "To sign in, open this URL in a browser on this machine:")
                await console.instruct(prepared.url.absoluteString)
                await console.instruct(
                    "The redirect goes to \(prepared.redirectURI.text) on this machine. Ctrl-C ends the sign-in.")
                await draw(
                    prepared.url,
                    caution: "A phone cannot receive the redirect on this machine; "
                        + "to use a phone, add --device or --paste.")
                guard opens else { return }
                do {
                    try await open(prepared.url)
                } catch is CancellationError {
                    // The redirect arrived before the browser's command ended.
                } catch {
                    await console.instruct(
                        "The browser did not open: \(error). Open the URL yourself; lodge waits for the redirect.")
                }
            },
            rejecting: { error in
                // Any page in the browser can send redirects, so limit the messages.
                guard rejected.add(1, ordering: .relaxed).oldValue < Self.maximumRejections else { return }
                let reason = error.reason.visible
                await console.instruct(
                    reason.prefix(1).uppercased() + reason.dropFirst() + ". The sign-in continues to wait.")
            })
    }

    /// The maximum number of lines about rejected redirects.
    private static let maximumRejections = 5

    /// Returns the device sign-in. `reason` is why it is used; `nil` if the user requested it.
    func device(because reason: String?) -> SignInMethod {
        .device { prompt in
            if let reason { await console.instruct("Signing in with another device: \(reason).") }
            await console.instruct("On any device with a browser, open:")
            await console.instruct("    \(prompt.verificationURI.absoluteString)")
            await console.instruct("and enter the code:")
            await console.instruct("    \(prompt.userCode)")
            // The user compares the code with the page at this URL (RFC 8628 section 3.3.1).
            if let complete = prompt.verificationURIComplete {
                await console.instruct("Or open this URL, and check that it shows the same code:")
                await console.instruct("    \(complete.absoluteString)")
            }
            await draw(prompt.verificationURIComplete ?? prompt.verificationURI)
            let minutes = max(1, prompt.expiresIn.components.seconds / 60)
            await console.instruct(
                "Waiting. The code is valid for \(minutes) \(minutes == 1 ? "minute" : "minutes"). Ctrl-C ends the sign-in."
            )
        }
    }

    /// Returns the sign-in by pasting a code or URL from any browser.
    ///
    /// `read` reads the pasted line; `nil` at the end of the input.
    func paste(_ type: String, isCode: Bool, _ read: @escaping @Sendable () async throws -> String?) -> SignInMethod {
        .paste { url in
            await console.instruct("To sign in, open this URL in any browser:")
            await console.instruct(url.absoluteString)
            await draw(url)
            await console.instruct(
                isCode
                    ? "Then paste the code that it shows, and press Enter:"
                    : "Then paste the complete URL of the last page, even if that page does not open, and press Enter:"
            )
            guard let line = try await read() else {
                throw CommandError(
                    .signInNeeded, "the sign-in was not finished",
                    reason: "standard input ended without input",
                    hint: "\(run: "sign-in") \(type) --paste")
            }
            return line
        }
    }

    /// Draws the QR code of a URL. If that is not possible, prints the reason and continues without.
    func draw(_ url: URL, caution: String? = nil) async {
        guard let makeCode else { return }
        do {
            let code = try makeCode(url.absoluteString)
            let columns = console.terminal.columns
            if console.terminal.errorIsTerminal, code.columns > columns {
                return await console.instruct(
                    "The QR code is not drawn: it has \(code.columns) columns, and this terminal \(columns). "
                        + "Make the window larger or its letters smaller.")
            }
            let lines = await code.lines(withColor: console.errorUsesColor)
            // Cameras cannot read a code whose top has scrolled off. Reserve rows for the sentence and the cursor below
            // it.
            let (height, rows) = (lines.count + 2, console.terminal.rows)
            if console.terminal.errorIsTerminal, height > rows {
                return await console.instruct(
                    "The QR code is not drawn: it needs \(height) lines, and this terminal has \(rows). "
                        + "Make the window larger or its letters smaller.")
            }
            await console.draw(lines)
            if await !console.errorUsesColor {
                await console.instruct(
                    "(Drawn for a dark background; a camera may not read it on a light one.)")
            }
            if let caution { await console.instruct(caution) }
        } catch QRCode.Failure.noLibrary {
            await console.instruct(
                "No QR code can be drawn here. Install \(QRCode.packageName) for that; the address is enough.")
        } catch {
            await console.instruct("The QR code is not drawn: the URL is too long.")
        }
    }
}
