import Foundation
import CurlHTTP
import HTTPExchange
import LocalProvider
import Synchronization
import TestSupport
import Testing

@testable import CommandLineKit
@testable import lodge

/// Tests the instructions that a sign-in prints.
@MainActor @Suite struct SignInScreenTests {
    private func dots(_ rows: String...) -> QRCode { QRCode(modules: rows.map { $0.map { $0 == "#" } }) }

    @Test func `sign-in prints the redirect URI, even with --quiet`() async throws {
        let terminal = try await Terminal()
        // Without a redirect, end the time when the instructions are complete.
        terminal.meanwhile = { said in
            try await until { await said().contains("Ctrl-C") }
        }
        for words in [["sign-in"], ["sign-in", "--quiet"], ["sign-in", "--no-browser", "--quiet", "--timeout", "8"]] {
            terminal.person(words.contains("--no-browser") ? .walksAway : .approves)
            let answer = await terminal.run(words: words)
            let lines = answer.errors.split(separator: "\n")
            #expect(lines.count > 2 && lines[1].hasPrefix("http://127.0.0.1:"), "\(answer.errors)")
            let wanted = try #require(
                URLComponents(string: String(lines[1]))?.queryItems?.first { $0.name == "redirect_uri" }?.value)
            #expect(lines[2] == "The redirect goes to \(wanted) on this machine. Ctrl-C ends the sign-in.")
        }
    }

    @Test func `--qr draws the verification URL as a QR code`() async throws {
        let terminal = try await Terminal()
        terminal.qrCode = { text in
            #expect(text.contains("/device?user_code="))
            return QRCode(modules: [[true, false], [false, true]])
        }
        let isDone = Mutex(false)
        terminal.meanwhile = { said in
            let isFirst = isDone.withLock { done in
                defer { done = true }
                return !done
            }
            guard isFirst, let line = await said().split(separator: "\n").first(where: { $0.contains("user_code=") }),
                let url = URL(string: line.trimmingCharacters(in: .whitespaces))
            else { return }
            try await Approval().approveDevice(url, transport: CurlTransport(userAgent: "a phone"))
        }
        let answer = await terminal.run("sign-in", "--device", "--qr")
        #expect(answer.errors.contains("\n██████████\n██████████\n████▄▀████\n"), "\(answer.errors)")
        #expect(answer.errors.contains("for a dark background"))
        #expect(answer.status == 0, "\(answer.errors)")
    }

    @Test func `without the QR library sign-in names its package and continues`() async throws {
        let terminal = try await Terminal()
        terminal.qrCode = { _ in throw QRCode.Failure.noLibrary }
        let answer = await terminal.run("sign-in", "--qr")
        #expect(answer.status == 0 && answer.errors.contains("Install \(QRCode.packageName)"), "\(answer.errors)")
        terminal.qrCode = { _ in throw QRCode.Failure.tooLong }
        let long = await terminal.run("sign-in", "--qr")
        #expect(long.status == 0 && long.errors.contains("too long"), "\(long.errors)")
    }

    @Test func `a sign-in takes over an imported account, or lists several that match`() async throws {
        let terminal = try await Terminal()
        func file(_ count: Int) -> String {
            let accounts = (1...count).map {
                """
                {"id": "id-\($0)", "type": "local", "clientId": "lodge", "userName": "ada@contoso.example",
                "issuer": "\(terminal.provider.issuer)", "accessToken": "AT-\($0)", "refreshToken": "RT-\($0)"}
                """
            }
            return
                "{\"format\": \"oauth2-accounts\", \"version\": 1, \"accounts\": [\(accounts.joined(separator: ","))]}"
        }
        #expect(await terminal.run("accounts", "import", input: file(1)).status == 0)
        let signIn = await terminal.run("sign-in")
        #expect(signIn.status == 0 && !signIn.errors.contains("never verified"), "\(signIn.errors)")
        #expect(await terminal.run("accounts").lines.count == 2)
        #expect(await terminal.run("sign-out", "--all").status == 0)
        #expect(await terminal.run("accounts", "import", input: file(2)).status == 0)
        let told = await terminal.run("sign-in").errors
        #expect(await terminal.run("accounts").lines.count == 4)
        let lines = told.split(separator: "\n").filter { $0.contains("lodge accounts remove ") }
        #expect(lines.count == 2, "\(told)")
        for line in lines {
            let id = try #require(line.split(separator: " ").last)
            #expect(await terminal.run("accounts", "remove", String(id)).status == 0)
        }
        #expect(await terminal.run("accounts").lines.count == 2)
    }

    @Test(arguments: [(80, 8, true), (80, 7, false), (10, 24, false), (11, 24, true)])
    func `a QR code is only drawn if it fits on the screen`(columns: Int, rows: Int, isDrawn: Bool) async throws {
        let captured = CapturedConsole(terminal: true, columns: columns, rows: rows)
        let code = dots("#.#", ".#.", "##.")
        let instructions = SignInInstructions(console: captured.console, makeCode: { _ in code })
        await instructions.draw(try #require(URL(string: "https://op.example/authorize")))
        let said = captured.errorOutput.text
        #expect(said.contains("▀▀▀▀▀▀▀▀▀▀▀") == isDrawn && said.contains("is not drawn") != isDrawn, "\(said)")
    }

    @Test func `a QR code has a quiet zone and no dark line after its last row`() {
        let code = dots("#.#", ".#.", "##.")
        #expect(code.columns == 11)
        #expect(
            code.lines(withColor: false) == [
                "███████████", "███████████", "████▄▀▄████", "████▄▄█████", "███████████", "▀▀▀▀▀▀▀▀▀▀▀",
            ])
        let colored = code.lines(withColor: true)
        #expect(colored.allSatisfy { $0.hasPrefix("\u{1B}[38;5;16;48;5;231m") && $0.hasSuffix("\u{1B}[0m") })
        #expect(colored[2] == "\u{1B}[38;5;16;48;5;231m    ▀▄▀    \u{1B}[0m")
        #expect(colored[3] == "\u{1B}[38;5;16;48;5;231m    ▀▀     \u{1B}[0m")
        #expect(colored.count == 6 && colored[5] == "\u{1B}[38;5;16;48;5;231m           \u{1B}[0m")
    }
}
