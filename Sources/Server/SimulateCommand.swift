import ArgumentParser
import Basis
import CommandLine
import Foundation
import Reactor
import ServiceLifecycle
import Signing
import Simulator
import Synchronization
import TLS

struct SimulateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Runs stand-ins of APNs and FCM on this machine.",
        discussion: """
            The stand-ins speak TLS, check requests as Apple and Google do, and record what each token received. The \
            folder --identity-dir has what a gateway needs to use them: ca.pem to trust them, a signing key and a \
            certificate for APNs, and a service account for FCM. The file ready.json appears there once all stand-ins \
            listen, and lists all addresses and files.

            Start the gateway with ca.pem in CARILLON_PROVIDER_CA_FILE, and the address of APNs in \
            CARILLON_APNS_PRODUCTION_URL. The device token decides the answer: APNs tokens that begin with dead0100 \
            get 410, FCM tokens that begin with UNREGISTERED- get 404. docs/simulator.md lists all such tokens, the \
            scripts, and the requests under /simulator/.
            """,
        examples: [
            "carillon simulate --identity-dir stand-in",
            "carillon simulate --identity-dir stand-in --port 9443 --fcm-port 9444 --record pushes.ndjson",
        ])

    @Option(
        help: .value(
            "name",
            "The host name in their certificates. With any name but localhost, other machines and containers can "
                + "reach them too."))
    var host = SimulatorIdentities.hostDefault
    @Option(help: "The port of APNs; 0 takes a free one.") var port: UInt16 = 0
    @Option(help: "The port of APNs' sandbox; --port is then production alone. Without it, --port serves both.")
    var sandboxPort: UInt16?
    @Option(help: "The port of FCM and its OAuth endpoint; 0 takes a free one.") var fcmPort: UInt16 = 0
    @Option(help: "The Firebase project that the service account belongs to.") var fcmProject = "carillon-demo"
    @Option(help: "How long FCM's access tokens are valid, in seconds.") var accessTokenSeconds = 3_599
    @Option(help: "A bundle id that APNs accepts; repeatable (default: all).") var topic: [String] = []
    @Flag(help: "Accepts only provider tokens that were signed with the key in --identity-dir.") var checkKeys = false
    @Flag(help: "Allows all streams at once. APNs allows one until it has accepted a provider token.")
    var openStreams = false
    @Option(help: "After so many refusals in a row, APNs allows one stream until the next success.")
    var refusalsUntilLimitDrops: Int?
    @Option(help: "After so many answers BadDeviceToken, APNs closes the connection with GOAWAY.")
    var badDeviceTokensMax: Int?
    @Option(help: "The least time between two provider tokens of one key, in seconds; 0: no limit.")
    var tokenChangeSeconds = 1_200
    @Flag(help: "Refuses the request with an expired provider token, and not the whole connection.") var forgiving =
        false
    @Flag(help: "Answers 200 to every push, and neither reads nor records it: for benchmarks of a sender.") var sink =
        false
    @Option(help: .value("path", "Appends a line of JSON for every push to this file."), completion: .file())
    var record: String?
    @Option(
        help: .value("path", "The folder for ready.json and the files that a gateway needs."), completion: .directory)
    var identityDir = "stand-in"
    @Flag(
        help: ArgumentHelp(
            "Uses the certificates and keys that an earlier run stored in --identity-dir, or stores new ones there: "
                + "clients that trust one run trust all."))
    var keepIdentity = false
    @Flag(help: "Prints the content of ready.json on one line instead of sentences.") var json = false

    func validate() throws {
        guard !sink || record == nil else {
            throw ValidationError(
                "With --sink no push is read, so there is nothing to record. Leave out --sink or --record.")
        }
        guard !host.isEmpty, host.utf8.count <= 253,
            host.utf8.allSatisfy({ $0.isLetter || $0.isDigit || "-.".utf8.contains($0) })
        else { throw ValidationError("--host takes a name, such as providers, or an IPv4 address.") }
        guard (1...86_400).contains(accessTokenSeconds) else {
            throw ValidationError("--access-token-seconds takes 1 to 86400.")
        }
        guard (0...3_600).contains(tokenChangeSeconds) else {
            throw ValidationError("--token-change-seconds takes 0 to 3600.")
        }
        guard (refusalsUntilLimitDrops ?? 1) > 0, (badDeviceTokensMax ?? 1) > 0 else {
            throw ValidationError("--refusals-until-limit-drops and --bad-device-tokens-max take 1 and more.")
        }
    }

    private var reach: SimulatorReach { host == SimulatorIdentities.hostDefault ? .loopback : .everyone }

    func run() async throws { try await orComplain(ofThisMachine: json) { try await simulate() } }

    private func simulate() async throws {
        let format = try SettingsReader().logFormat()
        let log = LogOutput.start(level: .warning, format: format)
        let files = SimulatorFiles(folder: identityDir)
        try files.prepare()
        let kept = keepIdentity ? try files.kept(host: host, project: fcmProject, topics: topic) : nil
        let identities = try kept ?? SimulatorIdentities(host: host, project: fcmProject, topics: topic)
        if keepIdentity { try files.keep(identities, host: host) }
        let record = try self.record.map(recorder)
        let production = try apns(identities, port, sandboxPort == nil ? .both : .production, record)
        let sandbox = try sandboxPort.map { try apns(identities, $0, .sandbox, record) }
        let google = try fcm(identities, record)

        var ready = SimulatorReady(files: files, identities: identities, host: host)
        ready.apnsPort = try await StandInPort.open(port, chosenWith: "--port") { () async throws(ReactorError) in
            try await production.start()
        }
        if let sandbox, let sandboxPort {
            ready.sandboxPort = try await StandInPort.open(sandboxPort, chosenWith: "--sandbox-port") {
                () async throws(ReactorError) in try await sandbox.start()
            }
        }
        ready.fcmPort = try await StandInPort.open(fcmPort, chosenWith: "--fcm-port") { () async throws(ReactorError) in
            try await google.start()
        }
        try files.write(ready)
        announce(ready, files, format)
        try await ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [.init(service: IdleService(), successTerminationBehavior: .gracefullyShutdownGroup)],
                gracefulShutdownSignals: [.sigterm, .sigint],
                logger: log)
        ).run()
        files.removeReady()
        await production.stop()
        await sandbox?.stop()
        await google.stop()
    }

    /// Log collectors read this output too.
    private func announce(_ ready: SimulatorReady, _ files: SimulatorFiles, _ format: LogFormat) {
        if json || format == .json { return Console.write(String(decoding: ready.json, as: UTF8.self)) }
        Console.write("carillon simulates APNs on \(ready.apnsURL), trusted by \(identityDir)/ca.pem")
        if ready.sandboxPort != nil { Console.write("carillon simulates APNs' sandbox on \(ready.sandboxURL)") }
        Console.write("carillon simulates FCM on \(ready.fcmURL), for the service account in \(files.account)")
    }

    private func apns(
        _ identities: SimulatorIdentities, _ port: UInt16, _ environment: APNsSimulatorSettings.Environment,
        _ record: (@Sendable ([UInt8]) -> Void)?
    ) throws -> ProviderSimulator {
        var settings = APNsSimulatorSettings(identity: identities.server)
        settings.common.port = port
        settings.common.reach = reach
        settings.environment = environment
        settings.common.isSink = sink
        settings.topics = topic.isEmpty ? nil : topic
        settings.startsWithOneStream = !openStreams
        settings.providerTokenChangeInterval = .seconds(tokenChangeSeconds)
        settings.expiredTokenSpoilsConnection = !forgiving
        settings.refusalsUntilLimitDrops = refusalsUntilLimitDrops
        settings.badDeviceTokensMax = badDeviceTokensMax
        if checkKeys { settings.keys = .registered([try identities.registeredKey()]) }
        settings.common.record = record
        return try ProviderSimulator(settings)
    }

    private func fcm(
        _ identities: SimulatorIdentities, _ record: (@Sendable ([UInt8]) -> Void)?
    ) throws -> ProviderSimulator {
        var settings = FCMSimulatorSettings(identity: identities.server, accounts: [identities.account])
        settings.common.port = fcmPort
        settings.common.reach = reach
        settings.common.isSink = sink
        settings.accessTokenSeconds = accessTokenSeconds
        settings.common.record = record
        return try ProviderSimulator(settings)
    }

    private func recorder(_ path: String) throws -> @Sendable ([UInt8]) -> Void {
        if !FileManager.default.fileExists(atPath: path) {
            _ = FileManager.default.createFile(atPath: path, contents: nil)
        }
        guard let handle = FileHandle(forUpdatingAtPath: path) else { throw StartFault("\(path) can't be written") }
        // An earlier simulator may have been killed within a line.
        let end = try handle.seekToEnd()
        if end > 0 {
            try handle.seek(toOffset: end - 1)
            if try handle.read(upToCount: 1) != Data("\n".utf8) { try handle.write(contentsOf: Data("\n".utf8)) }
        }
        let file = RecordFile(handle)
        return { lines in file.append(lines) }
    }
}

/// One file for several stand-ins, each on its own thread. The lock keeps lines whole.
private final class RecordFile: Sendable {
    private let handle: Mutex<FileHandle>
    init(_ handle: sending FileHandle) { self.handle = Mutex(handle) }
    func append(_ lines: [UInt8]) { handle.withLock { $0.write(Data(lines)) } }
}

private struct IdleService: Service {
    func run() async throws { try? await gracefulShutdown() }
}
