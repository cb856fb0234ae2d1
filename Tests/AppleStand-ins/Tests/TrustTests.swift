import Foundation
import HTTPExchange
import Security
import Testing

@testable import URLSessionHTTP

/// Tests the trust of URLSession with certificates of OpenSSL.
@Suite struct TrustTests {
    /// Self-signed certificates of server.example, with the pins that `openssl` prints for them.
    private static let certificates: [(kind: String, pin: String, certificate: String)] = [
        (
            "RSA", "4EPAnZuv/6IQq6p3Gqlul1JXRRUXo1/VPYLRa6hQauQ=",
            "MIIDMDCCAhigAwIBAgIUKaSvSHqXEr3yNc/t7bOE0A9InngwDQYJKoZIhvcNAQELBQAwGTEXMBUGA1UEAwwOc2VydmVyLmV4"
                + "YW1wbGUwIBcNMjYxMTI0MDkyMzIzWhgPMjEyNjEwMzEwOTIzMjNaMBkxFzAVBgNVBAMMDnNlcnZlci5leGFtcGxlMIIBIjAN"
                + "BgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA6MAYipC7fs9k9TCtRWBS2s0S2fcMH7Phx5avPi4/ZrtaczduePpqEzz/SS4v"
                + "OQDTfJNkjzjDtJBUsEJXlA3ghyCIfhGVd+kb8UDD1UJOO/mXlscrs5GIWsCjvCUvSvmcFyHycgYK56fBnJCsbhJm3SqOePWd"
                + "XtWq2rxWqMsGq4+3e96F5AdIQbmXbvB6UB6b/8sz8FknSmKfmjo5SYVlryMswMQUCj0AFqf+AGXn8ZvgeHK1EI65ax4tMGuU"
                + "o/T/GJ9WAa2pjysNK4Ua2UEO+ZSjuTYAU8gJXUWDAuffiYTfvxIBjm/ibWCWrD+mXxwkZzMtimXVMzDSQWCyMyfv+QIDAQAB"
                + "o24wbDAdBgNVHQ4EFgQUMGDJ3TSzsKwcYstzLHlyGlIXhjQwHwYDVR0jBBgwFoAUMGDJ3TSzsKwcYstzLHlyGlIXhjQwDwYD"
                + "VR0TAQH/BAUwAwEB/zAZBgNVHREEEjAQgg5zZXJ2ZXIuZXhhbXBsZTANBgkqhkiG9w0BAQsFAAOCAQEAQoXJ7xJ3Ml3+a280"
                + "je8T5gcNHCaVVjtUZKYKc43PLnc9QSycAImyFROaQNf2iZ8Qt/491avtnSU863c3KSaxsbErsMTZhGwMYw63i2hAQnUekqXB"
                + "t0QVrYNBzmOf6dMiWZWzOkuZ0aFKsD4diRAC/RvNjVVPxMjewmNZ/+EIVKiftq8vTALkg94Vd44msYLLjJzoLBTZkAfhko0N"
                + "x3X/Oj5sMp6pmKMnfeyz8VZUAkgHlT8/tKUBKHcVpoTBDzGDvYXZY96J3C61pjhkpviyxHrkCqZUyRZ9S/aecZ0oEBug74mO"
                + "H2Gp2x5VFIIkKLPjJjN7aDNA1tzOWZ3IsinItg=="
        ),
        (
            "P-256", "5QXKiClGHK1201C8dB9aLUtAGxElUcWOAgMK+E/EuXE=",
            "MIIBpDCCAUqgAwIBAgIUaDyBJ/hvC32p3u6rUVpN0/wkRKEwCgYIKoZIzj0EAwIwGTEXMBUGA1UEAwwOc2VydmVyLmV4YW1w"
                + "bGUwIBcNMjYxMTI0MDkyMzIzWhgPMjEyNjEwMzEwOTIzMjNaMBkxFzAVBgNVBAMMDnNlcnZlci5leGFtcGxlMFkwEwYHKoZI"
                + "zj0CAQYIKoZIzj0DAQcDQgAE+B6opofl5LCZPYQvYH9Ch9FkINkapXb7oAgKChU6UYMgqGIYteBQzkDnpdlRpIEUSfNh/qOj"
                + "YEHaPkixl/F5sqNuMGwwHQYDVR0OBBYEFLm/IEI12+IpKw14XWifn4x1gp32MB8GA1UdIwQYMBaAFLm/IEI12+IpKw14XWif"
                + "n4x1gp32MA8GA1UdEwEB/wQFMAMBAf8wGQYDVR0RBBIwEIIOc2VydmVyLmV4YW1wbGUwCgYIKoZIzj0EAwIDSAAwRQIgLksv"
                + "AQMnJBXHKbIP8ZxpKQCBSkP0X6KaxE9aZ7Ao9/8CIQCyFNtNlHc0G7cLCi+y//+1WMrb+hoJeLDu6qE4sboPHA=="
        ),
        (
            "P-384", "URcfxmGx37lYcbOdniv5aUsR6G7gf0uyaXcUHtyVeUE=",
            "MIIB4TCCAWegAwIBAgIUGpD1YA0+ACz9cgMIUuyCMh/OB30wCgYIKoZIzj0EAwIwGTEXMBUGA1UEAwwOc2VydmVyLmV4YW1w"
                + "bGUwIBcNMjYxMTI0MDkyMzIzWhgPMjEyNjEwMzEwOTIzMjNaMBkxFzAVBgNVBAMMDnNlcnZlci5leGFtcGxlMHYwEAYHKoZI"
                + "zj0CAQYFK4EEACIDYgAElBTv7dvKnvPmsHH3MF/eFr7/BU/iDGJxIYplNvXXOD+RY3i71Kug6t5yKjQ7x5h+SVRTgyw5BBNc"
                + "wG1N5p6hHKZ5V8iHdpnzGYsPjRoxCMGV9b2Vb/pXduYq1ZsREYsVo24wbDAdBgNVHQ4EFgQUtANg3mn2b6Us10Uk+LAh6t/e"
                + "NdUwHwYDVR0jBBgwFoAUtANg3mn2b6Us10Uk+LAh6t/eNdUwDwYDVR0TAQH/BAUwAwEB/zAZBgNVHREEEjAQgg5zZXJ2ZXIu"
                + "ZXhhbXBsZTAKBggqhkjOPQQDAgNoADBlAjEAtDf4LwMNmUG3XjZ8aXTMokBfMcFv6P6u9Br+A+wprIHq7Y3ojlM0cTKVIIJX"
                + "iPvjAjAbz76qW+ikXF9Gk/aJF7299v+6A3QdT/D8B+NOoDMBAbb0c1E+Hhc2RBhnXuZY524="
        ),
        (
            "P-521", "IReJg+KTyw43W/0z5tO8Rqx2czVEzL9zk0i9pb47XaA=",
            "MIICLDCCAY2gAwIBAgIUUwZNmwBfKIYiKxXzcIQabfCpzWkwCgYIKoZIzj0EAwIwGTEXMBUGA1UEAwwOc2VydmVyLmV4YW1w"
                + "bGUwIBcNMjYxMTI0MDkyMzI0WhgPMjEyNjEwMzEwOTIzMjRaMBkxFzAVBgNVBAMMDnNlcnZlci5leGFtcGxlMIGbMBAGByqG"
                + "SM49AgEGBSuBBAAjA4GGAAQBEhekEiOQL83ePEn49i9m2J+LTQa02w9KRTwYOpCV5Vap9hNMm/Y5r96Z6eFe7c8lHARckz/R"
                + "CKwtk7o4ojzOEAIAxSgyO7fpaQnBot/54+QtJoIlw7spA6jjIj4U5dC04GQY0YoLjejTmv6ZKyutwaIw9xk1xDVsTs0yuXmE"
                + "2wgpRQWjbjBsMB0GA1UdDgQWBBRwKupIXCR8ky3AcHEei2jC9RomhDAfBgNVHSMEGDAWgBRwKupIXCR8ky3AcHEei2jC9Rom"
                + "hDAPBgNVHRMBAf8EBTADAQH/MBkGA1UdEQQSMBCCDnNlcnZlci5leGFtcGxlMAoGCCqGSM49BAMCA4GMADCBiAJCAIgYCftZ"
                + "bStg2INS1Nxlr9UXwTF8Otr9gsNfQVYMrL/fWkRqov62jsf6A9yswUHFCzkbPyeOYAFRxyWEjolJ+IqTAkIBUtJAd260Blqs"
                + "H8y99/Qwxqs7bKVdnb6UxykOC+2lYi9kMQgedlsy4TXuT/8h9/ieFNOXtyU4cyMM77WdTC7GXC8="
        ),
    ]

