import Foundation
import HTTPExchange
import LoopbackHTTP
import StrictJSON
import Testing

@testable import CommandLineKit
@testable import lodge

/// `credential aws`, with a server that responds as the documentation of AssumeRoleWithWebIdentity describes.
@MainActor @Suite struct AWSCredentialTests {
    private static let role = "arn:aws:iam::123456789012:role/reader"

    private static func keys(_ expiration: String = "2026-11-22T06:30:00Z") -> String {
        """
        <AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
          <AssumeRoleWithWebIdentityResult>
            <SubjectFromWebIdentityToken>ada</SubjectFromWebIdentityToken>
            <Audience>client</Audience>
            <AssumedRoleUser>
              <Arn>arn:aws:sts::123456789012:assumed-role/reader/ada@contoso.example</Arn>
              <AssumedRoleId>AROACLKWSDQRAOEXAMPLE:ada@contoso.example</AssumedRoleId>
            </AssumedRoleUser>
            <Credentials>
              <SessionToken>session+/token==</SessionToken>
              <SecretAccessKey>secret/key</SecretAccessKey>
              <Expiration>\(expiration)</Expiration>
              <AccessKeyId>ASIAEXAMPLE</AccessKeyId>
            </Credentials>
            <Provider>arn:aws:iam::123456789012:oidc-provider/id.example</Provider>
          </AssumeRoleWithWebIdentityResult>
          <ResponseMetadata>
            <RequestId>ad4156e9-bce1-11e2-82e6-6b6efEXAMPLE</RequestId>
          </ResponseMetadata>
        </AssumeRoleWithWebIdentityResponse>
        """
    }

    private static func error(_ code: String, _ message: String) -> String {
        """
        <ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
          <Error><Type>Sender</Type><Code>\(code)</Code><Message>\(message)</Message></Error>
          <RequestId>ad4156e9-bce1-11e2-82e6-6b6efEXAMPLE</RequestId>
        </ErrorResponse>
        """
    }

    private func signedIn() async throws -> (terminal: Terminal, sts: ScriptedProvider) {
        let (terminal, sts) = (try await Terminal(), try ScriptedProvider())
        let host = sts.issuer.replacing("http://", with: "")
        try terminal.write(
            settings: terminal.nested.replacing("\"scopes\"", with: "\"resourceHosts\": [\"\(host)\"], \"scopes\""))
        #expect(await terminal.run("sign-in").status == 0)
        terminal.set(AWSCredentialCommand.endpointVariable, sts.issuer)
        sts.answer("/", Self.keys())
        return (terminal, sts)
    }

