import CommandLine
import Foundation

/// nghttp2's load generator, which sends as many requests of a push's shape to the same sink: the limit of this
/// machine's wire.
package struct ReferenceSender {
    /// Figures of `requests` requests, without the program's start.
    package struct Figures {
        let requests: Int
        let time: Duration
        let processor: Duration
        /// The sink's processor time meanwhile.
        let sink: Duration

        package init(requests: Int, time: Duration, processor: Duration, sink: Duration) {
            self.requests = requests
            self.time = time
            self.processor = processor
            self.sink = sink
        }

        var perSecond: Double { Double(requests) / (time / .seconds(1)) }

        /// Whether the figures are more than a difference of noise. N requests must take a good part of what N requests
        /// and the program's start took, and the processor time must fit the number of processors.
        ///
        /// - Parameter once: the time of the first N requests, with the start.
        package func isBelievable(beside once: Duration) -> Bool {
            time * 4 > once && processor > .zero && sink >= .zero
                && (processor + sink) * 10 <= time * (11 * ProcessInfo.processInfo.activeProcessorCount)
        }
    }

    private let program: String
    private let arguments: [String]
    private let sink: Int32
    private static let triesMax = 5
    private static let enough = 1_000_000
    private static let streams = 1_000
    private static let connections = 1
    /// h2load keeps the whole header of each address, and starts over after the last.
    private static let addressesMax = 200_000

    /// - Parameter requests: the number of different tokens in the address file in `folder`, up to `addressesMax`.
    init(_ folder: OwnFolder, sink standIns: OwnStandIns, requests: Int) throws(CommandFault) {
        sink = standIns.process
        let places = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin").split(separator: ":")
        let found = places.map { $0 + "/h2load" }.first { FileManager.default.isExecutableFile(atPath: $0) }
        guard let found else {
            throw CommandFault(
                .usage, "the reference is nghttp2's h2load, which is not on PATH: apt-get install nghttp2-client")
        }
        program = found
        let (addresses, payload) = (folder.file("reference-uris"), folder.file("reference-payload"))
        var lines = ""
        for number in 1...min(requests, Self.addressesMax) {
            lines += "\(standIns.production)/3/device/\(BenchDevice(number: number).token)\n"
        }
        do {
            try Data(lines.utf8).write(to: URL(filePath: addresses))
            try Data(Self.payload.utf8).write(to: URL(filePath: payload))
        } catch { throw CommandFault(.failed, "\(folder.path) can't be written to: \(error.localizedDescription)") }
        arguments = [
            "-c", String(Self.connections), "-t", "1", "-m", String(Self.streams), "-i", addresses, "-d", payload,
            "-H", "authorization: \(Self.authorization)",
            "-H", "apns-topic: \(OwnStandIns.topic)", "-H", "apns-push-type: alert", "-H", "apns-priority: 10",
            "-H", "apns-expiration: 1893456000", "-H", "apns-id: 01920000-0000-8000-8000-000000000000",
            "-H", "apns-collapse-id: 0192000000008000",
        ]
    }

    /// Has the length of an APNs authorization header.
    static let authorization = "bearer " + String(repeating: "e", count: 242)
    /// The parts together are as long as the broadcast's payload.
    private static let payload = payloadBeforeBadge + "12" + payloadBehindBadge
    static let payloadBeforeBadge =
        #"{"aps":{"alert":{"title":"Carillon","body":"Twelve o'clock in the garden, and the roses are in bloom"},"#
        + #""badge":"#
    static let payloadBehindBadge =
        #","sound":"default"},"article":"42","section":"weather and tides","number":"4711"}"#

    /// Runs as many requests as a broadcast has devices, but at most a million: more would say no more.
    func run(beside devices: Int) throws(CommandFault) -> Figures { try run(min(devices, Self.enough)) }

    /// Measures N and 2N requests and returns the difference. The program's start and the reading of its addresses are
    /// in both, and so cancel out.
    func run(_ requests: Int) throws(CommandFault) -> Figures {
        // Another program may have used the machine during one of the runs.
        for _ in 1...Self.triesMax {
            let one = try runOnce(requests)
            let two = try runOnce(2 * requests)
            let figures = Figures(
                requests: requests, time: two.time - one.time, processor: two.processor - one.processor,
                sink: two.sink - one.sink)
            if figures.isBelievable(beside: one.time) { return figures }
        }
        throw CommandFault(
            .failed,
            "h2load took about as long for \(requests) requests as for twice as many, \(Self.triesMax) times: the machine is "
                + "busy, or they are too few to tell; try more")
    }

    private func runOnce(
        _ requests: Int
    ) throws(CommandFault) -> (time: Duration, processor: Duration, sink: Duration) {
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = ["-n", String(requests)] + arguments
        let output = Pipe()
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        let (before, sinkBefore) = (ProcessUsage.endedChildren, try usedBySink())
        let clock = ContinuousClock()
        let start = clock.now
        let text: String
        do {
            try process.run()
            text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        } catch { throw CommandFault(.failed, "h2load can't be run: \(error.localizedDescription)") }
        process.waitUntilExit()
        let took = clock.now - start
        guard process.terminationStatus == 0, text.contains(" \(requests) succeeded, 0 failed") else {
            throw CommandFault(
                .failed, "h2load ended with \(process.terminationStatus), and not every request succeeded")
        }
        return (took, ProcessUsage.endedChildren - before, try usedBySink() - sinkBefore)
    }

    private func usedBySink() throws(CommandFault) -> Duration {
        guard let used = ProcessUsage(of: sink) else { throw CommandFault(.failed, "the stand-ins have ended") }
        return used.processor
    }
}
