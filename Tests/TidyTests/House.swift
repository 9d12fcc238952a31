/// The house as drawn in docs/architecture.md: which room stands on which floor and may use what.
struct Room {
    let name: String
    let floor: Floor
    /// Rooms of this house, and libraries from outside.
    let mayImport: [String]
    /// Where its sources lie, from the project's root.
    let folder: String

    init(_ name: String, _ floor: Floor, _ mayImport: [String], folder: String? = nil) {
        self.name = name
        self.floor = floor
        self.mayImport = mayImport
        self.folder = folder ?? "Sources/\(name)"
    }
}

/// From the ground up. Imports go down.
enum Floor: Int, Comparable {
    case cLibraries, basement, vocabulary, rules, providers, ends, service, api, annexe, roof, executable, tests

    static func < (left: Floor, right: Floor) -> Bool { left.rawValue < right.rawValue }

    /// No clock, no socket, no Foundation, no randomness, nothing whose order changes from run to run.
    var isPure: Bool { self == .vocabulary || self == .rules || self == .providers }
    /// The only floor where `unsafe` may be written.
    var mayBeUnsafe: Bool { self == .basement }
}

enum House {
    static let rooms: [Room] = [
        Room("CNGHTTP2", .cLibraries, []),
        Room("COpenSSL", .cLibraries, []),
        Room("CPostgres", .cLibraries, []),
        Room("CShims", .cLibraries, []),
        // Of tests alone.
        Room("CAllocationCounter", .cLibraries, [], folder: "Tests/AllocationCounter"),
        Room("CInstructionCounter", .cLibraries, [], folder: "Tests/InstructionCounter"),

        Room("Reactor", .basement, ["CShims", "PushModel", "Glibc", "Synchronization"]),
        Room("TLS", .basement, ["COpenSSL", "CShims", "PushModel", "Signing", "Glibc", "Synchronization"]),
        Room("HTTP2", .basement, ["CNGHTTP2", "PushModel", "Glibc"]),
        Room("Signing", .basement, ["COpenSSL", "CShims", "PushModel", "Glibc", "Synchronization"]),
        Room("Postgres", .basement, ["CPostgres", "CShims", "PushModel", "Reactor", "Glibc", "Synchronization"]),

        Room("PushModel", .vocabulary, []),
        Room("JSON", .vocabulary, ["PushModel"]),
        Room("Encodings", .vocabulary, ["PushModel"]),
        Room("Calendar", .vocabulary, ["PushModel"]),

        Room("DeliveryRules", .rules, ["PushModel"]),
        Room("FilterExpressions", .rules, ["PushModel", "JSON", "Calendar"]),

        Room(
            "APNs", .providers, ["PushModel", "JSON", "Encodings", "Calendar", "DeliveryRules"],
            folder: "Sources/Providers/APNs"),
        Room(
            "FCM", .providers, ["PushModel", "JSON", "Encodings", "Calendar", "DeliveryRules"],
            folder: "Sources/Providers/FCM"),

        Room("Transport", .ends, ["PushModel", "DeliveryRules", "Reactor", "TLS", "HTTP2", "Synchronization"]),
        Room("Migrations", .vocabulary, [], folder: "migrations"),
        Room(
            "Store", .ends,
            [
                "PushModel", "JSON", "Encodings", "DeliveryRules", "FilterExpressions", "Postgres", "Reactor",
                "Migrations", "Synchronization",
            ]),

        Room(
            "Delivery", .service,
            [
                "PushModel", "JSON", "Encodings", "DeliveryRules", "FilterExpressions", "APNs", "FCM", "HTTP2",
                "Transport", "Store", "Reactor", "Logging", "Synchronization",
            ]),
        Room(
            "Registry", .service,
            [
                "PushModel", "JSON", "Encodings", "DeliveryRules", "APNs", "Store", "Reactor", "Logging",
                "Synchronization",
            ]),
        Room(
            "CredentialKeeping", .service,
            [
                "PushModel", "JSON", "Encodings", "DeliveryRules", "APNs", "FCM", "Signing", "TLS", "Transport",
                "Store",
                "Reactor", "Logging", "Synchronization",
            ]),

        Room(
            "GatewayAPI", .api,
            [
                "PushModel", "JSON", "Encodings", "Calendar", "DeliveryRules", "FilterExpressions", "APNs", "FCM",
                "Signing", "Store",
                "Delivery", "Registry", "CredentialKeeping", "Logging", "Hummingbird", "HummingbirdCore",
                "HummingbirdTLS",
                "HTTPTypes", "NIOCore", "NIOHTTP1", "NIOSSL", "ServiceLifecycle",
                "Synchronization",
            ]),

        Room(
            "Simulator", .annexe,
            [
                "PushModel", "JSON", "Encodings", "Calendar", "Reactor", "TLS", "HTTP2", "Signing", "APNs",
                "Synchronization",
                "Logging",
            ]),
        // The worlds of one seed, in which the rules are tried.
        Room("DrySimulation", .annexe, ["PushModel", "Encodings", "Calendar", "DeliveryRules", "APNs", "FCM"]),

        Room(
            "Commands", .roof,
            [
                "PushModel", "JSON", "Encodings", "Calendar", "DeliveryRules", "FilterExpressions", "APNs", "FCM",
                "Reactor", "HTTP2", "TLS", "Postgres", "Transport", "Delivery", "GatewayAPI",
                "ArgumentParser", "AsyncHTTPClient", "NIOCore", "NIOPosix", "NIOSSL", "Foundation",
                "Synchronization", "UnixSignals",
            ]),
        Room(
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
        Room("carillon", .executable, ["Gateway"]),
        // The gateway that ends itself at a step of its work, for the thread test. Never shipped.
        Room(
            "carillon-under-faults", .executable,
            ["Commands", "Gateway", "PushModel", "Foundation", "Glibc", "Synchronization"],
            folder: "Tests/FaultyGateway"),
        // What suites share.
        Room(
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

    static func room(_ name: String) -> Room? { rooms.first { $0.name == name } }
}
