// swift-tools-version: 6.2
import PackageDescription

/// Every room: warnings are errors, unsafe code only where the tidy test allows it.
let strictSettings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
]

func room(_ name: String, _ floor: [Target.Dependency] = [], path: String? = nil) -> Target {
    .target(name: name, dependencies: floor, path: path, swiftSettings: strictSettings)
}

/// Tests are the larger half of the code, and optimizing them would be the larger part of the build. What they test is
/// optimized as in the product: it is compiled once for both.
func suite(_ name: String, _ rooms: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: rooms, swiftSettings: strictSettings + [.unsafeFlags(["-Onone"])])
}

let package = Package(
    name: "carillon",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "carillon", targets: ["carillon"])
    ],
    dependencies: [
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        // Basement 2: the C libraries, and what Swift can't see of them.
        .systemLibrary(name: "CNGHTTP2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .target(name: "CShims"),

        // Basement 1: Swift over C.
        room("Reactor", ["CShims", "PushModel"]),
        room("TLS", ["COpenSSL", "CShims", "Signing", "PushModel"]),
        room("HTTP2", ["CNGHTTP2", "PushModel"]),
        room("Signing", ["COpenSSL", "CShims", "PushModel"]),
        room("Postgres", ["CPostgres", "CShims", "Reactor", "PushModel"]),

        // Floor 0: vocabulary as values.
        room("PushModel"),
        room("JSON", ["PushModel"]),
        room("Encodings", ["PushModel"]),
        room("Calendar", ["PushModel"]),

        // Floor 1: the rules.
        room("DeliveryRules", ["PushModel"]),
        room("FilterExpressions", ["PushModel", "JSON", "Calendar"]),

        // Floor 2: one folder per provider.
        room("APNs", ["PushModel", "JSON", "Encodings", "Calendar", "DeliveryRules"], path: "Sources/Providers/APNs"),
        room("FCM", ["PushModel", "JSON", "Encodings", "Calendar", "DeliveryRules"], path: "Sources/Providers/FCM"),

        // Floor 3: bytes out and answers in; the registry and the queue as named SQL.
        room("Transport", ["PushModel", "DeliveryRules", "Reactor", "TLS", "HTTP2"]),
        .target(
            name: "Migrations", path: "migrations", exclude: ["README.md"],
            resources: [
                .embedInCode("0001_registry.sql"),
                .embedInCode("0002_messages.sql"),
                .embedInCode("0003_parcels.sql"),
                .embedInCode("0004_feedback.sql"),
                .embedInCode("0005_credentials_and_keys.sql"),
                .embedInCode("0006_clocks_and_caps.sql"),
            ],
            swiftSettings: strictSettings),
        room(
            "Store",
            [
                "PushModel", "JSON", "Encodings", "DeliveryRules", "FilterExpressions", "Postgres", "Reactor",
                "Migrations",
            ]),

        // Floor 4: the running service.
        room(
            "Delivery",
            [
                "PushModel", "JSON", "Encodings", "DeliveryRules", "FilterExpressions", "APNs", "FCM", "Reactor",
                "HTTP2", "Transport", "Store",
                .product(name: "Logging", package: "swift-log"),
            ]),
        room("Registry", ["PushModel", "Store"]),
        room(
            "CredentialKeeping",
            [
                "PushModel", "JSON", "Encodings", "DeliveryRules", "APNs", "FCM", "Reactor", "Signing", "TLS", "Store",
                "Transport",
                .product(name: "Logging", package: "swift-log"),
            ]),

        // Floor 5: HTTP in.
        .target(
            name: "GatewayAPI",
            dependencies: [
                "PushModel", "JSON", "Encodings", "Calendar", "DeliveryRules", "FilterExpressions", "APNs", "FCM",
                "Signing", "Store", "Delivery", "Registry", "CredentialKeeping",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "HummingbirdTLS", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            // A link to docs/: what is served is what is written there.
            resources: [.embedInCode("openapi.yaml")], swiftSettings: strictSettings),

        // Annexe: the stand-ins of the providers.
        room(
            "Simulator", ["PushModel", "JSON", "Encodings", "Calendar", "Reactor", "TLS", "HTTP2", "Signing", "APNs"]),
        // And worlds without a clock or a socket in which the rules are tried: what tests look at, and one command.
        room("DrySimulation", ["PushModel", "Encodings", "Calendar", "DeliveryRules", "APNs", "FCM"]),

        // Roof: the commands that ask a gateway; the wiring, and the executable around it.
        room(
            "Commands",
            [
                "PushModel", "JSON", "Encodings", "Calendar", "DeliveryRules", "FilterExpressions", "APNs", "FCM",
                "Reactor", "HTTP2", "TLS", "Postgres", "Transport", "Delivery", "GatewayAPI",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ]),
        room(
            "Gateway",
            [
                "Commands",
                "PushModel", "JSON", "Encodings", "Calendar", "DeliveryRules", "APNs", "FCM", "Reactor", "TLS",
                "Signing",
                "Postgres",
                "Transport", "Store", "Delivery", "Registry", "CredentialKeeping", "GatewayAPI", "Simulator",
                "DrySimulation",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]),
        .executableTarget(name: "carillon", dependencies: ["Gateway"], swiftSettings: strictSettings),

        // Tests. The gateway under faults is the gateway with a hand on its plug; it is not shipped.
        .executableTarget(
            name: "carillon-under-faults", dependencies: ["Commands", "Gateway", "PushModel"],
            path: "Tests/FaultyGateway",
            swiftSettings: strictSettings),
        // What several suites share. It is optimized: generators of random input run in tight loops.
        room(
            "TestSupport", ["FilterExpressions", "Postgres", "PushModel", "Reactor", "TLS"], path: "Tests/Support"),
        suite("TidyTests", []),
        suite("PushModelTests", ["PushModel"]),
        suite("JSONTests", ["JSON", "PushModel", "TestSupport"]),
        suite("EncodingsTests", ["Encodings", "PushModel", "TestSupport"]),
        suite("CalendarTests", ["Calendar", "PushModel"]),
        suite("DeliveryRulesTests", ["DeliveryRules", "PushModel"]),
        suite("FilterExpressionsTests", ["Calendar", "FilterExpressions", "PushModel", "TestSupport"]),
        suite("APNsTests", ["APNs", "Encodings", "JSON", "PushModel", "TestSupport"]),
        suite("FCMTests", ["Encodings", "FCM", "JSON", "PushModel", "TestSupport"]),
        suite("ReactorTests", ["PushModel", "Reactor"]),
        suite("TLSTests", ["PushModel", "Signing", "TLS"]),
        suite("SigningTests", ["Signing"]),
        suite("HTTP2Tests", ["HTTP2"]),
        suite("PostgresTests", ["Postgres", "PushModel", "Reactor", "TestSupport"]),
        // Counts what tests allocate. Of no product: it stands in for malloc where it is linked.
        .target(name: "CAllocationCounter", path: "Tests/AllocationCounter"),
        // And what instructions a thread of theirs takes.
        .target(name: "CInstructionCounter", path: "Tests/InstructionCounter"),
        suite(
            "TransportTests",
            [
                "CAllocationCounter", "CInstructionCounter", "DeliveryRules", "HTTP2", "PushModel", "Reactor", "TLS",
                "Transport",
            ]),
        suite(
            "StoreTests",
            [
                "Calendar", "DeliveryRules", "Encodings", "FilterExpressions", "Postgres", "PushModel", "Reactor",
                "Store", "TestSupport",
            ]),
        suite(
            "SimulationTests",
            [
                "APNs", "DeliveryRules", "DrySimulation", "Encodings", "FCM", "Postgres", "PushModel", "Reactor",
                "Store", "TestSupport",
            ]),
        suite(
            "DeliveryTests",
            [
                "APNs", "CAllocationCounter", "CInstructionCounter", "Delivery", "DeliveryRules", "Encodings", "FCM",
                "FilterExpressions", "HTTP2", "JSON", "PushModel", "Reactor", "Store", "TLS", "TestSupport",
                "Transport",
                .product(name: "Logging", package: "swift-log"),
            ]),
        suite(
            "CredentialKeepingTests",
            [
                "APNs", "CredentialKeeping", "FCM", "PushModel", "Reactor", "Signing", "TLS", "Transport",
                .product(name: "Logging", package: "swift-log"),
            ]),
        suite(
            "SimulatorTests",
            ["Encodings", "HTTP2", "JSON", "PushModel", "Reactor", "Signing", "Simulator", "TestSupport", "TLS"]),
        suite(
            "GatewayAPITests",
            [
                "APNs", "Calendar", "CredentialKeeping", "Delivery", "DeliveryRules", "Encodings", "GatewayAPI", "JSON",
                "Postgres", "PushModel", "Reactor", "Registry", "Signing", "Store", "TLS", "TestSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ]),
        suite("CommandsTests", ["Commands", "JSON"]),
        suite(
            "GatewayTests",
            [
                "Commands", "CredentialKeeping", "FCM", "Gateway", "JSON", "Postgres", "PushModel", "Reactor",
                "Simulator", "TLS",
                "Transport",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]),
        suite("ThreadTests", ["PushModel", "Encodings", "Postgres", "Reactor", "Signing", "TestSupport", "TLS"]),
        suite(
            "JourneyTests",
            [
                "APNs", "Encodings", "FCM", "JSON", "Postgres", "PushModel", "Reactor", "Signing", "Simulator", "TLS",
                "TestSupport",
            ]),
    ]
)
