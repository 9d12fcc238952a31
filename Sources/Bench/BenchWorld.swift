import ArgumentParser
import CommandLine

/// The programs that a measurement starts for itself: stand-ins, and a gateway with its PostgreSQL. They end with the
/// measurement.
struct BenchWorld: Sendable {
    /// The path of the one app that all measurements use.
    static let app = "/v1/apps/bench"

    let folder: OwnFolder
    let standIns: OwnStandIns
    let gateway: OwnGateway
    private let children: ChildPrograms

    /// - Parameters:
    ///   - options: more options for `carillon simulate`.
    ///   - data: the folder of the gateway's rows, so that the next run finds them.
    ///   - settings: settings of the gateway, by their variables.
    fileprivate init(
        _ folder: OwnFolder, _ children: ChildPrograms, options: [String], data: String, settings: [String: String]
    ) async throws {
        self.folder = folder
        self.children = children
        standIns = try await OwnStandIns(folder, children, options)
        gateway = try await OwnGateway(folder, standIns, port: 0, children, data: data, settings: settings)
    }

    var client: GatewayClient { gateway.client }

    /// Starts a second gateway on the same database; it ends with the first.
    func addGateway() async throws -> OwnGateway {
        try await OwnGateway(
            folder, standIns, port: 0, children, data: "second-gateway", key: gateway.keyFile,
            settings: try gateway.settings(ofDatabase: "carillon"))
    }

    /// Makes this program's tables in another database of the gateway's PostgreSQL.
    func migrate(database name: String) async throws {
        let child = try children.start("migrate", ["migrate"], try gateway.settings(ofDatabase: name), in: folder)
        let code = try await children.wait(for: child) { child.process.exitCode }
        guard code == 0 else {
            throw CommandFault(.failed, "the tables of the database \(name) were not made: \(child.lastOutput)")
        }
    }

    /// Processor time since the programs' starts; the second gateway's is added to the first one's.
    func used(beside second: OwnGateway) throws(CommandFault) -> BenchUsage {
        guard let own = ProcessUsage(of: second.process) else {
            throw CommandFault(.failed, "the second gateway has ended")
        }
        return try used() + BenchUsage(gateway: own.processor, database: .zero, sink: .zero)
    }

    /// Processor time since the programs' starts.
    func used() throws(CommandFault) -> BenchUsage {
        guard let server = gateway.databaseProcess, let database = ProcessUsage(ofServer: server),
            let own = ProcessUsage(of: gateway.process), let sink = ProcessUsage(of: standIns.process)
        else { throw CommandFault(.failed, "the gateway, its PostgreSQL or the stand-ins have ended") }
        return BenchUsage(gateway: own.processor, database: database.processor, sink: sink.processor)
    }

    /// The gateway's peak memory.
    var memoryBytesMax: Int64 { ProcessUsage(of: gateway.process)?.memoryBytesMax ?? 0 }

    /// Makes the app and its credentials; those of an earlier run are used again.
    func fill() async throws {
        try await client.send("POST", "/v1/apps", ["slug": "bench", "name": "Bench"], as: .app)
        for credential in try standIns.credentials() {
            try await client.send("POST", Self.app + "/credentials", credential, as: .list(of: .credential))
        }
    }
}

/// Processor time of the programs of a measurement.
struct BenchUsage: Sendable {
    let gateway: Duration
    let database: Duration
    let sink: Duration

    /// The processor time that Carillon needs. The stand-ins don't count: in production they are the providers'
    /// machines.
    var program: Duration { gateway + database }

    static func + (one: Self, other: Self) -> Self {
        Self(gateway: one.gateway + other.gateway, database: one.database + other.database, sink: one.sink + other.sink)
    }

    static func - (later: Self, earlier: Self) -> Self {
        Self(
            gateway: later.gateway - earlier.gateway, database: later.database - earlier.database,
            sink: later.sink - earlier.sink)
    }
}

/// The time and processor time that a part of a measurement took.
struct BenchRun: Sendable {
    let time: Duration
    let used: BenchUsage

    static func + (one: Self, other: Self) -> Self {
        Self(time: one.time + other.time, used: one.used + other.used)
    }
}

/// Options of every measurement.
struct BenchOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Where everything lies that it makes.", valueName: "path"), completion: .directory)
    var folder = "data/bench"
    @Flag(help: "Prints the figures as JSON, for scripts.") var json = false

    /// Runs the body with stand-ins, and with a gateway that sends to them and has a PostgreSQL of its own.
    func run(
        standIns options: [String] = [], data: String = "gateway", settings: [String: String] = [:],
        _ body: (BenchWorld) async throws -> Void
    ) async throws {
        try await within { folder, children in
            let world = try await BenchWorld(folder, children, options: options, data: data, settings: settings)
            // A killed run may have left one behind.
            try await ReferenceDatabase.drop(of: world)
            try await body(world)
        }
    }

    /// Runs the body with stand-ins and without a gateway.
    func runBesideStandIns(
        _ options: [String], _ body: (OwnFolder, OwnStandIns) async throws -> Void
    ) async throws {
        try await within { folder, children in
            try await body(folder, try await OwnStandIns(folder, children, options))
        }
    }

    private func within(_ body: (OwnFolder, ChildPrograms) async throws -> Void) async throws {
        try await orComplain(asJSON: json) {
            try await OwnFolder(path: folder).locked { folder in
                try await ChildPrograms.running(executable: "carillon") { children in
                    await children.endWhenAsked()
                    try await body(folder, children)
                }
            }
        }
    }
}
