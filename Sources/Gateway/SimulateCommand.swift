import ArgumentParser
import Foundation
import PushModel
import Reactor
import ServiceLifecycle
import Simulator
import TLS

/// `carillon simulate`: an APNs of one's own, for trying things out and for measuring.
struct SimulateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Runs a stand-in of APNs on this machine.",
        discussion: """
            It speaks TLS and HTTP/2, judges requests as Apple does and keeps what each token received: \
            GET /simulator/received/<token> and /simulator/summary on its own port, which POST /simulator/reset \
            forgets. A gateway trusts it by \
            CARILLON_PROVIDER_CA_FILE=<identity-dir>/ca.pem and calls it by CARILLON_APNS_PRODUCTION_URL. \
            Tokens that begin with dead0100 are answered 410; docs/simulation.md has the other fates.
            """)

    @Option(help: "The port to listen on, on the loopback; 0 takes a free one.")
    var port: UInt16 = 0

    @Flag(help: "Answers 200 to everything, unread and unrecorded: for measuring a sender.")
    var sink = false

    @Option(help: "Appends a line of JSON for every push to this file.")
    var record: String?

    @Option(help: "Where the authority's certificate is put, as ca.pem, for those who call.")
    var identityDir = "stand-in"

    func validate() throws {
        guard !sink || record == nil else {
            throw ValidationError(
                "A sink reads no push, so that there is nothing to record: leave out --sink or --record.")
        }
    }

    func run() async throws {
        do {
            try await simulate()
        } catch {
            Console.complain("\(error)")
            throw ExitCode.failure
        }
    }

    private func simulate() async throws {
        var settings = APNsSimulatorSettings(identity: try makeIdentity())
        settings.port = port
        settings.mode = sink ? .sink : .validating
        if let record { settings.record = try recorder(record) }
        let simulator = try APNsSimulator(settings)
        let chosen: UInt16
        do { chosen = try await simulator.start() } catch {
            throw StartFault("port \(port) can't be listened on: \(error)")
        }
        Console.say("carillon simulates APNs on https://localhost:\(chosen), trusted by \(identityDir)/ca.pem")
        try await ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [.init(service: UntilAskedToStop(), successTerminationBehavior: .gracefullyShutdownGroup)],
                gracefulShutdownSignals: [.sigterm, .sigint],
                logger: LogOutput.start(level: .warning))
        ).run()
        await simulator.stop()
    }

    /// A new authority at every start: nobody should trust a stand-in for longer than it stands.
    private func makeIdentity() throws -> TLSIdentity {
        let validity = CertificateValidity.days(30, from: Clocks.wallNow())
        let authority = try CertificateAuthority(name: "Carillon stand-in", validity: validity)
        let subject = CertificateSubject(commonName: "localhost")
        let identity = try authority.issue(subject, names: ["localhost", "127.0.0.1"], validity: validity)
        let file = identityDir + "/ca.pem"
        do {
            try FileManager.default.createDirectory(atPath: identityDir, withIntermediateDirectories: true)
            try Data(authority.pem).write(to: URL(filePath: file), options: .atomic)
        } catch {
            throw StartFault("\(file) can't be written")
        }
        return identity
    }

    private func recorder(_ path: String) throws -> @Sendable ([UInt8]) -> Void {
        if !FileManager.default.fileExists(atPath: path) {
            _ = FileManager.default.createFile(atPath: path, contents: nil)
        }
        guard let handle = FileHandle(forWritingAtPath: path) else { throw StartFault("\(path) can't be written") }
        _ = try handle.seekToEnd()
        return { lines in handle.write(Data(lines)) }
    }
}

/// Does nothing, until the program is asked to stop.
private struct UntilAskedToStop: Service {
    func run() async throws { try? await gracefulShutdown() }
}
