// swift-tools-version: 6.2
import PackageDescription

// The only description of the project's structure. Tests/TidyTests reads this file as text.

/// The layers, from the bottom up. A target may depend on targets of its own layer and of lower ones.
enum Layer {
    case base, system, values, rules, providers, simulator, adapters, services, http, application, executables, client,
        tests
}

/// The layers whose targets are pure, as is a target marked `isPure`. A pure target has no clock, socket, Foundation or
/// randomness, and only pure dependencies.
let pureLayers: [Layer] = [.values, .rules, .providers]

/// Warnings are errors. Unsafe code is allowed only in the system layer.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
]

func cLibrary(_ name: String, _ layer: Layer, pkgConfig: String, apt: String) -> Target {
    .systemLibrary(name: name, pkgConfig: pkgConfig, providers: [.apt([apt])])
}

func cTarget(_ name: String, _ layer: Layer, path: String? = nil) -> Target {
    .target(name: name, path: path)
}

func target(
    _ name: String, _ layer: Layer, _ dependencies: [Target.Dependency] = [], isPure: Bool = false,
    path: String? = nil, exclude: [String] = [], resources: [Resource] = []
) -> Target {
    .target(
        name: name, dependencies: dependencies, path: path, exclude: exclude, resources: resources,
        swiftSettings: settings)
}

func executable(
    _ name: String, _ layer: Layer, _ dependencies: [Target.Dependency], path: String? = nil
) -> Target {
    .executableTarget(name: name, dependencies: dependencies, path: path, swiftSettings: settings)
}

/// Tests are the larger half of the code, and optimizing them would be the larger part of the build. The code that they
/// test is optimized as in the product: it is compiled once for both.
let testSettings = settings + [.unsafeFlags(["-Onone"])]

func testTarget(
    _ name: String, _ dependencies: [Target.Dependency], path: String? = nil, exclude: [String] = []
) -> Target {
    .testTarget(name: name, dependencies: dependencies, path: path, exclude: exclude, swiftSettings: testSettings)
}

