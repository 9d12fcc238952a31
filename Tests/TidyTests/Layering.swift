/// The house as drawn in docs/architecture.md: which room stands on which floor and may use what.
struct ModuleRule {
    let name: String
    let layer: Layer
    /// Rooms of this house, and libraries from outside.
    let mayImport: [String]
    /// Where its sources lie, from the project's root.
    let folder: String

    init(_ name: String, _ layer: Layer, _ mayImport: [String], folder: String? = nil) {
        self.name = name
        self.layer = layer
        self.mayImport = mayImport
        self.folder = folder ?? "Sources/\(name)"
    }
}

/// From the ground up. Imports go down.
enum Layer: Int, Comparable {
    case cLibraries, basement, vocabulary, rules, providers, ends, service, api, annexe, roof, executable, tests

    static func < (left: Layer, right: Layer) -> Bool { left.rawValue < right.rawValue }

    /// No clock, no socket, no Foundation, no randomness, nothing whose order changes from run to run.
    var isPure: Bool { self == .vocabulary || self == .rules || self == .providers }
    /// The only floor where `unsafe` may be written.
    var mayBeUnsafe: Bool { self == .basement }
}

enum Layering {
    static let moduleRules: [ModuleRule] = [
        ModuleRule("CNGHTTP2", .cLibraries, []),
        ModuleRule("COpenSSL", .cLibraries, []),
        ModuleRule("CPostgres", .cLibraries, []),
        ModuleRule("CShims", .cLibraries, []),
        // Of tests alone.
        ModuleRule("CAllocationCounter", .cLibraries, [], folder: "Tests/AllocationCounter"),
        ModuleRule("CInstructionCounter", .cLibraries, [], folder: "Tests/InstructionCounter"),

        ModuleRule("Reactor", .basement, ["CShims", "PushModel", "Glibc", "Synchronization"]),
        ModuleRule("TLS", .basement, ["COpenSSL", "CShims", "PushModel", "Signing", "Glibc", "Synchronization"]),
        ModuleRule("HTTP2", .basement, ["CNGHTTP2", "PushModel", "Glibc"]),
        ModuleRule("Signing", .basement, ["COpenSSL", "CShims", "PushModel", "Glibc", "Synchronization"]),
        ModuleRule("Postgres", .basement, ["CPostgres", "CShims", "PushModel", "Reactor", "Glibc", "Synchronization"]),

        ModuleRule("PushModel", .vocabulary, []),
        ModuleRule("JSON", .vocabulary, ["PushModel"]),
        ModuleRule("Encodings", .vocabulary, ["PushModel"]),
        ModuleRule("Calendar", .vocabulary, ["PushModel"]),

        ModuleRule("DeliveryRules", .rules, ["PushModel"]),
        ModuleRule("FilterExpressions", .rules, ["PushModel", "JSON", "Calendar"]),

        ModuleRule(
            "APNs", .providers, ["PushModel", "JSON", "Encodings", "Calendar", "DeliveryRules"],
            folder: "Sources/Providers/APNs"),
        ModuleRule(
            "FCM", .providers, ["PushModel", "JSON", "Encodings", "Calendar", "DeliveryRules"],
            folder: "Sources/Providers/FCM"),

        ModuleRule("Transport", .ends, ["PushModel", "DeliveryRules", "Reactor", "TLS", "HTTP2", "Synchronization"]),
        ModuleRule("Migrations", .vocabulary, [], folder: "migrations"),
        ModuleRule(
            "Store", .ends,
            [
                "PushModel", "JSON", "Encodings", "DeliveryRules", "FilterExpressions", "Postgres", "Reactor",
                "Migrations", "Synchronization",
            ]),

        ModuleRule(
            "Delivery", .service,
            [
                "PushModel", "JSON", "Encodings", "DeliveryRules", "FilterExpressions", "APNs", "FCM", "HTTP2",
                "Transport", "Store", "Reactor", "Logging", "Synchronization",
            ]),
        ModuleRule(
            "Registry", .service,
            [
                "PushModel", "JSON", "Encodings", "DeliveryRules", "APNs", "Store", "Reactor", "Logging",
                "Synchronization",
            ]),
        ModuleRule(
            "CredentialKeeping", .service,
            [
                "PushModel", "JSON", "Encodings", "DeliveryRules", "APNs", "FCM", "Signing", "TLS", "Transport",
                "Store",
                "Reactor", "Logging", "Synchronization",
            ]),

        ModuleRule(
            "GatewayAPI", .api,
            [
                "PushModel", "JSON", "Encodings", "Calendar", "DeliveryRules", "FilterExpressions", "APNs", "FCM",
                "Signing", "Store",
                "Delivery", "Registry", "CredentialKeeping", "Logging", "Hummingbird", "HummingbirdCore",
                "HummingbirdTLS",
                "HTTPTypes", "NIOCore", "NIOHTTP1", "NIOSSL", "ServiceLifecycle",
                "Synchronization",
            ]),

        ModuleRule(
            "Simulator", .annexe,
            [
                "PushModel", "JSON", "Encodings", "Calendar", "Reactor", "TLS", "HTTP2", "Signing", "APNs",
                "Synchronization",
                "Logging",
            ]),
        // The worlds of one seed, in which the rules are tried.
        ModuleRule("DrySimulation", .annexe, ["PushModel", "Encodings", "Calendar", "DeliveryRules", "APNs", "FCM"]),

        ModuleRule(
            "Commands", .roof,
            [
                "PushModel", "JSON", "Encodings", "Calendar", "DeliveryRules", "FilterExpressions", "APNs", "FCM",
                "Reactor", "HTTP2", "TLS", "Postgres", "Transport", "Delivery", "GatewayAPI",
                "ArgumentParser", "AsyncHTTPClient", "NIOCore", "NIOPosix", "NIOSSL", "Foundation",
                "Synchronization", "UnixSignals",
            ]),
        ModuleRule(
            "Gateway", .roof,
            [
                "Commands",
                "PushModel", "JSON", "Encodings", "DeliveryRules", "APNs", "FCM", "Reactor", "TLS", "Signing",
                "Postgres",
                "Transport", "Store", "Delivery", "Registry", "CredentialKeeping", "GatewayAPI", "Simulator",
                "DrySimulation",
                "ArgumentParser", "AsyncHTTPClient", "Calendar", "NIOCore", "NIOSSL", "Configuration", "Foundation",
                "Hummingbird",
                "Logging", "ServiceLifecycle",
                "Synchronization", "Glibc",
            ]),
        ModuleRule("carillon", .executable, ["Gateway"]),
        // The gateway that ends itself at a step of its work, for the thread test. Never shipped.
        ModuleRule(
            "carillon-under-faults", .executable,
            ["Commands", "Gateway", "PushModel", "Foundation", "Glibc", "Synchronization"],
            folder: "Tests/FaultyGateway"),
        // What suites share.
        ModuleRule(
            "TestSupport", .tests,
            [
                "FilterExpressions", "Postgres", "PushModel", "Reactor", "TLS", "Foundation", "Glibc",
                "Synchronization", "Testing",
            ], folder: "Tests/Support"),
    ]

    /// Used on their own floor or from below it: the words are everyone's, and PostgreSQL is spoken on the reactor.
    static let neighbours: [String: [String]] = [
        "PushModel": ["Reactor", "TLS", "HTTP2", "Signing", "Postgres", "JSON", "Encodings", "Calendar"],
        "Reactor": ["Postgres"],
        // Private keys are read in one place, whatever they are for.
        "Signing": ["TLS"],
        // Both are the roof: what serves, and what asks it.
        "Commands": ["Gateway"],
    ]

    /// What any test may use besides the rooms it names in the package: Swift Testing, Foundation, the C library.
    static let testLibraries: Set<String> = [
        "Testing", "Foundation", "FoundationNetworking", "Glibc", "Synchronization",
    ]

    static func moduleRule(_ name: String) -> ModuleRule? { moduleRules.first { $0.name == name } }
}
