import Foundation
import LodgePlatform
import StrictJSON
import Testing

@testable import CommandLineKit
@testable import lodge

/// Tests the protocol of oidc-agent. Tests/Integration/oidc_agent.py runs its clients.
@MainActor @Suite struct OIDCAgentTests {
    private func signedIn() async throws -> (terminal: Terminal, token: String) {
        let terminal = try await Terminal()
        #expect(await terminal.run("sign-in").status == 0)
        return (terminal, String(await terminal.run("token").output.dropLast()))
    }

    /// Sends one request and returns its response.
    private func ask(_ terminal: Terminal, _ request: JSONObject, _ options: String...) async throws -> JSONObject {
        let words = ["credential", "oidc-agent"] + options
        let answer = await terminal.run(words: words, input: JSONValue.object(request).text())
        #expect(answer.status == 0 && answer.errors.isEmpty, "\(answer)")
        return try #require(try JSONValue(parsing: answer.output).object)
    }

    private func error(_ terminal: Terminal, _ request: JSONObject, _ options: String...) async throws -> String {
        let words = ["credential", "oidc-agent"] + options
        let answer = await terminal.run(words: words, input: JSONValue.object(request).text())
        #expect(answer.status == 0 && answer.errors.isEmpty, "\(answer)")
        let response = try #require(try JSONValue(parsing: answer.output).object)
        #expect(response["status"] == "failure" && response["access_token"] == nil)
        return response["error"]?.string ?? ""
    }

    // MARK: Requests

