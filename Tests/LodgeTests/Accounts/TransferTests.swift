import Foundation
import StrictJSON
import TestSupport
import Testing

@testable import CommandLineKit
@testable import lodge

@MainActor @Suite struct TransferTests {
    private static let answer = #"{"access_token": "AT-file", "token_type": "Bearer", "refresh_token": "RT-file"}"#

    @Test func `accounts import adds the accounts of standard input or a file once`() async throws {
        let terminal = try await Terminal()
        let first = await terminal.run("accounts", "import", input: Self.answer)
        #expect(first.status == 0, "\(first.errors)")
        #expect(first.lines.count == 2 && first.lines[1].hasPrefix("added\t"))
        #expect(first.errors.contains("does not verify"))
        let file = terminal.folder.appending(path: "answer.json")
        try Self.answer.write(to: file, atomically: true, encoding: .utf8)
        let second = await terminal.run("accounts", "import", file.path, "-o", "json")
        #expect(try JSONValue(parsing: second.output).array?.first?.object?["result"] == "unchanged")
        #expect(await terminal.run("accounts").lines.count == 2)
        #expect(!first.output.contains("RT-file") && !second.output.contains("AT-file"))
    }

    @Test func `accounts import reads a pipe with a slow writer`() async throws {
        let terminal = try await Terminal()
        let path = terminal.folder.appending(path: "pipe").path
        try #require(mkfifo(path, 0o600) == 0)
        let bytes = Data(Self.answer.utf8)
        let writer = Thread {
            // Without O_NONBLOCK, opening would wait for a reader without a limit.
            let end = Date(timeIntervalSinceNow: TestTime.seconds())
            var descriptor: Int32 = -1
            while descriptor < 0, Date.now < end {
                Thread.sleep(forTimeInterval: 0.01)
                descriptor = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
            }
            guard descriptor >= 0 else { return }
            let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            try? file.write(contentsOf: bytes)
            try? file.close()
        }
        writer.start()
        let answer = await terminal.run("accounts", "import", path)
        #expect(answer.status == 0 && answer.lines.count == 2, "\(answer.errors)")
    }

