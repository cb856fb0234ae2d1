// swift-tools-version: 6.0
import PackageDescription

let package = Package(
    name: "directory",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .library(name: "OAuth2", targets: ["OAuth2"])
    ],
    targets: [
        .systemLibrary(
            name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]),
        .systemLibrary(
            name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"]), .brew(["curl"])]),
        .systemLibrary(
            name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
        .target(name: "StrictJSON"),
        .target(name: "HTTPTransport", dependencies: ["CCurl"]),
        .target(name: "JOSE", dependencies: ["COpenSSL", "StrictJSON"]),
        .target(name: "OAuth2", dependencies: ["HTTPTransport", "JOSE", "StrictJSON"]),
        .testTarget(name: "StrictJSONTests", dependencies: ["StrictJSON"]),
    ],
    swiftLanguageModes: [.v6]
)
