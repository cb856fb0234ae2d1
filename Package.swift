// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "lodge",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .library(name: "DirectorySearch", targets: ["DirectorySearch"]),
        .library(name: "OAuth2AccountStore", targets: ["OAuth2AccountStore"]),
        .library(name: "OAuth2AccountStoreTesting", targets: ["OAuth2AccountStoreTesting"]),
        .library(name: "FoundationTransport", targets: ["FoundationTransport"]),
        .library(name: "URLSessionHTTP", targets: ["URLSessionHTTP"]),
        .library(name: "AccountStoreUI", targets: ["AccountStoreUI"]),
        .library(name: "AppleSignIn", targets: ["AppleSignIn"]),
        .library(name: "HTTPExchange", targets: ["HTTPExchange"]),
        .library(name: "CurlHTTP", targets: ["CurlHTTP"]),
        .library(name: "LocalProvider", targets: ["LocalProvider"]),
        .library(name: "FleetStorage", targets: ["FleetStorage"]),
        .executable(name: "lodge", targets: ["lodge"]),
    ],
    traits: [
        .trait(
            name: "NotificationCenter",
            description:
                "Events go to NotificationCenter too. Needs all of Foundation, which is 45 MB in a static program on Linux."
        ),
        .default(enabledTraits: ["NotificationCenter"]),
    ],
    targets: [
        // What the system has.
        .systemLibrary(
            name: "CLodgeOpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]),
        .systemLibrary(
            name: "CLodgeSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
        .systemLibrary(name: "CNCurses", providers: [.apt(["libncurses-dev"]), .brew(["ncurses"])]),

        // libcurl, loaded when it is first called.
        .target(name: "CLodgeCurl", linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]),

        // The system calls of the agent.
        .target(name: "CLodgeAgent"),

        // The house, from the cellar up.
        .target(name: "StrictJSON"),
        .target(name: "AgentProtocol", dependencies: ["CLodgeAgent", "StrictJSON"]),
        .target(name: "AccountAgent", dependencies: ["AgentProtocol", "CLodgeAgent", "StrictJSON"]),
        // What the program and its launcher share.
        .target(name: "LodgeAgent", dependencies: ["AccountAgent", "AgentProtocol", "CLodgeAgent", "StrictJSON"]),
        .target(name: "LodgePlatform"),
        .target(name: "HTTPExchange", dependencies: ["LodgePlatform", "StrictJSON"]),
        .target(name: "CurlHTTP", dependencies: ["CLodgeCurl", "HTTPExchange", "LodgePlatform"]),
        .target(name: "URLSessionHTTP", dependencies: ["HTTPExchange", "LodgePlatform"]),
        // On Apple platforms it uses CryptoKit and Security.
        .target(
            name: "JOSE",
            dependencies: [
                "LodgePlatform", "StrictJSON", .target(name: "CLodgeOpenSSL", condition: .when(platforms: [.linux])),
            ]),
        .target(name: "LoopbackHTTP", dependencies: ["LodgePlatform", "HTTPExchange"]),
        .target(name: "OAuth2Protocol", dependencies: ["LodgePlatform", "HTTPExchange", "JOSE", "StrictJSON"]),
        // On Apple platforms it uses the SQLite of the SDK.
        .target(
            name: "SealedStorage",
            dependencies: [
                "JOSE", "LodgePlatform", .target(name: "CLodgeSQLite", condition: .when(platforms: [.linux])),
            ]),
        .target(name: "AccountKeys", dependencies: ["JOSE", "LodgePlatform", "SealedStorage", "StrictJSON"]),
        .target(
            name: "ProviderSettings",
            dependencies: ["HTTPExchange", "JOSE", "OAuth2Protocol", "LodgePlatform", "StrictJSON"],
            resources: [.embedInCode("Presets")]),
        .target(
            name: "OAuth2AccountStore",
            dependencies: [
                "AccountKeys", "HTTPExchange", "JOSE", "LoopbackHTTP", "OAuth2Protocol", "LodgePlatform",
                "ProviderSettings", "SealedStorage", "StrictJSON",
                .target(name: "CurlHTTP", condition: .when(platforms: [.linux])),
                .target(name: "URLSessionHTTP", condition: .when(platforms: [.macOS, .iOS])),
            ]),
        .target(
            name: "FleetStorage", dependencies: ["JOSE", "LodgePlatform", "SealedStorage"],
            linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]),
        .target(
            name: "DirectorySearch",
            dependencies: ["LodgePlatform", "HTTPExchange", "OAuth2Protocol", "OAuth2AccountStore", "StrictJSON"]),
        .target(
            name: "Diagnostics",
            dependencies: [
                "AccountKeys", "HTTPExchange", "JOSE", "OAuth2AccountStore", "OAuth2Protocol", "LodgePlatform",
                "ProviderSettings",
                "SealedStorage", "StrictJSON",
            ]),
        .target(
            name: "LocalProvider",
            dependencies: ["LodgePlatform", "HTTPExchange", "JOSE", "LoopbackHTTP", "StrictJSON"]),
        .target(
            name: "FoundationTransport",
            dependencies: ["LodgePlatform", "HTTPExchange", "OAuth2Protocol", "OAuth2AccountStore", "URLSessionHTTP"]),
        // Empty on systems without AuthenticationServices.
        .target(name: "AppleSignIn", dependencies: ["LodgePlatform", "OAuth2AccountStore"]),
        .target(name: "AccountStoreUI", dependencies: ["OAuth2AccountStore"]),
        .target(
            name: "OAuth2AccountStoreTesting",
            dependencies: [
                "LodgePlatform", "HTTPExchange", "LocalProvider", "OAuth2Protocol", "OAuth2AccountStore", "StrictJSON",
            ]),
        .target(name: "CommandLineKit", dependencies: ["LodgePlatform", "StrictJSON"]),
        .target(
            name: "TerminalBrowser",
            dependencies: ["CNCurses", "CommandLineKit", "DirectorySearch", "LodgePlatform"]),
        .executableTarget(
            name: "lodge",
            dependencies: [
                "AgentProtocol", "CLodgeAgent", "CommandLineKit", "CurlHTTP", "Diagnostics", "DirectorySearch",
                "FleetStorage", "HTTPExchange", "JOSE", "LocalProvider", "LodgeAgent", "LoopbackHTTP",
                "OAuth2Protocol",
                "OAuth2AccountStore", "LodgePlatform", "StrictJSON", "TerminalBrowser",
            ]),

        // The command of an installation on Linux, a small static program that asks the agent or starts `lodge`.
        .executableTarget(name: "lodge-launcher", dependencies: ["AgentProtocol", "LodgeAgent"]),

        // Small complete programs, each run by a test.
        .executableTarget(
            name: "SignInAndSearch", dependencies: ["DirectorySearch", "OAuth2AccountStore"],
            path: "Examples/SignInAndSearch"),
        .executableTarget(
            name: "WatchAccounts", dependencies: ["OAuth2AccountStore"], path: "Examples/WatchAccounts"),
        .executableTarget(
            name: "SendRequest", dependencies: ["HTTPExchange", "OAuth2AccountStore"], path: "Examples/SendRequest"),
        .executableTarget(
            name: "SignInServer", dependencies: ["OAuth2AccountStore"], path: "Examples/SignInServer"),
        .executableTarget(
            name: "DeviceSignIn", dependencies: ["OAuth2AccountStore"], path: "Examples/DeviceSignIn"),
        .executableTarget(
            name: "PlainOAuth2", dependencies: ["OAuth2AccountStore"], path: "Examples/PlainOAuth2"),
        .executableTarget(
            name: "EditProfile", dependencies: ["OAuth2AccountStore"], path: "Examples/EditProfile"),
        .executableTarget(
            name: "AppWindow", dependencies: ["OAuth2AccountStore"], path: "Examples/AppWindow"),
        // The program of the tutorial, in its last step.
        .executableTarget(
            name: "PeopleBrowser", dependencies: ["DirectorySearch", "OAuth2AccountStore"],
            path: "Sources/DirectorySearch/DirectorySearch.docc/Resources/PeopleBrowser",
            exclude: (1...5).map { "PeopleBrowser-\($0).swift" }),

        // Figures, as ratios against a named peer.
        .executableTarget(
            name: "benchmarks",
            dependencies: [
                "AgentProtocol", "CLodgeAgent", "CurlHTTP", "CLodgeSQLite", "DirectorySearch", "HTTPExchange", "JOSE",
                "LocalProvider", "LoopbackHTTP", "OAuth2Protocol",
                "OAuth2AccountStore", "StrictJSON",
            ], path: "Benchmarks", exclude: ["Peers"]),

        // Tests, what they share, and another process for the store's.
        .executableTarget(
            name: "store-process",
            dependencies: ["HTTPExchange", "LoopbackHTTP", "OAuth2Protocol", "OAuth2AccountStore", "FleetStorage"],
            path: "Tests/StoreProcess"),
        .target(
            name: "TestSupport", dependencies: ["HTTPExchange", "StrictJSON"], path: "Tests/TestSupport",
            resources: [.copy("Certificates"), .copy("Vectors")]),
        .target(name: "StorageSuite", dependencies: ["SealedStorage", "TestSupport"], path: "Tests/StorageSuite"),
        .target(
            name: "StoreTestSupport",
            dependencies: [
                "AccountKeys", "HTTPExchange", "JOSE", "OAuth2AccountStore", "OAuth2Protocol", "LodgePlatform",
                "ProviderSettings", "SealedStorage", "StorageSuite", "StrictJSON", "TestSupport",
            ], path: "Tests/StoreTestSupport"),
        .testTarget(name: "StrictJSONTests", dependencies: ["StrictJSON"]),
        .testTarget(
            name: "AccountAgentTests", dependencies: ["AccountAgent", "AgentProtocol", "CLodgeAgent", "StrictJSON"]),
        .testTarget(name: "HTTPExchangeTests", dependencies: ["HTTPExchange", "StrictJSON", "TestSupport"]),
        .testTarget(
            name: "LoopbackHTTPTests", dependencies: ["HTTPExchange", "LoopbackHTTP", "StrictJSON", "TestSupport"]),
        .testTarget(name: "CurlHTTPTests", dependencies: ["CurlHTTP", "HTTPExchange", "StrictJSON", "TestSupport"]),
        .testTarget(name: "JOSETests", dependencies: ["JOSE", "StrictJSON", "TestSupport"]),
        .testTarget(
            name: "OAuth2ProtocolTests",
            dependencies: ["HTTPExchange", "JOSE", "OAuth2Protocol", "StrictJSON", "TestSupport"]),
        .testTarget(
            name: "SealedStorageTests", dependencies: ["LodgePlatform", "SealedStorage", "StorageSuite", "TestSupport"]),
        .testTarget(
            name: "AccountKeysTests",
            dependencies: ["AccountKeys", "JOSE", "LodgePlatform", "SealedStorage", "TestSupport"]
        ),
        .testTarget(
            name: "ProviderSettingsTests",
            dependencies: [
                "HTTPExchange", "OAuth2Protocol", "LodgePlatform", "ProviderSettings", "StrictJSON", "TestSupport",
            ]),
        .testTarget(
            name: "OAuth2AccountStoreTests",
            dependencies: [
                "CLodgeSQLite", "HTTPExchange", "JOSE", "LoopbackHTTP", "OAuth2Protocol", "OAuth2AccountStore",
                "StorageSuite", "StoreTestSupport", "StrictJSON", "TestSupport", "store-process",
            ],
            exclude: ["Databases"]),
        .testTarget(
            name: "DiagnosticsTests",
            dependencies: [
                "Diagnostics", "HTTPExchange", "JOSE", "LoopbackHTTP", "OAuth2AccountStore", "OAuth2Protocol",
                "StoreTestSupport", "StrictJSON", "TestSupport",
            ]),
        .testTarget(
            name: "OAuth2AccountStoreTestingTests",
            dependencies: ["HTTPExchange", "OAuth2Protocol", "OAuth2AccountStore", "OAuth2AccountStoreTesting"]),
        .testTarget(
            name: "URLSessionHTTPTests",
            dependencies: ["HTTPExchange", "LoopbackHTTP", "TestSupport", "URLSessionHTTP"]),
        .testTarget(
            name: "FoundationTransportTests",
            dependencies: [
                "FoundationTransport", "HTTPExchange", "LocalProvider", "LoopbackHTTP", "OAuth2AccountStore",
                "OAuth2AccountStoreTesting", "TestSupport",
            ]),
        .testTarget(
            name: "AccountStoreUITests",
            dependencies: ["AccountStoreUI", "OAuth2AccountStore", "OAuth2AccountStoreTesting", "TestSupport"]),
        .testTarget(
            name: "FleetStorageTests",
            dependencies: [
                "HTTPExchange", "LoopbackHTTP", "OAuth2Protocol", "OAuth2AccountStore", "FleetStorage", "StorageSuite",
                "TestSupport", "store-process",
            ]),
        .testTarget(
            name: "DirectorySearchTests",
            dependencies: [
                "CurlHTTP", "DirectorySearch", "HTTPExchange", "LocalProvider", "OAuth2Protocol", "OAuth2AccountStore",
                "OAuth2AccountStoreTesting",
                "StrictJSON",
                "TestSupport",
            ]),
        .testTarget(
            name: "LocalProviderTests",
            dependencies: [
                "CurlHTTP", "HTTPExchange", "JOSE", "LocalProvider", "LoopbackHTTP", "LodgePlatform", "StrictJSON",
                "TestSupport",
            ]),
        .testTarget(
            name: "ExampleTests",
            dependencies: [
                "AppWindow", "CurlHTTP", "DeviceSignIn", "PeopleBrowser", "EditProfile", "HTTPExchange",
                "LocalProvider", "PlainOAuth2", "SendRequest", "SignInAndSearch", "SignInServer", "TestSupport",
                "WatchAccounts",
            ]),
        .testTarget(
            name: "CommandLineKitTests", dependencies: ["CommandLineKit", "LodgePlatform", "StrictJSON"]),
        .testTarget(
            name: "TerminalBrowserTests",
            dependencies: ["CommandLineKit", "DirectorySearch", "StrictJSON", "TerminalBrowser"]),
        .testTarget(
            name: "LodgeTests",
            dependencies: [
                "AgentProtocol", "CommandLineKit", "lodge", "HTTPExchange", "JOSE", "LocalProvider", "LodgeAgent",
                "LoopbackHTTP",
                "OAuth2AccountStore",
                "StrictJSON", "TerminalBrowser", "TestSupport",
            ]),
    ],
    swiftLanguageModes: [.v6]
)