    @Test(arguments: ["", "{", "[7]", #"{"access_token": 7}"#])
    func `a damaged import file is an error with its location`(text: String) async throws {
        let terminal = try await Terminal()
        let answer = await terminal.run("accounts", "import", input: text)
        #expect(answer.status == 2)
        #expect(answer.errors.hasPrefix("lodge: cannot import accounts: standard input"))
        #expect(answer.errors.contains("\nhint: "))
    }

    @Test func `an import without a matching account exits with 3`() async throws {
        let terminal = try await Terminal()
        let answer = await terminal.run(
            "accounts", "import",
            input: #"[{"accountType": "elsewhere", "accessToken": {"accessToken": "t"}}]"#)
        #expect(answer.status == 3 && answer.output.contains("elsewhere"))
        #expect(await terminal.run("accounts", "import", "/no/such/file").status == 1)
    }

    @Test func `accounts export requires --reveal-secrets, creates a private file and can be imported`() async throws {
        let terminal = try await Terminal()
        _ = await terminal.run("sign-in")
        let refused = await terminal.run("accounts", "export")
        #expect(refused.status == 2 && refused.output.isEmpty && refused.errors.contains("--reveal-secrets"))
        let path = terminal.folder.appending(path: "export.json").path
        let done = await terminal.run("accounts", "export", "--reveal-secrets", "--output-file", path)
        #expect(done.status == 0 && done.output.isEmpty, "\(done.errors)")
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(await terminal.run("accounts", "export", "--reveal-secrets", "--output-file", path).status == 1)
        let piped = await terminal.run("accounts", "export", "--reveal-secrets", "ada@contoso.example")
        let written = try String(contentsOfFile: path, encoding: .utf8)
        #expect(piped.status == 0 && piped.output == written)
        terminal.set("LODGE_STORE", terminal.folder.appending(path: "other").path)
        #expect(await terminal.run("accounts", "import", path).status == 0)
        #expect(await terminal.run("search", "ada").status == 0)
        #expect(await terminal.run("accounts", "import", path).lines.last?.hasPrefix("unchanged") == true)
    }

    @Test func `--account accepts the name that accounts rename sets`() async throws {
        let terminal = try await Terminal()
        _ = await terminal.run("sign-in")
        #expect(await terminal.run("accounts", "rename", "ada@contoso.example", "work").status == 0)
        #expect(await terminal.run("accounts").output.contains("\twork\tAda Lovelace (ada@contoso.example)\t"))
        #expect(await terminal.run("status").output.contains("\nwork\tada@contoso.example\tlocal\t"))
        #expect(await terminal.run("me", "--account", "work").status == 0)
        let bad = await terminal.run("accounts", "rename", "work", "a\u{202E}b")
        #expect(bad.status == 2, "\(bad.errors)")
        #expect(await terminal.run("accounts", "rename", "nobody", "x").status == 3)
    }

    // MARK: Programs that get tokens for mail programs

    /// Returns a decrypted token file of mutt_oauth2.py.
    private func muttFile(client: String, _ changes: [String: JSONValue] = [:]) -> String {
        var file: JSONObject = [
            "registration": "microsoft", "authflow": "localhostauthcode", "email": "ada@contoso.example",
            "access_token": "AT-mutt", "access_token_expiration": "2026-11-22T10:15:30.123456",
            "refresh_token": "RT-mutt",
            "client_id": .string(client), "client_secret": "",
        ]
        for (name, value) in changes { file[name] = value }
        return JSONValue.object(file).text()
    }

    @Test func `a token file of mutt_oauth2 becomes an account of the type with its client`() async throws {
        let terminal = try await Terminal()
        #expect(await terminal.run("sign-in").status == 0)
        let export = try JSONValue(
            parsing: await terminal.run("accounts", "export", "--reveal-secrets").output)
        let refreshToken = try #require(export.object?["accounts"]?.array?.first?.object?["refreshToken"])
        terminal.set("LODGE_STORE", terminal.folder.appending(path: "mail").path)
        // A registration that the user added to the script: no known provider.
        let file = muttFile(
            client: terminal.provider.clientID, ["refresh_token": refreshToken, "registration": "work"])
        let imported = await terminal.run("accounts", "import", input: file)
        #expect(
            imported.status == 0 && imported.lines.last == "added\tada@contoso.example\tlocal\t\tthe token file",
            "\(imported)")
        let token = await terminal.run("token", "--account", "ada@contoso.example")
        #expect(token.status == 0 && token.output != "AT-mutt\n" && !token.output.isEmpty, "\(token)")
        #expect(await terminal.run("accounts", "import", input: file).lines.last?.hasPrefix("unchanged") == true)
    }

    @Test func `a file of mutt_oauth2 or oama that cannot be used names the missing line`() async throws {
        let terminal = try await Terminal()
        let client = terminal.provider.clientID
        let oama =
            #"{"email": {"unEmailAddress": "ada@gmail.example"}, "service": "google", "scope": "https://mail.google.com/", "access_token": "AT", "token_type": "Bearer", "exp_date": "2026-11-22 10:15 UTC", "expires_in": 3599"#
        for (input, reason) in [
            (muttFile(client: "other"), #"no account type of the settings has "clientId": "other""#),
            (
                muttFile(client: client, ["client_secret": "s3cret"]),
                "its client has a secret, and local has no clientSecret in the settings"
            ),
            (
                muttFile(client: client, ["refresh_token": ""]),
                "it is empty: mutt_oauth2.py did not finish a sign-in; sign in here"
            ),
            (muttFile(client: client), "its tokens are of login.microsoftonline.com, and local is at 127.0.0.1"),
            (oama + #", "refresh_token": "RT"}"#, "its tokens are of accounts.google.com, and local is at 127.0.0.1"),
            (oama + "}", "it is empty: oama did not finish a sign-in; sign in here"),
        ] {
            let refused = await terminal.run("accounts", "import", input: input)
            #expect(refused.status == 3 && refused.output.contains(reason), "\(refused)")
            #expect(!refused.output.contains("s3cret") && !refused.errors.contains("RT-mutt"))
        }
        let incomplete = await terminal.run("accounts", "import", input: muttFile(client: ""))
        #expect(
            incomplete.status == 2 && incomplete.errors.contains("client_id: expected the client of the tokens"),
            "\(incomplete)")
    }

    @Test func `credentials of oama become an account of the type at their provider`() async throws {
        let terminal = try await Terminal()
        try terminal.write(
            settings: """
                {"defaultType": "local", "types": {
                "local": {"issuer": "\(terminal.provider.issuer)", "clientId": "c", "scopes": ["openid"],
                "redirectUri": "http://127.0.0.1/callback"},
                "gmail": {"provider": "google", "clientId": "g", "clientSecret": "s", "scopes": ["https://mail.google.com/"]}}}
                """)
        for mail in [#""ada@gmail.example""#, #"{"unEmailAddress": "grace@gmail.example"}"#] {
            let imported = await terminal.run(
                "accounts", "import",
                input: """
                    {"email": \(mail), "service": "google", "scope": "https://mail.google.com/", "refresh_token": "RT-\(mail.count)",
                    "access_token": "AT", "token_type": "Bearer", "exp_date": "2026-11-22 10:15 UTC", "expires_in": 3599}
                    """)
            #expect(
                imported.status == 0 && imported.lines.last?.contains("@gmail.example\tgmail\t") == true, "\(imported)")
        }
    }

    @Test(arguments: ["-----BEGIN PGP MESSAGE-----\n\nhQ==\n", "\u{C3}\u{28}"])
    func `an encrypted file is an error with the command to decrypt it`(text: String) async throws {
        let terminal = try await Terminal()
        let path = terminal.folder.appending(path: "ada's.tokens")
        var bytes = Data(text.utf8)
        // The second file starts like the output of `gpg --symmetric`.
        if bytes.first == 0xC3 { bytes = Data([0x8C, 0x0D, 0x04, 0x09, 0x03, 0x08]) }
        try bytes.write(to: path)
        let refused = await terminal.run("accounts", "import", path.path)
        #expect(
            refused.status == 2 && refused.errors.contains("expected JSON, found a file that is encrypted with GPG"))
        #expect(refused.errors.contains("hint: gpg --decrypt '"), "\(refused)")
        #expect(refused.errors.hasSuffix("| lodge accounts import\n"), "\(refused)")
    }

    @Test func `the configuration of pizauth names the account type to add for each account`() async throws {
        let terminal = try await Terminal()
        let configuration = """
            auth_notify_cmd = "if [[ \\"$(notify-send -A \\"Open\\" x)\\" == \\"0\\" ]]; then open; fi";
            http_listen = none;
            // account "commented" { client_id = "x"; }
            account "officesmtp" {
                auth_uri = "https://login.example/authorize"; // the provider
                token_uri = "https://login.example/token";
                client_id = "client-1";
                client_secret = "s3cret";
                scopes = [
                  "https://outlook.office365.com/IMAP.AccessAsUser.All",
                  "offline_access"
                ];
                auth_uri_fields = { "login_hint": "email@example.com" };
                refresh_at_least = 90m;
            }
            account "mine" { auth_uri = "a"; token_uri = "b"; client_id = "\(terminal.provider.clientID)"; scopes = ["c"]; }
            account "half" { client_id = "x"; scopes = []; }
            """
        let read = await terminal.run("accounts", "import", "-o", "json", input: configuration)
        #expect(read.status == 3 && !read.output.contains("s3cret"), "\(read)")
        let rows = try #require(try JSONValue(parsing: read.output).array).compactMap(\.object)
        #expect(rows.compactMap { $0["account"]?.string } == ["officesmtp", "mine", "half"])
        #expect(rows.compactMap { $0["location"]?.string } == ["line 4", "line 16", "line 17"])
        let reasons = rows.compactMap { $0["reason"]?.string }
        let line =
            #""officesmtp": {"authorizationEndpoint":"https://login.example/authorize","tokenEndpoint":"https://login.example/token","redirectUri":"http://localhost/","clientId":"client-1","clientSecret":"…","scopes":["https://outlook.office365.com/IMAP.AccessAsUser.All","offline_access"]}"#
        #expect(
            reasons.first?.hasSuffix("add to \"types\" of the settings, and sign in: " + line) == true, "\(reasons)")
        #expect(reasons.dropFirst().first?.hasSuffix("; sign in to local, which has its client") == true, "\(reasons)")
        #expect(reasons.last == "the file has no auth_uri, scopes, token_uri for it", "\(reasons)")
        #expect(read.errors.contains("a configuration of pizauth has no tokens"), "\(read)")
        // The line is a part of the settings.
        try terminal.write(settings: "{\"types\": {\(line)}}")
        #expect(await terminal.run("providers", "show", "officesmtp").status == 0)
    }

