import Foundation
import HTTPExchange
import OAuth2AccountStoreTesting
import Testing

/// Tests which secrets of a request and its response a recording redacts.
@Suite struct MaskingTests {
    private func exchange(
        _ address: String = "https://api.example/x", fields: HTTPFields = [:], sent: String? = nil,
        answer: HTTPFields = [:], body: String = ""
    ) throws -> Recording.Exchange {
        let url = try #require(URL(string: address))
        let request = HTTPRequest(.post, url, fields: fields, body: sent.map { Data($0.utf8) })
        return Recording.Exchange(request, HTTPResponse(status: 200, fields: answer, body: Data(body.utf8)))
    }

    @Test(arguments: [
        "PRIVATE-TOKEN", "X-Auth-Token", "X-Vault-Token", "X-Goog-Api-Key", "Ocp-Apim-Subscription-Key", "api-key",
        "X-Amz-Security-Token", "Authorization", "Set-Cookie", "DPoP-Nonce", "X-Client-Secret",
    ])
    func `a header field with a secret is masked`(name: String) throws {
        let kept = try exchange(fields: [name: "s3cr3t"], answer: [name: "s3cr3t"])
        #expect(kept.requestFields[name] == "masked" && kept.fields[name] == "masked")
    }

    @Test(arguments: ["Accept", "Content-Type", "X-Token-Type", "Access-Control-Allow-Credentials", "ETag"])
    func `a header field without a secret is not masked`(name: String) throws {
        #expect(try exchange(fields: [name: "true"]).requestFields[name] == "true")
    }

    @Test(arguments: [
        "X-Amz-Signature", "X-Amz-Security-Token", "X-Goog-Signature", "access_token", "sig", "code", "private%5Ftoken",
    ])
    func `a parameter with a secret is masked, in the Location header too`(name: String) throws {
        let address = "https://b.example/o?\(name)=s3cr3t&page=2"
        let expected = "https://b.example/o?\(name)=masked&page=2"
        #expect(try exchange(address).address == expected)
        #expect(try exchange(answer: ["Location": address]).fields["Location"] == expected)
        #expect(try exchange(answer: ["Location": "/a b|c?\(name)=s3cr3t"]).fields["Location"]?.contains("s3") == false)
    }

    @Test(arguments: ["$skiptoken", "pageToken", "$deltatoken", "token_type_hint_type", "grant_type", "client_id"])
    func `a parameter for paging or a token type is not masked`(name: String) throws {
        let address = "https://b.example/o?\(name)=value"
        #expect(try exchange(address).address == address)
    }

    @Test(
        arguments: [
            (
                #"{"password":["x",{"a":"y"}],"secret":1234}"#,
                #"{"password":["masked",{"a":"masked"}],"secret":"masked"}"#
            ),
            (#"{"password":null,"secret":false,"token":true}"#, #"{"password":null,"secret":false,"token":true}"#),
            (
                #"{"sessionToken":"x","secretText":"y","apiKeys":"z"}"#,
                #"{"sessionToken":"masked","secretText":"masked","apiKeys":"masked"}"#
            ),
            (
                #"{"token_type":"Bearer","token_endpoint":"https://a","token_endpoint_auth_methods_supported":["none"]}"#,
                nil
            ),
            (
                #"{"passwordPolicies":"None","refresh_token_expires_in":9,"lastPasswordChangeDateTime":"2020","name":"n"}"#,
                nil
            ),
            (
                #"{"passwordProfile":{"password":"x","forceChangePasswordNextSignIn":true}}"#,
                #"{"passwordProfile":{"password":"masked","forceChangePasswordNextSignIn":true}}"#
            ),
        ] as [(String, String?)])
    func `a member with a secret is masked for every type of value`(body: String, expected: String?) throws {
        #expect(try String(decoding: exchange(body: body).body, as: UTF8.self) == expected ?? body)
    }

    @Test(arguments: ["text/plain", "text/html; charset=utf-8", "application/x-www-form-urlencoded"])
    func `a token response in form encoding is masked with any content type`(type: String) throws {
        let kept = try exchange(
            answer: ["Content-Type": type], body: "access_token=s3cr3t&expires_in=9&token_type=bearer\n")
        #expect(
            String(decoding: kept.body, as: UTF8.self).hasPrefix("access_token=masked&expires_in=9&token_type=bearer"))
        let text = "The password=x is not shown in plain words."
        #expect(try exchange(answer: ["Content-Type": "text/plain"], body: text).body == Data(text.utf8))
    }

    @Test func `the parts of a multipart form are masked by their names and types`() throws {
        func part(_ name: String, _ content: String, type: String? = nil) -> String {
            "--B\r\nContent-Disposition: form-data; name=\"\(name)\"\r\n\(type.map { "Content-Type: \($0)\r\n" } ?? "")\r\n\(content)\r\n"
        }
        let sent =
            part("password", "s3cr3t") + part("note", "hello\r\n\r\nagain") + part("client_secret", "s3cr3t")
            + part("json", #"{"token":"s3cr3t","n":1}"#, type: "application/json") + "--B--\r\n"
        let expected =
            part("password", "masked") + part("note", "hello\r\n\r\nagain") + part("client_secret", "masked")
            + part("json", #"{"token":"masked","n":1}"#, type: "application/json") + "--B--\r\n"
        for type in ["multipart/form-data; boundary=B", "Multipart/Form-Data; boundary=\"B\""] {
            let kept = try exchange(fields: ["Content-Type": type], sent: sent)
            #expect(String(decoding: kept.requestBody, as: UTF8.self) == expected)
        }
        for type in ["multipart/form-data", "multipart/form-data; boundary=C"] {
            #expect(try exchange(fields: ["Content-Type": type], sent: sent).requestBody == Data("masked".utf8))
        }
    }
}
