#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// nginx on 127.0.0.1 with a separate folder: small responses at `/small`, and files under `/files/`, which also
/// accepts PUT.
struct Nginx {
    let url: String
    private let program: Program
    private let folder: TemporaryFolder

    /// Creates and starts the server. Call ``stop()`` at the end.
    init(in folder: TemporaryFolder, environment: [String: String]) throws {
        self.folder = folder
        var environment = environment
        environment["PATH"] = (environment["PATH"] ?? "/usr/bin:/bin") + ":/usr/sbin"
        for name in ["files", "temporary"] {
            try FileManager.default.createDirectory(atPath: "\(folder.path)/\(name)", withIntermediateDirectories: true)
        }
        program = Program(
            path: try Program.find("nginx", in: environment),
            arguments: ["-p", folder.path, "-c", "\(folder.path)/nginx.conf", "-e", "\(folder.path)/error.log"],
            environment: environment)
        var attempts = 0
        while true {
            let port = Int.random(in: 20_000...30_000)
            try folder.write(Self.configuration(folder.path, port), to: "nginx.conf")
            do {
                _ = try program.run()
                url = "http://127.0.0.1:\(port)"
                return
            } catch {
                // Another process may use the port.
                attempts += 1
                if attempts == 5 { throw error }
            }
        }
    }

    func stop() {
        var stopping = program
        stopping.arguments += ["-s", "stop"]
        _ = try? stopping.run()
    }

    private static func configuration(_ folder: String, _ port: Int) -> String {
        """
        \(geteuid() == 0 ? "user root;" : "")
        worker_processes 1;
        pid \(folder)/pid;
        events { worker_connections 512; }
        http {
            access_log off;
            sendfile on;
            keepalive_requests 1000000;
            client_max_body_size 0;
            client_body_temp_path \(folder)/temporary;
            proxy_temp_path \(folder)/temporary/1;
            fastcgi_temp_path \(folder)/temporary/2;
            uwsgi_temp_path \(folder)/temporary/3;
            scgi_temp_path \(folder)/temporary/4;
            server {
                listen 127.0.0.1:\(port);
                location = /small {
                    default_type application/json;
                    return 200 '{"id":"87d349ed-44d7-43e1-9a83-5f2406dee5bd","displayName":"Ada Lovelace"}';
                }
                location /files/ {
                    root \(folder);
                    dav_methods PUT;
                }
            }
        }
        """
    }
}