    private func certificate(_ text: String) throws -> SecCertificate {
        let data = try #require(Data(base64Encoded: text))
        return try #require(SecCertificateCreateWithData(nil, data as CFData))
    }

    private func trust(_ certificate: String, host: String = "server.example") throws -> SecTrust {
        var trust: SecTrust?
        let chain = [try self.certificate(certificate)]
        #expect(
            SecTrustCreateWithCertificates(chain as CFArray, SecPolicyCreateSSL(true, host), &trust) == errSecSuccess)
        return try #require(trust)
    }

    @Test(arguments: certificates) func `the pin of a certificate is the digest that OpenSSL computes`(
        kind: String, pin: String, certificate: String
    ) throws {
        #expect(PublicKeyPin(of: try self.certificate(certificate)) == PublicKeyPin(pin))
    }

    @Test func `a trusted certificate needs an authority, the right host and a pinned key`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "trust-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let url = try #require(URL(string: "https://server.example/"))
        let (own, other) = (Self.certificates[0], Self.certificates[1])
        let file = folder.appending(path: "ca.pem")
        try Data("-----BEGIN CERTIFICATE-----\n\(own.certificate)\n-----END CERTIFICATE-----\n".utf8).write(to: file)
        func isTrusted(_ pins: [String], caFile: Bool = true, host: String = "server.example") throws -> Bool {
            let identity = try SessionIdentity(
                ServerTrust(caFile: caFile ? file.path : nil, pinnedKeys: Set(pins.compactMap { PublicKeyPin($0) })),
                nil,
                for: url)
            let isTrusted = identity.isTrusted(try trust(own.certificate, host: host), host: host)
            #expect((identity.refusal(url) == nil) == (isTrusted || host != "server.example"))
            return isTrusted
        }
        #expect(try isTrusted([]))
        #expect(try isTrusted([own.pin]) && isTrusted([other.pin, own.pin]))
        #expect(try !isTrusted([other.pin]))
        // A pin does not replace an authority.
        #expect(try !isTrusted([own.pin], caFile: false))
        #expect(try !isTrusted([], host: "elsewhere.example"))
        try Data("no certificate".utf8).write(to: file)
        #expect(throws: HTTPTransportError.self) { try isTrusted([]) }
    }
}