    @Test func `credential aws exchanges the ID token for keys`() async throws {
        let (terminal, sts) = try await signedIn()
        let idToken = String(await terminal.run("token", "--id-token").output.dropLast())
        let done = await terminal.run("credential", "aws", "arn:aws:iam::123456789012:role/reader")
        #expect(done.status == 0 && done.errors.isEmpty, "\(done)")
        #expect(
            done.output == #"{"Version":1,"AccessKeyId":"ASIAEXAMPLE","SecretAccessKey":"secret/key","#
                + #""SessionToken":"session+/token==","Expiration":"2026-11-22T06:30:00Z"}"# + "\n")
        terminal.set(AWSCredentialCommand.sessionVariable, "build-7")
        #expect(
            await terminal.run(
                "credential", "aws", "--duration", "900", "arn:aws-cn:iam::123456789012:role/a/b+c=d,e.f@g-h_i"
            ).status == 0)
        let forms = sts.requests("/").map { request in
            #expect(request.method == .post && request.fields["Authorization"] == nil)
            #expect(request.fields["Content-Type"] == "application/x-www-form-urlencoded")
            let pairs = FormEncoding.decode(String(decoding: request.body, as: UTF8.self)) ?? []
            return Dictionary(uniqueKeysWithValues: pairs.map { ($0.name, $0.value) })
        }
        let common = [
            "Action": "AssumeRoleWithWebIdentity", "Version": "2011-06-15", "WebIdentityToken": idToken,
        ]
        #expect(
            forms == [
                common.merging(["RoleArn": Self.role, "RoleSessionName": "ada@contoso.example"]) { $1 },
                common.merging([
                    "RoleArn": "arn:aws-cn:iam::123456789012:role/a/b+c=d,e.f@g-h_i", "RoleSessionName": "build-7",
                    "DurationSeconds": "900",
                ]) { $1 },
            ])
    }

    @Test func `an error of STS is one line without the token`() async throws {
        let (terminal, sts) = try await signedIn()
        let idToken = String(await terminal.run("token", "--id-token").output.dropLast())
        for (answer, code, message, status) in [
            (403, "AccessDenied", "Not authorized to perform\n sts:AssumeRoleWithWebIdentity", 5),
            (400, "ExpiredTokenException", "Token expired &amp; &lt;gone&gt;", 5),
            (400, "InvalidIdentityToken", "No OpenIDConnect provider found: \(idToken)", 5),
            (400, "IDPCommunicationError", "", 6), (400, "ValidationError", "1 validation error", 1),
            (500, "InternalFailure", "x", 6), (400, "Throttling", String(repeating: "x ", count: 2000), 6),
        ] as [(Int, String, String, Int32)] {
            sts.answer("/", answer, Self.error(code, message))
            let done = await terminal.run("credential", "aws", "arn:aws:iam::123456789012:role/reader")
            #expect(done.status == status && done.output.isEmpty, "\(done)")
            #expect(done.errors.hasPrefix("lodge: AWS STS rejected the request: \(code)"))
            #expect(done.errors.utf8.filter { $0 == 0x0A }.count == 1 && done.errors.utf8.count < 500)
            #expect(!done.errors.contains(idToken))
        }
        sts.answer("/", 400, Self.error("ExpiredTokenException", "Token expired &amp; &lt;gone&gt;"))
        let done = await terminal.run("credential", "aws", Self.role)
        #expect(done.errors == "lodge: AWS STS rejected the request: ExpiredTokenException: Token expired & <gone>\n")
        for (answer, body, status) in [(400, "<html>", 1), (503, "", 6), (302, "", 1), (404, Self.keys(), 1)] {
            sts.answer("/", answer, body)
            let done = await terminal.run("credential", "aws", Self.role)
            #expect(done.status == Int32(status) && done.output.isEmpty, "\(answer)")
            #expect(done.errors == "lodge: AWS STS rejected the request: HTTP status \(answer)\n")
        }
    }

    @Test func `a response without keys prints nothing`() async throws {
        let (terminal, sts) = try await signedIn()
        for body in [
            "", "{}", "<html></html>", Self.keys().replacing("AccessKeyId", with: "Key"), Self.keys("tomorrow"),
            Self.keys().replacing("secret/key", with: ""), Self.keys().replacing("secret/key", with: "two words"),
            Self.keys().replacing("secret/key", with: "ä"), Self.keys() + "<x/>",
            Self.keys().replacing("<Provider>", with: "<!-- --><Provider>"),
            Self.keys().replacing(
                "</Credentials>", with: "<AccessKeyId>ASIAOTHER</AccessKeyId></Credentials>"),
        ] {
            sts.answer("/", body)
            let done = await terminal.run("credential", "aws", Self.role)
            #expect(done.status == 1 && done.output.isEmpty, "\(body)")
            #expect(done.errors.hasPrefix("lodge: cannot read the response of AWS STS: "))
            #expect(!done.errors.contains("secret/key"))
        }
        sts.answer("/", String(repeating: " ", count: 70_000) + Self.keys())
        #expect(await terminal.run("credential", "aws", Self.role).status == 1)
    }

    @Test func `only a host of the account type gets the ID token`() async throws {
        let (terminal, sts) = try await signedIn()
        func refusal(_ endpoint: String?, _ region: String?, _ other: String? = nil) async -> String {
            terminal.set(AWSCredentialCommand.endpointVariable, endpoint)
            terminal.set("AWS_REGION", region)
            terminal.set("AWS_DEFAULT_REGION", other)
            let refused = await terminal.run("credential", "aws", Self.role)
            #expect(refused.status == 8 && refused.output.isEmpty, "\(refused)")
            return refused.errors
        }
        #expect(await refusal(nil, nil).contains(#"the host of "https://sts.amazonaws.com/""#))
        #expect(await refusal(nil, "eu-central-1", "us-east-1").contains("https://sts.eu-central-1.amazonaws.com/"))
        #expect(await refusal(nil, nil, "us-gov-west-1").contains("https://sts.us-gov-west-1.amazonaws.com/"))
        #expect(await refusal(nil, "cn-north-1").contains("https://sts.cn-north-1.amazonaws.com.cn/"))
        for region in ["evil.example/", "eu central", "EU", "a", "eu-1@evil.example"] {
            #expect(await refusal(nil, region).contains("wrong value of AWS_REGION"), "\(region)")
        }
        #expect(await refusal("https://other.example", nil).contains("lodge help settings resourceHosts"))
        for wrong in [
            "http://sts.amazonaws.com", "ftp://127.0.0.1", sts.issuer + "?a=b", sts.issuer + "#a", "127.0.0.1",
            sts.issuer.replacing("//", with: "//user@"), "https://sts.example\\@127.0.0.1",
        ] {
            #expect(await refusal(wrong, nil).contains("wrong value of AWS_ENDPOINT_URL_STS"), "\(wrong)")
        }
        terminal.set(AWSCredentialCommand.sessionVariable, "a b")
        #expect(await refusal(sts.issuer, nil).contains("wrong value of AWS_ROLE_SESSION_NAME"))
        for role in [
            "reader", "arn:aws:iam::123456789012:user/ada", "arn:aws:iam::1:role/reader",
            "arn:aws:iam::123456789012:role/",
            "arn:aws:iam::123456789012:role/a b", "",
        ] {
            #expect(await terminal.run("credential", "aws", role).status == 2, "\(role)")
        }
        #expect(sts.requests.isEmpty)
    }

    @Test func `the reader of XML accepts the texts of elements, and nothing else`() {
        func read(_ text: String) -> XMLTexts? { XMLTexts(Array(text.utf8)) }
        let found = read(
            "<?xml version=\"1.0\"?>\n<a x='1' y=\"&lt;\"><b>1 &amp; &#x41;&#66;</b><c/><d><e> </e></d></a>\n")
        #expect(found?["a/b"] == "1 & AB" && found?["a/c"] == "" && found?["a/d/e"] == " " && found?["a/d"] == nil)
        #expect(read("<a><b>1</b><b>2</b><c>3</c></a>").map { $0["a/b"] == nil && $0["a/c"] == "3" } == true)
        for wrong in [
            "", "a", "<a>", "</a>", "<a></b>", "<a/><b/>", "<a>x<b/></a>", "<a><b/>x</a>", "<a>&unknown;</a>",
            "<a>&#0;</a>",
            "<a>&amp</a>", "<a>&#x;</a>", "<a>&#xD800;</a>", "<a b></a>", "<a b=1></a>", "<a b='1></a>",
            "<a b='<'></a>",
            "<!DOCTYPE a><a/>", "<a><!-- --></a>", "<a><![CDATA[x]]></a>", "<a><?x?></a>", "<a>\u{1}</a>", "< a/>",
            "<a", "<a/", "<a></a", "<?xml ", "<a>&", "<a b='", String(repeating: "<a>", count: 17),
        ] {
            #expect(read(wrong) == nil, "\(wrong)")
        }
        #expect(XMLTexts([0x3C, 0x61, 0x3E, 0xFF, 0x3C, 0x2F, 0x61, 0x3E]) == nil)
    }
}
