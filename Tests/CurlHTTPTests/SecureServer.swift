import Foundation
import TestSupport

/// Certificates that the `openssl` command creates, in a folder that is deleted when the process exits.
final class CertificateFolder: Sendable {
    let folder: URL

    /// Shared by all suites, because creation takes a second.
    static let shared: Result<CertificateFolder, any Error> = Result {
        let certificates = try CertificateFolder()
        atexit { try? CertificateFolder.shared.get().remove() }
        return certificates
    }

    /// Creates the authority `ca.pem`, the certificates `good` (for loopback), `other` (for another host) and
    /// `expired`, which it signs, and the self-signed `self`.
    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "certificates-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        let here = "subjectAltName=IP:127.0.0.1,DNS:localhost"
        try openssl(
            ["req", "-x509"] + new + ["-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=Test CA", "-days", "2"])
        try openssl(
            ["req", "-x509"] + new
                + ["-keyout", "self.key", "-out", "self.pem", "-subj", "/CN=self", "-days", "2", "-addext", here])
        for (name, subject, days) in [
            ("good", here, "2"), ("other", "subjectAltName=DNS:other.example", "2"), ("expired", here, "-1"),
        ] {
            try Data(subject.utf8).write(to: folder.appending(path: "\(name).ext"))
            try openssl(
                ["req", "-new"] + new + ["-keyout", "\(name).key", "-out", "\(name).csr", "-subj", "/CN=\(name)"])
            try openssl([
                "x509", "-req", "-in", "\(name).csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days",
                days,
                "-extfile", "\(name).ext", "-out", "\(name).pem",
            ])
        }
    }

    deinit { remove() }

    private func remove() { try? FileManager.default.removeItem(at: folder) }

    func path(_ name: String) -> String { folder.appending(path: name).path(percentEncoded: false) }

    /// Writes a file into the folder and returns its path.
    func write(_ name: String, _ content: Data) throws -> String {
        try content.write(to: folder.appending(path: name))
        return path(name)
    }

    /// Creates a folder with this certificate under the name that OpenSSL expects.
    func hashedFolder(of name: String) throws -> String {
        let new = folder.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: new, withIntermediateDirectories: true)
        try FileManager.default.copyItem(
            at: folder.appending(path: "\(name).pem"), to: new.appending(path: "\(name).pem"))
        try openssl(["rehash", new.path(percentEncoded: false)])
        return new.path(percentEncoded: false)
    }

    func openssl(_ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["openssl"] + arguments
        process.currentDirectoryURL = folder
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.limit()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw CocoaError(.executableLoad) }
    }
}

/// An `openssl s_server` process on 127.0.0.1 that responds to GET with a page about the connection.
final class SecureServer {
    let port: Int
    private let process = Process()
    private let output: Pipe

    init(_ certificates: CertificateFolder, _ name: String, options: [String] = []) throws {
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments =
            ["openssl", "s_server", "-accept", "127.0.0.1:0", "-www", "-cert", "\(name).pem", "-key", "\(name).key"]
            + options
        process.currentDirectoryURL = certificates.folder
        let output = Pipe()
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.limit(seconds: 600)
        var text = ""
        var port: Int?
        while port == nil {
            let more = output.fileHandleForReading.availableData
            guard !more.isEmpty else { throw CocoaError(.executableLoad) }
            text += String(decoding: more, as: UTF8.self)
            port = text.split(separator: "\n").first { $0.hasPrefix("ACCEPT") && text.hasSuffix("\n") }
                .flatMap { $0.split(separator: ":").last }.flatMap { Int($0) }
        }
        self.port = port ?? 0
        // The rest of its output is short enough for the pipe.
        self.output = output
    }

    deinit {
        // Not SIGTERM: the child inherits the blocked signals of the thread that started it.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    func url(_ host: String = "127.0.0.1") -> URL { CurlHTTPTests.url("https://\(host):\(port)/") }
}
