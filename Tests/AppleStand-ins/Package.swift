// swift-tools-version: 6.2
import PackageDescription

// Modules with the names and signatures of Apple's frameworks, so that Linux compiles and runs the code for Apple platforms.
// Only .ci/apple-check uses this package. The product's manifest does not name it.
let package = Package(
    name: "AppleStand-ins",
    products: ["AuthenticationServices", "CryptoKit", "Darwin", "Security"].map {
        .library(name: $0, type: .static, targets: [$0])
    },
    targets: [
        .systemLibrary(name: "StandInOpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .target(name: "CryptoKit", dependencies: ["StandInOpenSSL"]),
        .target(name: "Security", dependencies: ["StandInOpenSSL"]),
        .target(name: "AuthenticationServices"),
        .target(name: "Darwin"),
    ],
    swiftLanguageModes: [.v6]
)