    @Test func `the configuration of oama names the account type to add for each service`() async throws {
        let terminal = try await Terminal()
        let configuration = """
            ## oama version 0.22
            encryption:
                tag: GPG
                contents: ABCDEF
            services:
              google:
                client_id: client-1
                client_secret: 's3cret'
              #  auth_scope: https://mail.google.com/
              microsoft:
                client_id: "client-2"   # Fill in
                auth_scope: >-
                  https://outlook.office.com/IMAP.AccessAsUser.All
                  https://outlook.office.com/SMTP.Send
                  offline_access
                tenant: common
              yahoo:
                client_id: client-3
                auth_endpoint: https://api.login.yahoo.com/oauth2/request_auth
            """
        for text in [configuration, configuration.replacing("\n", with: "\r\n")] {
            let read = await terminal.run("accounts", "import", "-o", "json", input: text)
            #expect(read.status == 3 && !read.output.contains("s3cret"), "\(read)")
            let reasons = try #require(try JSONValue(parsing: read.output).array).compactMap {
                $0.object?["reason"]?.string
            }
            #expect(reasons.count == 3)
            let lines = reasons.prefix(2).compactMap { $0.split(separator: "and sign in: ").last.map(String.init) }
            #expect(
                lines == [
                    #""google": {"provider":"google","clientId":"client-1","clientSecret":"…","scopes":["https://mail.google.com/"]}"#,
                    #""microsoft": {"provider":"entra","clientId":"client-2","scopes":["https://outlook.office.com/IMAP.AccessAsUser.All","https://outlook.office.com/SMTP.Send","offline_access"]}"#,
                ], "\(reasons)")
            #expect(reasons.last == "the file has no token_endpoint for it")
            let other = try await Terminal()
            try other.write(settings: "{\"types\": {\(lines.joined(separator: ","))}}")
            #expect(await other.run("providers", "show", "microsoft").status == 0)
            #expect(await other.run("providers", "show", "google").status == 0)
        }
    }

    @Test(arguments: [
        "account", "account \"a\"", "account \"a\" {", "account \"a\" { client_id", "account \"a\" { client_id = \"",
        "x = [",
        "services:", "services:\n  : :", "a\n\u{0}", "//", "\"\\", "<html>", "[section]\nkey = value\n",
    ]) func `a file in another format is an error`(text: String) async throws {
        let terminal = try await Terminal()
        let refused = await terminal.run("accounts", "import", input: text)
        #expect(
            [2, 3].contains(refused.status) && refused.errors.contains("lodge: cannot import accounts"), "\(refused)")
    }
}