let package = Package(
    name: "carillon",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .executable(name: "carillon", targets: ["carillon"]),
        .library(name: "CarillonClient", targets: ["CarillonClient"]),
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
        // Base: types that every layer may name, and the C libraries with macros and headers that Swift cannot see.
        cLibrary("CNGHTTP2", .base, pkgConfig: "libnghttp2", apt: "libnghttp2-dev"),
        cLibrary("COpenSSL", .base, pkgConfig: "openssl", apt: "libssl-dev"),
        cLibrary("CPostgres", .base, pkgConfig: "libpq", apt: "libpq-dev"),
        cTarget("CShims", .base),
        target("Basis", .base, isPure: true),

        // System: Swift over C, and our own PostgreSQL server.
        target("Reactor", .system, ["CShims", "Basis"]),
        target("Signing", .system, ["COpenSSL"]),
        target("TLS", .system, ["COpenSSL", "Basis", "Signing"]),
        target("HTTP2", .system, ["CNGHTTP2", "Basis"]),
        target("Postgres", .system, ["CPostgres", "Basis", "Reactor"]),
        target("PrivatePostgres", .system, ["CShims", "Basis", "Reactor", "Postgres"]),

        // Values: the vocabulary, and its text formats.
        target("Model", .values, ["Basis"]),
        target("JSON", .values, ["Model"]),
        target("Encodings", .values, ["Basis", "Model"]),
        target("Calendar", .values, ["Basis"]),

        // Rules: every decision, as a value that takes an event and returns actions.
        target("RegistryRules", .rules, ["Basis", "Model", "QueueRules"]),
        target("LaneRules", .rules, ["Basis", "Model"]),
        target("QueueRules", .rules, ["Basis", "Model", "LaneRules"]),
        target("Content", .rules, ["Basis", "Model", "JSON", "Expressions"]),
        target("Expressions", .rules, ["Basis", "Model", "JSON", "Calendar"]),
        target("WakeUpRules", .rules, ["Basis", "Model", "JSON", "Expressions"]),
        target("TriggerRules", .rules, ["Basis", "Model", "JSON", "Content", "Expressions"]),

        // Providers: one folder each.
        target(
            "ProviderInterface", .providers, ["Basis", "Model", "JSON", "Content", "LaneRules", "QueueRules"],
            path: "Sources/Providers/ProviderInterface"),
        target(
            "APNs", .providers, ["Basis", "Model", "JSON", "Encodings", "Content", "QueueRules", "ProviderInterface"],
            path: "Sources/Providers/APNs"),
        target(
            "FCM", .providers,
            ["Basis", "Model", "JSON", "Encodings", "Calendar", "Content", "QueueRules", "ProviderInterface"],
            path: "Sources/Providers/FCM"),
        target(
            "Providers", .providers, ["Model", "ProviderInterface", "APNs", "FCM"], path: "Sources/Providers/Providers"),

        // Beside the layers: simulators of the providers over real TLS and HTTP/2, without any code of the gateway.
        target(
            "Simulator", .simulator,
            ["Basis", "Reactor", "Signing", "TLS", "HTTP2", "Model", "JSON", "Encodings", "Calendar", "APNs"]),

        // Beside the layers: the library for apps. It depends on no other target.
        target("CarillonClient", .client),

        // Adapters: HTTP/2 requests and their answers; the registry and the queue as named SQL.
        target("Lanes", .adapters, ["Basis", "Reactor", "TLS", "HTTP2", "Model", "LaneRules", "ProviderInterface"]),
        target(
            "Store", .adapters,
            [
                "Basis", "Reactor", "Postgres", "Model", "JSON", "Encodings", "RegistryRules", "LaneRules",
                "QueueRules", "Content", "Expressions", "WakeUpRules", "ProviderInterface", "Providers", "Migrations",
                .product(name: "Logging", package: "swift-log"),
            ]),
        // The statements of a service, over Store: a target for each service, so that they compile side by side.
        target(
            "WakeUpStore", .adapters,
            [
                "Basis", "Reactor", "Postgres", "Model", "Encodings", "Expressions", "WakeUpRules", "ProviderInterface",
                "Providers", "Store",
            ]),
        target("TriggerStore", .adapters, ["Basis", "Postgres", "Model", "JSON", "TriggerRules", "Store"]),
        target(
            "Migrations", .adapters, path: "migrations", exclude: ["README.md"],
            resources: [
                .embedInCode("0001_registry.sql"), .embedInCode("0002_messages.sql"), .embedInCode("0003_parcels.sql"),
                .embedInCode("0004_feedback.sql"), .embedInCode("0005_credentials_and_keys.sql"),
                .embedInCode("0006_clocks_and_caps.sql"), .embedInCode("0007_wake_up.sql"),
                .embedInCode("0008_items.sql"),
            ]),

        // Services: the work of the running gateway.
        target("GroupCommit", .services, ["Model"]),
        target("Workers", .services, ["Basis", "Reactor", "Store"]),
        target("CompiledMessages", .services, ["Model", "Content", "ProviderInterface", "Providers", "QueueRules"]),
        target(
            "Credentials", .services,
            [
                "Basis", "Reactor", "Signing", "TLS", "Model", "JSON", "Content", "ProviderInterface", "Providers",
                "Lanes",
                "Store", .product(name: "Logging", package: "swift-log"),
            ]),
        target("Registry", .services, ["Model", "Store", "GroupCommit"]),
        target(
            "WakeUp", .services,
            [
                "Basis", "Reactor", "Signing", "Model", "JSON", "Encodings", "Content", "Expressions", "WakeUpRules",
                "ProviderInterface", "Providers", "Store", "WakeUpStore", "GroupCommit", "Workers", "CompiledMessages",
                "Credentials", "Delivery", .product(name: "Logging", package: "swift-log"),
            ]),
        target(
            "Triggers", .services,
            [
                "Reactor", "Model", "Encodings", "Content", "TriggerRules", "Store", "TriggerStore", "GroupCommit",
                "Workers", "CompiledMessages", "Delivery", .product(name: "Logging", package: "swift-log"),
            ]),
        target(
            "Delivery", .services,
            [
                "Basis", "Reactor", "TLS", "Model", "Encodings", "RegistryRules", "LaneRules", "QueueRules", "Content",
                "ProviderInterface", "Providers", "Lanes", "Store", "GroupCommit", "Workers", "CompiledMessages",
                "Credentials",
                .product(name: "Logging", package: "swift-log"),
            ]),

        // HTTP: requests read into values; connections and their limits; the API. The contract is a link to docs/, so
        // that the served document is the written one. It is compiled as an array of numbers, which takes long: beside
        // other targets.
        target("Documents", .http, resources: [.embedInCode("openapi.yaml")]),
        target(
            "Requests", .http,
            [
                "Basis", "Signing", "Model", "JSON", "Encodings", "Calendar", "Content", "Expressions", "TriggerRules",
                "ProviderInterface", "Providers",
            ]),
        target(
            "Listener", .http,
            [
                "Requests", .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"), .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"), .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]),
        target(
            "API", .http,
            [
                "Basis", "Signing", "Postgres", "Model", "JSON", "Encodings", "Calendar", "Content", "Expressions",
                "WakeUpRules", "TriggerRules", "ProviderInterface", "Providers", "Store", "WakeUpStore", "TriggerStore",
                "CompiledMessages", "Credentials", "Registry", "Delivery", "WakeUp", "Triggers", "Requests", "Listener",
                "Documents",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"), .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]),

        // Application: the commands that call a gateway; settings, wiring and the commands that serve.
        target(
            "CommandLine", .application,
            [
                "Basis", "Reactor", "Model", "JSON", "Encodings", "Calendar", "QueueRules", "Content",
                "ProviderInterface", "Providers", "CompiledMessages", "Requests",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ]),
        target(
            "Server", .application,
            [
                "Basis", "Reactor", "Signing", "TLS", "Postgres", "PrivatePostgres", "Model", "JSON", "Encodings",
                "Calendar", "RegistryRules", "QueueRules", "ProviderInterface", "Providers", "Simulator", "Lanes",
                "Store", "WakeUpStore", "TriggerStore", "Credentials", "Registry", "Delivery", "WakeUp", "Triggers",
                "Requests", "Listener", "API", "CommandLine",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Logging", package: "swift-log"), .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"), .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ]),

        // Executables. The benchmarks are built from source and not installed.
        executable("carillon", .executables, ["Server"]),
        executable(
            "carillon-bench", .executables,
            [
                "Basis", "Reactor", "TLS", "Signing", "Postgres", "PrivatePostgres", "Model", "JSON", "Encodings",
                "Calendar", "TriggerRules", "ProviderInterface", "Lanes",
                "CommandLine", .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
            ], path: "Sources/Bench"),

        // Programs that tests and developers run. None of them is shipped.
        cTarget("CAllocationCounter", .tests, path: "Tests/AllocationCounter"),
        // Code that several suites share. It is optimized: generators of random input run in tight loops.
        target(
            "TestSupport", .tests,
            ["Basis", "Reactor", "TLS", "HTTP2", "Postgres", "PrivatePostgres", "JSON", "Model", "Expressions"],
            path: "Tests/Support"),
        target(
            "Worlds", .tests,
            [
                "Basis", "Model", "JSON", "Encodings", "Calendar", "RegistryRules", "LaneRules", "QueueRules",
                "WakeUpRules", "TriggerRules", "Content", "ProviderInterface", "APNs", "FCM",
            ], path: "Tests/Worlds"),
        executable(
            "carillon-worlds", .tests,
            ["CommandLine", "Worlds", .product(name: "ArgumentParser", package: "swift-argument-parser")],
            path: "Tests/WorldsProgram"),
        executable(
            "carillon-under-faults", .tests,
            [
                "Model", "CommandLine", "Server", .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ], path: "Tests/FaultyGateway"),

        testTarget(
            "APITests",
            [
                "Basis", "Reactor", "Signing", "TLS", "Postgres", "Model", "JSON", "Encodings", "Calendar",
                "RegistryRules", "QueueRules", "Content", "ProviderInterface", "APNs", "Store", "WakeUpStore",
                "TriggerStore", "Credentials", "Registry", "WakeUpRules", "TriggerRules", "Delivery", "WakeUp",
                "Triggers",
                "Requests", "Listener", "Documents", "API", "TestSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"), .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"), .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]),
        testTarget(
            "APNsTests",
            ["Basis", "Model", "JSON", "Encodings", "Content", "ProviderInterface", "APNs", "TestSupport"]),
        testTarget("BasisTests", ["Basis"]),
        testTarget("BenchTests", ["carillon-bench"]),
        testTarget("CalendarTests", ["Basis", "Calendar"]),
        testTarget("CarillonClientTests", ["CarillonClient"]),
        testTarget(
            "CommandLineTests",
            ["Basis", "Calendar", "JSON", "Model", "ProviderInterface", "APNs", "FCM", "CommandLine"]),
        testTarget("ContentTests", ["Basis", "Model", "JSON", "Content", "Expressions", "TestSupport"]),
        testTarget(
            "CredentialsTests",
            [
                "Basis", "Reactor", "Signing", "TLS", "Model", "JSON", "Content", "ProviderInterface", "APNs", "FCM",
                "Credentials",
                .product(name: "Logging", package: "swift-log"),
            ]),
        testTarget(
            "DeliveryTests",
            [
                "CAllocationCounter", "Basis", "Reactor", "TLS", "HTTP2", "Model", "JSON", "Encodings",
                "LaneRules", "QueueRules", "Content", "ProviderInterface", "APNs", "FCM", "Lanes", "Store",
                "Workers", "CompiledMessages", "Credentials", "Delivery", "TestSupport",
                .product(name: "Logging", package: "swift-log"),
            ]),
        testTarget("EncodingsTests", ["Basis", "Model", "Encodings", "TestSupport"]),
        testTarget("ExpressionsTests", ["Basis", "Model", "JSON", "Calendar", "Expressions", "TestSupport"]),
        testTarget(
            "FCMTests",
            ["Basis", "Model", "JSON", "Encodings", "Content", "ProviderInterface", "FCM", "TestSupport"]),
        testTarget("HTTP2Tests", ["HTTP2"]),
        testTarget("JSONTests", ["JSON", "TestSupport"]),
        testTarget(
            "JourneyTests",
            [
                "Basis", "Reactor", "Signing", "TLS", "Postgres", "PrivatePostgres", "Model", "JSON", "Encodings",
                "APNs", "FCM", "Simulator", "TestSupport",
            ]),
        testTarget("LaneRulesTests", ["Basis", "Model", "LaneRules"]),
        testTarget(
            "LanesTests",
            [
                "CAllocationCounter", "Basis", "Reactor", "TLS", "Model", "LaneRules", "ProviderInterface",
                "Lanes", "TestSupport",
            ]),
        testTarget("ModelTests", ["Basis", "Model"]),
        testTarget("PostgresTests", ["Basis", "Reactor", "Postgres", "PrivatePostgres", "TestSupport"]),
        testTarget("QueueRulesTests", ["Basis", "Model", "LaneRules", "QueueRules"]),
        testTarget("ReactorTests", ["Basis", "Reactor"]),
        testTarget("RegistryRulesTests", ["Basis", "Model", "RegistryRules", "QueueRules"]),
        testTarget(
            "ServerTests",
            [
                "Basis", "Reactor", "TLS", "Postgres", "Model", "JSON", "QueueRules", "ProviderInterface", "Providers",
                "Simulator", "Store", "WakeUpStore", "Credentials", "CommandLine", "Server",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"), .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"), .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]),
        testTarget("SigningTests", ["Signing"]),
        testTarget(
            "SimulationTests",
            [
                "Basis", "Signing", "Postgres", "Model", "JSON", "Encodings", "RegistryRules", "QueueRules",
                "WakeUpRules", "TriggerRules", "Store", "WakeUpStore", "TriggerStore", "Worlds", "TestSupport",
            ]),
        testTarget(
            "SimulatorTests",
            ["Basis", "Reactor", "Signing", "TLS", "HTTP2", "Model", "JSON", "Encodings", "Simulator", "TestSupport"]),
        testTarget(
            "StoreTests",
            [
                "Basis", "Reactor", "Signing", "Postgres", "Model", "JSON", "Encodings", "Calendar", "RegistryRules",
                "LaneRules", "QueueRules", "Content", "Expressions", "WakeUpRules", "TriggerRules", "Store",
                "WakeUpStore",
                "TriggerStore", "GroupCommit", "Registry", "TestSupport",
            ]),
        testTarget("WakeUpRulesTests", ["Basis", "Model", "JSON", "Expressions", "WakeUpRules", "TestSupport"]),
        testTarget("TLSTests", ["Basis", "Signing", "TLS"]),
        testTarget(
            "ThreadTests", ["Basis", "Reactor", "Signing", "TLS", "Postgres", "Model", "Encodings", "TestSupport"]),
        testTarget("TidyTests", [], exclude: ["retired-words.txt"]),
        testTarget(
            "TriggerRulesTests", ["Basis", "Model", "JSON", "Content", "TriggerRules", "TestSupport"]),
        testTarget(
            "TriggersTests",
            [
                "Basis", "Model", "JSON", "Content", "TriggerRules", "ProviderInterface", "Providers",
                "CompiledMessages", "Triggers", "TestSupport",
            ]),
        testTarget(
            "WakeUpTests",
            [
                "Basis", "Signing", "Model", "JSON", "Encodings", "WakeUpRules", "ProviderInterface", "Providers",
                "WakeUp", "TestSupport",
            ]),
    ]
)
