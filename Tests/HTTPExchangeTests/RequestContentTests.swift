import Foundation
import HTTPExchange
import StrictJSON
import Testing

@Suite struct RequestContentTests {
    private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

    private func text(_ request: HTTPRequest) throws -> String {
        String(decoding: try #require(request.body), as: UTF8.self)
    }

    @Test(arguments: [
        ("https://a.example/x", "https://a.example/x?b=1&b=%26&c=a%20%2B%C3%A4"),
        ("https://a.example/x?a=%2F", "https://a.example/x?a=%2F&b=1&b=%26&c=a%20%2B%C3%A4"),
        ("https://a.example/x?", "https://a.example/x?b=1&b=%26&c=a%20%2B%C3%A4"),
        ("https://a.example#top", "https://a.example?b=1&b=%26&c=a%20%2B%C3%A4#top"),
    ])
    func `query parameters are added to the existing query`(_ base: String, _ expected: String) throws {
        let pairs = [("b", "1"), ("b", "&"), ("c", "a +ä")].map { (name: $0.0, value: $0.1) }
        #expect(HTTPRequest(.get, try url(base), query: pairs).url.absoluteString == expected)
        let form = HTTPRequest(.get, try url(base), form: pairs)
        #expect(form.url.absoluteString == expected && form.content == nil && form.fields["Content-Type"] == nil)
    }

    @Test func `forms and JSON set Content-Type unless the caller does`() throws {
        let form = HTTPRequest(.post, try url("https://a.example/"), form: [("a b", "=&"), ("a b", "")])
        #expect(try text(form) == "a%20b=%3D%26&a%20b=")
        #expect(form.fields == ["Content-Type": "application/x-www-form-urlencoded"])
        struct Person: Codable, Equatable {
            var name: String
            var born: Date
            var address: String?
        }
        let ada = Person(name: "A/da", born: Date(timeIntervalSince1970: 0))
        let request = try HTTPRequest(
            .patch, try url("https://a.example/"), encoding: ada,
            fields: ["content-type": "application/merge-patch+json", "Accept": "x/y"])
        #expect(try text(request) == #"{"born":"1970-01-01T00:00:00Z","name":"A/da"}"#)
        #expect(request.fields == ["content-type": "application/merge-patch+json", "Accept": "x/y"])
        #expect(try HTTPResponse(status: 200, body: try #require(request.body)).decoded() == ada)
        #expect(try text(HTTPRequest(.post, try url("https://a.example/"), json: ["n": 1])) == #"{"n":1}"#)
    }

    @Test func `a multipart form has stable bytes and escapes names as browsers do`() throws {
        var form = try MultipartForm(boundary: "b")
        form.append("Ada", named: "na\"me\r\n")
        form.append(42, named: "number")
        form.append(contentsOf: ["x", "y"], named: "list[]")
        form.append(Data([0, 0x0D, 0x0A, 0xFF]), named: "bytes", fileName: "ä\".bin")
        form.parts.append(
            .init(name: "j", content: .bytes(Data("{}".utf8)), contentType: "application/json", fields: ["X-A": "1"]))
        let expected =
            "--b\r\nContent-Disposition: form-data; name=\"na%22me%0D%0A\"\r\n\r\nAda\r\n"
            + "--b\r\nContent-Disposition: form-data; name=\"number\"\r\n\r\n42\r\n"
            + "--b\r\nContent-Disposition: form-data; name=\"list[]\"\r\n\r\nx\r\n"
            + "--b\r\nContent-Disposition: form-data; name=\"list[]\"\r\n\r\ny\r\n"
            + "--b\r\nContent-Disposition: form-data; name=\"bytes\"; filename=\"ä%22.bin\"\r\n"
            + "Content-Type: application/octet-stream\r\n\r\n"
        var bytes = Data(expected.utf8)
        bytes += [0, 0x0D, 0x0A, 0xFF]
        bytes += Data(
            "\r\n--b\r\nContent-Disposition: form-data; name=\"j\"\r\nContent-Type: application/json\r\nX-A: 1\r\n\r\n{}\r\n--b--\r\n"
                .utf8)
        let request = try HTTPRequest(.post, try url("https://a.example/"), multipart: form)
        #expect(request.body == bytes && request.content?.isReplayable == true)
        #expect(request.fields == ["Content-Type": "multipart/form-data; boundary=b"])
        #expect(try HTTPRequest(.post, try url("https://a.example/"), multipart: form) == request)
        #expect(MultipartForm().boundary != MultipartForm().boundary)
    }

    @Test func `a multipart form rejects header injection and hides its values`() throws {
        for fields in [["X": "a\r\nY: b"], ["X Y": "1"], ["": "1"]] as [HTTPFields] {
            var form = MultipartForm()
            form.parts.append(.init(name: "a", content: .bytes(Data()), fields: fields))
            #expect(throws: HTTPTransportError.self) { try form.content() }
        }
        var form = MultipartForm()
        form.append("x", named: "n")
        form.parts[0].contentType = "text/plain\r\nX: y"
        #expect(throws: HTTPTransportError.self) { try form.content() }
        for boundary in ["", "a\"b", "a\r\n", String(repeating: "x", count: 71), "ä"] {
            #expect(throws: HTTPTransportError.self) { try MultipartForm(boundary: boundary) }
        }
        var secret = MultipartForm()
        secret.append("hidden-value", named: "hidden-name")
        var text = "\(secret) \(secret.parts[0]) \(String(reflecting: secret))"
        dump(secret, to: &text)
        #expect(!text.contains("hidden"))
    }
}