    @Test func `a client gets the token of an account by name, type or issuer`() async throws {
        let (terminal, token) = try await signedIn()
        let issuer = terminal.provider.issuer.absoluteString
        for (name, value) in [
            ("account", "ada@contoso.example"), ("account", "ADA@contoso.example"), ("account", "local"),
            ("issuer", issuer), ("issuer", issuer + "/"),
        ] {
            let found = try await ask(terminal, ["request": "access_token", name: .string(value)])
            #expect(found.members.map(\.name) == ["status", "access_token", "issuer", "expires_at"])
            #expect(found["status"] == "success" && found["access_token"] == .string(token), "\(value)")
            #expect(found["issuer"] == .string(issuer))
            let expiry = try #require(found["expires_at"]?.number?.int64)
            #expect(abs(TimeInterval(expiry) - Date().timeIntervalSince1970 - 3600) < 300)
        }
        let loaded = try await ask(terminal, ["request": "loaded_accounts"])
        #expect(loaded == ["status": "success", "info": ["ada@contoso.example"]])
        for unknown in ["eve", issuer + "//", ""] {
            for member in ["account", "issuer"] {
                let message = try await error(terminal, ["request": "access_token", member: .string(unknown)])
                #expect(
                    message == (unknown.isEmpty ? "Bad Request: expected account or issuer" : "account not loaded"))
            }
        }
    }

    @Test func `the response names the sign-in if the type of the request has no account`() async throws {
        let terminal = try await Terminal()
        let missing = try await ask(terminal, ["request": "access_token", "account": "local"])
        #expect(
            missing == ["status": "failure", "error": "account not loaded", "info": "lodge sign-in local"])
        let unknown = try await ask(terminal, ["request": "access_token", "account": "eve"])
        #expect(unknown["info"] == "lodge accounts")
        #expect(try await ask(terminal, ["request": "loaded_accounts"]) == ["status": "success", "info": []])
    }

    @Test func `scope, validity and audience of a request apply`() async throws {
        let (terminal, token) = try await signedIn()
        func request(_ more: JSONObject) -> JSONObject {
            let named: JSONObject = ["request": "access_token", "account": "local"]
            return JSONObject(named.members + more.members)
        }
        func refreshes() -> Int { terminal.provider.tokenRequestCount(grantType: "refresh_token") }
        for more: JSONObject in [
            ["scope": "User.Read"], ["scope": "openid User.Read"], ["scope": ""], ["min_valid_period": 60],
            ["min_valid_period": "60"], ["audience": ""], ["application_hint": "test"], ["audience": .null],
        ] {
            #expect(try await ask(terminal, request(more))["access_token"] == .string(token), "\(more)")
        }
        #expect(refreshes() == 0)
        // oidc-token --force-new
        let new = try await ask(terminal, request(["min_valid_period": -1]))["access_token"]
        #expect(new?.string != nil && new != .string(token) && refreshes() == 1)
        let resource = try await ask(terminal, request(["audience": "https://api.example/a"]))["access_token"]
        #expect(resource?.string != nil && resource != new && refreshes() == 2)
        let invalid: [(JSONObject, String)] = [
            (["audience": "a b"], "audience"), (["audience": "api"], "audience"), (["audience": ["a"]], "audience"),
            (["audience": "https://api.example/#a"], "audience"), (["scope": "a\"b"], "scope"),
            (["scope": 1], "scope"), (["min_valid_period": "soon"], "min_valid_period"),
            (["min_valid_period": true], "min_valid_period"), (["application_hint": []], "application_hint"),
        ]
        for (more, expected) in invalid {
            #expect(try await error(terminal, request(more)).hasPrefix("Bad Request: \(expected) is not"), "\(more)")
        }
        #expect(refreshes() == 2)
        let denied = try await error(terminal, request(["scope": "Unknown.Scope"]))
        #expect(denied.contains("Unknown.Scope") || denied.contains("scope"), "\(denied)")
    }

    @Test func `a rejected refresh is an error with the sign-in command`() async throws {
        let (terminal, _) = try await signedIn()
        terminal.provider.revokeGrants()
        let request: JSONObject = ["request": "access_token", "account": "local", "min_valid_period": -1]
        let response = try await ask(terminal, request)
        #expect(response["status"] == "failure" && response["info"] == "lodge sign-in local", "\(response)")
        #expect(await terminal.run("sign-out").status == 0)
        #expect(try await error(terminal, request) == "account not loaded")
    }

    @Test func `all other requests are refused`() async throws {
        let (terminal, _) = try await signedIn()
        for name: JSONValue in [
            "add", "gen", "register", "remove", "remove_all", "delete", "lock", "unlock", "id_token", "account_info",
            "mytoken", "refresh_token", "check", "", 1, .null,
        ] {
            let message = try await error(terminal, ["request": name, "account": "local"])
            #expect(message.hasPrefix("not supported: "), "\(name)")
        }
        #expect(try await error(terminal, [:]).hasPrefix("not supported: "))
        #expect(await terminal.run("token").status == 0)
    }

    @Test func `--allow restricts a connection to accounts`() async throws {
        let (terminal, token) = try await signedIn()
        terminal.person(.approvesAs("li.ming@contoso.example"))
        #expect(await terminal.run("sign-in").status == 0)
        #expect(await terminal.run("accounts", "rename", "li.ming@contoso.example", "work").status == 0)
        let ada: JSONObject = ["request": "access_token", "account": "ada@contoso.example"]
        let ming: JSONObject = ["request": "access_token", "account": "work"]
        let type: JSONObject = ["request": "access_token", "account": "local"]
        let issuer: JSONObject = [
            "request": "access_token", "issuer": .string(terminal.provider.issuer.absoluteString),
        ]
        let all: JSONObject = ["request": "loaded_accounts"]
        #expect(try await ask(terminal, ada)["access_token"] == .string(token))
        // The current account of the type.
        let other = try await ask(terminal, ming)["access_token"]
        #expect(other?.string != nil && other != .string(token))
        #expect(try await ask(terminal, type)["access_token"] == other)
        #expect(try await ask(terminal, issuer)["access_token"] == other)
        #expect(try await ask(terminal, all)["info"] == ["ada@contoso.example", "work"])
        // The only allowed account of the type, which is not the current one.
        for request in [ada, type, issuer] {
            let found = try await ask(terminal, request, "--allow", "ada@contoso.example")
            #expect(found["access_token"] == .string(token))
        }
        #expect(try await error(terminal, ming, "--allow", "ada@contoso.example") == "account not loaded")
        #expect(try await ask(terminal, all, "--allow", "ada@contoso.example")["info"] == ["ada@contoso.example"])
        let both = await terminal.run(
            "credential", "oidc-agent", "--allow", "work", "--allow=ada@contoso.example",
            input: JSONValue.object(all).text())
        #expect(both.output.hasSuffix(#""info":["ada@contoso.example","work"]}"#))
        #expect(try await error(terminal, type, "--allow", "eve") == "account not loaded")
        // Without --allow, --account and --type restrict it.
        #expect(try await error(terminal, ada, "--account", "work") == "account not loaded")
        #expect(try await ask(terminal, all, "--account", "work")["info"] == ["work"])
        #expect(try await ask(terminal, all, "--account", "work", "--allow", "eve")["info"] == [])
        #expect(try await ask(terminal, type, "--type", "local")["access_token"] == other)
    }

    @Test func `the identifier selects one of several accounts with the same name`() async throws {
        let terminal = try await Terminal()
        let type = try #require(try JSONValue(parsing: terminal.nested).object?["types"]?.object?["local"]).text()
        try terminal.write(settings: #"{"types": {"local": \#(type), "second": \#(type)}}"#)
        #expect(await terminal.run("sign-in", "second").status == 0)
        #expect(await terminal.run("sign-in", "local").status == 0)
        let identifiers = try await ask(terminal, ["request": "loaded_accounts"])["info"]?.array ?? []
        #expect(identifiers.count == 2 && !identifiers.contains("ada@contoso.example"))
        let token = String(await terminal.run("token", "--type", "second").output.dropLast())
        var found: [JSONValue?] = []
        for identifier in identifiers {
            let response = try await ask(terminal, ["request": "access_token", "account": identifier])
            found.append(response["access_token"])
        }
        #expect(found.contains(.string(token)) && Set(found.map { $0?.string }).count == 2)
        let name: JSONObject = ["request": "access_token", "account": "ada@contoso.example"]
        #expect(try await error(terminal, name).hasPrefix("several accounts are named ada@contoso.example: "))
        #expect(try await ask(terminal, name, "--type", "second")["access_token"] == .string(token))
        let second = try await ask(terminal, ["request": "access_token", "account": "second"])
        #expect(second["access_token"] == .string(token))
        // The current account of the first type with the issuer.
        let issuer: JSONObject = [
            "request": "access_token", "issuer": .string(terminal.provider.issuer.absoluteString),
        ]
        let local = String(await terminal.run("token", "--type", "local").output.dropLast())
        #expect(try await ask(terminal, issuer)["access_token"] == .string(local))
    }

    @Test func `a token that is bound to a key is refused`() async throws {
        let terminal = try await Terminal()
        let provider = try ScriptedProvider()
        provider.describe()
        provider.answer("/token", #"{"access_token": "bound-token", "token_type": "DPoP", "expires_in": 3600}"#)
        try terminal.write(
            settings: """
                {"types": {"app": {"issuer": "\(provider.issuer)", "clientId": "app", "clientSecret": "not-a-secret",
                "redirectUri": "http://127.0.0.1/callback", "dpop": true, "scopes": ["read"]}}}
                """)
        let signedIn = await terminal.run("sign-in", "--client-credentials")
        #expect(signedIn.status == 0, "\(signedIn)")
        let answer = await terminal.run(
            "credential", "oidc-agent", input: #"{"request":"access_token","account":"app"}"#)
        #expect(answer.output.contains("it is bound to a key") && !answer.output.contains("bound-token"), "\(answer)")
    }

    // MARK: Connections

    @Test func `a connection has any number of requests, and each response is written before the next read`()
        async throws
    {
        let (terminal, token) = try await signedIn()
        let request = Array(#"{"request":"access_token","account":"local"}"#.utf8)
        // The third chunk has the end of one request and the begin of another one.
        let chunks = Chunks([
            request, Array(request[..<10]), Array(request[10...] + request[..<20]), Array(request[20...] + [0x0A]),
        ])
        var lengths: [Int] = []
        var limits: [Duration] = []
        terminal.readAvailable = { output, time in
            lengths.append(output.count)
            limits.append(time - ContinuousClock.now)
            return chunks.next()
        }
        let answer = await terminal.run("credential", "oidc-agent")
        #expect(answer.status == 0 && answer.errors.isEmpty)
        let length = answer.output.utf8.count / 3
        #expect(lengths == [0, length, length, 2 * length, 3 * length])
        #expect(answer.output.ranges(of: token).count == 3)
        #expect(limits[0] <= OIDCAgentCredentialCommand.firstLimit)
        #expect(limits[0] > OIDCAgentCredentialCommand.firstLimit / 2)
        for limit in limits.dropFirst() {
            #expect(limit <= OIDCAgentCredentialCommand.nextLimit)
            #expect(limit > OIDCAgentCredentialCommand.nextLimit / 2)
        }
    }

    @Test func `a client that sends no request in time gets no response`() async throws {
        let (terminal, token) = try await signedIn()
        for start in ["", "{", #"{"request":"#, "AAAA"] {
            let chunks = Chunks([Array(start.utf8)])
            var isFirst = true
            terminal.readAvailable = { _, _ in
                defer { isFirst = false }
                return isFirst && !start.isEmpty ? chunks.next() : nil
            }
            let answer = await terminal.run("credential", "oidc-agent", "--verbose")
            #expect(answer.status == 0 && answer.output.isEmpty)
            #expect(answer.errors.hasSuffix("The client sent no request in time.\n"))
        }
        // --timeout limits the connection.
        var limit: Duration?
        terminal.readAvailable = { _, time in
            limit = time - ContinuousClock.now
            return nil
        }
        #expect(await terminal.run("credential", "oidc-agent", "--timeout", "2").status == 0)
        #expect(limit.map { $0 <= .seconds(2) } == true)
        terminal.readAvailable = nil
        let shown = await terminal.run(
            "credential", "oidc-agent", "--verbose",
            input: #"{"request":"access_token","account":"local","application_hint":"a\u001b[31m b"}"#)
        #expect(shown.output.contains(token) && !shown.errors.contains(token))
        #expect(shown.errors.contains("Application: a") && !shown.errors.contains("\u{1B}"))
    }

    @Test func `a client that does not read its responses ends the connection`() async throws {
        let (terminal, _) = try await signedIn()
        terminal.clientReads = false
        let answer = await terminal.run(
            "credential", "oidc-agent", "--verbose", input: #"{"request":"access_token","account":"local"}"#)
        #expect(answer.output.isEmpty && answer.errors.hasSuffix("The client did not read the responses in time.\n"))
    }

    @Test(arguments: [
        "x", "}", "GET / HTTP/1.1\r\n\r\n", "[]", "{]", "{} {", #"{"a":}"#, #"{"a":1,"a":2}"#, #"{"a":"\#u{80}\"}"#,
        String(repeating: "A", count: 43), String(repeating: "=", count: 44), String(repeating: "{\"a\":", count: 65),
        "{\"a\":" + String(repeating: "[", count: 64), "{\"a\":\"" + String(repeating: "a", count: 64 * 1024) + "\"}",
        "{" + String(repeating: " ", count: 100_000), #"{"request":"access_token","account":"local""#,
    ]) func `a malformed request ends the connection with an error`(input: String) async throws {
        let (terminal, token) = try await signedIn()
        let request = #"{"request":"access_token","account":"local"}"#
        let answer = await terminal.run("credential", "oidc-agent", input: input)
        #expect(answer.status == 0 && answer.errors.isEmpty)
        let last = "{" + (answer.output.split(separator: "}{").last.map(String.init) ?? "").drop { $0 == "{" }
        let response = try #require(try JSONValue(parsing: last).object)
        #expect(response["status"] == "failure")
        #expect(response["error"]?.string?.hasPrefix("Bad Request: ") == true, "\(answer.output)")
        // A request after it is not read.
        let second = await terminal.run("credential", "oidc-agent", input: input + "\u{1}" + request)
        #expect(!second.output.contains(token), "\(second.output)")
    }

    @Test func `messages end at the same byte however they arrive`() throws {
        let key = [UInt8](0..<32)
        let nonce = [UInt8](0..<24)
        let cipher = [UInt8](0..<18)
        let request = Array(#" {"a": "}\"{", "b": [{"c": {}}]}"#.utf8)
        let encrypted = "2:\(Data(nonce).base64EncodedString()):\(Data(cipher).base64EncodedString())"
        let bytes = request + Array(Data(key).base64EncodedString().utf8) + Array(encrypted.utf8) + [0] + request
        let expected: [OIDCAgentMessages.Message] = [
            .request(Array(request.dropFirst())), .publicKey(key), .encrypted(nonce: nonce, cipher: cipher),
            .request(Array(request.dropFirst())),
        ]
        for size in 1...bytes.count {
            var messages = OIDCAgentMessages()
            var found: [OIDCAgentMessages.Message] = []
            for start in stride(from: 0, to: bytes.count, by: size) {
                messages.append(Array(bytes[start..<min(start + size, bytes.count)]))
                while let message = try messages.next() { found.append(message) }
            }
            #expect(found == expected, "\(size)")
            #expect(!messages.isWithinMessage)
        }
    }

    @Test func `the size and the depth of a request have limits`() throws {
        func read(_ text: String) throws -> OIDCAgentMessages.Message? {
            var messages = OIDCAgentMessages()
            messages.append(Array(text.utf8))
            return try messages.next()
        }
        let limit = OIDCAgentMessages.maximumSize
        let largest = "{\"a\":\"" + String(repeating: "a", count: limit - 8) + "\"}"
        #expect(try read(largest) == .request(Array(largest.utf8)))
        #expect(throws: OIDCAgentMessages.Malformed.self) { try read("{ " + largest.dropFirst()) }
        #expect(try read(largest.replacingOccurrences(of: "a\"}", with: "aa")) == nil)
        let deepest = String(repeating: "{\"a\":", count: 63) + "{}" + String(repeating: "}", count: 63)
        #expect(try read(deepest) != nil)
        #expect(throws: OIDCAgentMessages.Malformed.self) { try read("{\"a\":" + deepest + "}") }
        // An encrypted request reports its length first.
        for head in ["49200:", "123456", "1x", ":", "-1:"] {
            var messages = OIDCAgentMessages()
            messages.append(Array((Data(count: 32).base64EncodedString() + head).utf8))
            #expect(try messages.next() != nil)
            #expect(throws: OIDCAgentMessages.Malformed.self, "\(head)") { try messages.next() }
        }
    }

    // MARK: Encryption

    nonisolated private static let hasSodium = (try? LibSodium()) != nil

    private func bytes(_ hex: String) -> [UInt8] {
        let digits = Array(hex.utf8)
        return stride(from: 0, to: digits.count, by: 2).map {
            UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16) ?? 0
        }
    }

    /// The sample of Bernstein, "Cryptography in NaCl", 2009.
    @Test(.enabled(if: hasSodium)) func `encryption has the published result of crypto_box`() throws {
        let secretKey = bytes("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a")
        let peer = bytes("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f")
        let nonce = bytes("69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37")
        let text = bytes(
            "be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffce5ecbaaf33bd751a1ac728d45e6c61296cdc3c01"
                + "233561f41db66cce314adb310e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde048977eb48f5"
                + "9ffd4924ca1c60902e52f0a089bc76897040e082f937763848645e0705")
        let cipher = bytes(
            "f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186ac0dfc17c"
                + "98dce87b4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae90224368517a"
                + "cfeabd6bb3732bc0e9da99832b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74e355a5")
        let box = try #require(CryptoBox(LibSodium(), peer: peer, fixedSecretKey: secretKey))
        #expect(box.seal(text, fixedNonce: nonce).cipher == cipher)
        #expect(box.open(cipher, nonce: nonce) == text)
        for index in cipher.indices {
            var changed = cipher
            changed[index] ^= 1
            #expect(box.open(changed, nonce: nonce) == nil)
        }
        #expect(box.open(Array(cipher.prefix(15)), nonce: nonce) == nil)
        #expect(box.open(cipher, nonce: Array(nonce.dropLast())) == nil)
        // Every secret key has the same shared key with such a point.
        #expect(try CryptoBox(LibSodium(), peer: [UInt8](repeating: 0, count: 32)) == nil)
        #expect(try CryptoBox(LibSodium(), peer: [1]) == nil)
        // Two boxes have different keys and nonces.
        let other = try #require(CryptoBox(LibSodium(), peer: peer))
        #expect(other.publicKey != (try #require(CryptoBox(LibSodium(), peer: peer))).publicKey)
        #expect(other.seal(text).nonce != other.seal(text).nonce)
    }

    @Test(.enabled(if: hasSodium)) func `requests may be encrypted, each with new keys`() async throws {
        let (terminal, token) = try await signedIn()
        let sodium = try LibSodium()
        // The keys of the client. lodge derives the same key from the other halves.
        let secretKey = [UInt8](repeating: 7, count: 32)
        var publicKey = [UInt8](repeating: 0, count: 32)
        let derive: @convention(c) (UnsafeMutablePointer<UInt8>, UnsafePointer<UInt8>) -> Int32 =
            try DynamicLibrary(fileNames: ["libsodium.so.23", "libsodium.so.26", "libsodium.so", "libsodium.dylib"])
            .function("crypto_scalarmult_base")
        #expect(derive(&publicKey, secretKey) == 0)
        let hello = Array(Data(publicKey).base64EncodedString().utf8)
        let request = Array(#"{"request":"access_token","account":"local"}"#.utf8)
        var written = 0
        var keys: [String] = []
        var responses: [String] = []
        var box: CryptoBox?
        terminal.readAvailable = { output, _ in
            let new = String(decoding: output[written...], as: UTF8.self)
            written = output.count
            if new.utf8.count == 44 {
                keys.append(new)
                let peer = try #require(Data(base64Encoded: new))
                box = CryptoBox(sodium, peer: Array(peer), fixedSecretKey: secretKey)
                let (nonce, cipher) = try #require(box).seal(request)
                return Array(
                    "\(request.count):\(Data(nonce).base64EncodedString()):\(Data(cipher).base64EncodedString())".utf8)
            }
            if !new.isEmpty {
                let parts = new.split(separator: ":")
                let nonce = try #require(Data(base64Encoded: String(parts[1])))
                let cipher = try #require(Data(base64Encoded: String(parts[2])))
                let text = try #require(box?.open(Array(cipher), nonce: Array(nonce)))
                #expect(String(text.count) == parts[0])
                responses.append(String(decoding: text, as: UTF8.self))
            }
            return responses.count < 2 ? hello : []
        }
        let answer = await terminal.run("credential", "oidc-agent")
        #expect(answer.status == 0 && answer.errors.isEmpty && !answer.output.contains(token))
        #expect(responses.count == 2 && responses.allSatisfy { $0.contains(token) })
        #expect(Set(keys).count == 2)
        // Another key.
        let wrong = Chunks([
            hello, Array("2:\(Data(count: 24).base64EncodedString()):\(Data(count: 18).base64EncodedString())".utf8),
        ])
        terminal.readAvailable = { _, _ in wrong.next() }
        let refused = await terminal.run("credential", "oidc-agent")
        #expect(
            refused.output.dropFirst(44) == #"{"status":"failure","error":"Bad Request: cannot decrypt the request"}"#)
    }

    @Test func `without libsodium only plain requests are served`() async throws {
        let (terminal, token) = try await signedIn()
        terminal.loadSodium = { try LibSodium(fileNames: ["missing.so"]) }
        let request = #"{"request":"access_token","account":"local"}"#
        #expect(await terminal.run("credential", "oidc-agent", input: request).output.contains(token))
        let answer = await terminal.run(
            "credential", "oidc-agent", input: Data(count: 32).base64EncodedString() + request)
        #expect(answer.status == 0 && answer.errors.isEmpty)
        let response = try #require(try JSONValue(parsing: answer.output).object)
        #expect(response["status"] == "failure")
        #expect(response["error"] == "cannot decrypt requests: libsodium is not installed")
        #expect(response["info"]?.string?.contains("libsodium") == true)
    }
}
