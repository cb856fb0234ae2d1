// swift-tools-version: 6.0
import PackageDescription

let package = Package(
    name: "directory",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .library(name: "DirectorySearch", targets: ["DirectorySearch"]),
        .library(name: "OAuth2AccountStore", targets: ["OAuth2AccountStore"]),
        .library(name: "OAuth2", targets: ["OAuth2"]),
        .library(name: "JOSE", targets: ["JOSE"]),
        .library(name: "HTTPTransport", targets: ["HTTPTransport"]),
        .library(name: "LocalProvider", targets: ["LocalProvider"]),
        .executable(name: "directory", targets: ["directory"]),
    ],
    targets: [
        // What the system has.
        .systemLibrary(
            name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]),
        .systemLibrary(
            name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"]), .brew(["curl"])]),
        .systemLibrary(
            name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),

        // The house, from the cellar up.
        .target(name: "StrictJSON"),
        .target(name: "HTTPTransport", dependencies: ["CCurl"]),
        .target(name: "JOSE", dependencies: ["COpenSSL", "StrictJSON"]),
        .target(name: "OAuth2", dependencies: ["HTTPTransport", "JOSE", "StrictJSON"]),
        .target(
            name: "OAuth2AccountStore", dependencies: ["CSQLite", "HTTPTransport", "JOSE", "OAuth2", "StrictJSON"]),
        .target(
            name: "DirectorySearch", dependencies: ["HTTPTransport", "OAuth2", "OAuth2AccountStore", "StrictJSON"]),
        .target(
            name: "LocalProvider", dependencies: ["HTTPTransport", "JOSE", "OAuth2AccountStore", "StrictJSON"]),
        .executableTarget(
            name: "directory",
            dependencies: [
                "DirectorySearch", "HTTPTransport", "LocalProvider", "OAuth2", "OAuth2AccountStore", "StrictJSON",
            ]),

        // Small complete programs, each run by a test.
        .executableTarget(
            name: "SignInAndSearch", dependencies: ["DirectorySearch", "OAuth2AccountStore"],
            path: "Examples/SignInAndSearch"),
        .executableTarget(
            name: "WatchAccounts", dependencies: ["OAuth2AccountStore"], path: "Examples/WatchAccounts"),

        // Figures, as ratios against a named peer.
        .executableTarget(
            name: "benchmarks",
            dependencies: ["HTTPTransport", "JOSE", "OAuth2", "OAuth2AccountStore", "StrictJSON"], path: "Benchmarks"),

        // Tests, what they share, and another process for the store's.
        .executableTarget(
            name: "store-process", dependencies: ["HTTPTransport", "OAuth2", "OAuth2AccountStore"],
            path: "Tests/StoreProcess"),
        .target(
            name: "TestSupport", dependencies: ["HTTPTransport", "StrictJSON"], path: "Tests/TestSupport",
            resources: [.copy("Vectors")]),
        .testTarget(name: "StrictJSONTests", dependencies: ["StrictJSON"]),
        .testTarget(name: "HTTPTransportTests", dependencies: ["HTTPTransport", "StrictJSON", "TestSupport"]),
        .testTarget(name: "JOSETests", dependencies: ["JOSE", "StrictJSON", "TestSupport"]),
        .testTarget(
            name: "OAuth2Tests", dependencies: ["HTTPTransport", "JOSE", "OAuth2", "StrictJSON", "TestSupport"]),
        .testTarget(
            name: "OAuth2AccountStoreTests",
            dependencies: [
                "CSQLite", "HTTPTransport", "JOSE", "OAuth2", "OAuth2AccountStore", "StrictJSON", "TestSupport",
                "store-process",
            ],
            exclude: ["Databases"]),
        .testTarget(
            name: "DirectorySearchTests",
            dependencies: ["DirectorySearch", "HTTPTransport", "OAuth2", "StrictJSON", "TestSupport"]),
        .testTarget(
            name: "LocalProviderTests",
            dependencies: ["HTTPTransport", "JOSE", "LocalProvider", "OAuth2AccountStore", "StrictJSON"]),
        .testTarget(
            name: "ExampleTests", dependencies: ["HTTPTransport", "LocalProvider", "SignInAndSearch", "WatchAccounts"]),
        .testTarget(
            name: "DirectoryCommandTests",
            dependencies: [
                "directory", "HTTPTransport", "LocalProvider", "OAuth2AccountStore", "StrictJSON", "TestSupport",
            ]),
    ],
    swiftLanguageModes: [.v6]
)
