import Basis
import JSON
import Model
import Reactor

/// The state that all connections of one stand-in share. On the loop's thread only.
final class SimulatorWorld {
    let settings: SimulatorSettings
    let loop: ReactorLoop
    let service: any ProviderService
    var summary = SimulatorSummary()
    var received: ReceivedPushes
    let scratch = ScratchBuffers()
    private(set) var script = SimulatorScript()
    /// Rises with each script, so that connections restart their counts of requests.
    private(set) var scriptNumber = 0
    private var faultHits: [Int] = []
    weak var listener: SimulatorListener?
    /// The number of times that each token of the grammar met its fate.
    private var fateCounts: [DeviceToken: Int] = [:]
    private var lines: [UInt8] = []

    /// Lines are handed to the record in chunks of about this size.
    private static let recordBytes = 65_536
    private static let fateCountsMax = 1_000_000

    init(_ settings: SimulatorSettings, _ loop: ReactorLoop, _ service: any ProviderService) {
        (self.settings, self.loop, self.service) = (settings, loop, service)
        received = ReceivedPushes(bytesMax: settings.keptBytesMax)
    }

    var now: WallInstant { Clocks.wallNow() + script.clockOffset }

    func follow(_ script: SimulatorScript) {
        self.script = script
        scriptNumber += 1
        faultHits = Array(repeating: 0, count: script.faults.count)
    }

    /// Follows a script that came over HTTP: performs its actions now and applies its faults from now on.
    func follow(_ reader: ScriptReader, reportedBy asker: SimulatorConnection) {
        if let script = reader.script { follow(script) }
        for action in reader.actions {
            service.act(action)
            guard case .fault(let fault) = action else { continue }
            for connection in listener?.openConnections ?? [] where connection !== asker {
                connection.misbehaveNow(fault)
            }
        }
    }

    /// The running script, and the hits of each fault, as JSON.
    var scriptState: [UInt8] {
        let delay = script.answerDelay.components
        let state: JSONValue = [
            "script": .integer(scriptNumber),
            "latency_ms": .number(.whole(delay.seconds * 1_000 + delay.attoseconds / 1_000_000_000_000_000)),
            "clock_offset_s": .number(.whole(script.clockOffset.components.seconds)),
            "fault_hits": .array(faultHits.map { .integer($0) }),
        ]
        return state.bytes
    }

    /// The first fault of the script that hits a connection's request of this number.
    func fault(at endpoint: ScriptedEndpoint, request number: Int) -> ScriptedFault.Kind? {
        for (place, fault) in script.faults.enumerated()
        where fault.endpoint == endpoint && fault.hits(request: number) {
            if let times = fault.times, faultHits[place] >= times { continue }
            faultHits[place] += 1
            summary.faults += 1
            return fault.kind
        }
        return nil
    }

    /// Whether a token of the grammar still meets its fate. It does so `count` times; 0: always.
    func meetsFate(_ token: DeviceToken, count: Int) -> Bool {
        if count == 0 { return true }
        let met = fateCounts[token, default: 0]
        guard met < count else { return false }
        if fateCounts.count >= SimulatorWorld.fateCountsMax { fateCounts.removeAll(keepingCapacity: true) }
        fateCounts[token] = met + 1
        return true
    }

    func record(_ push: ReceivedPush, token: DeviceToken) {
        received.append(push, token: token)
        guard settings.record != nil, !token.bytes.isEmpty else { return }
        lines.append(contentsOf: push.shown(token: service.text(ofKey: token)).bytes)
        lines.append(UInt8(ascii: "\n"))
        if lines.count >= SimulatorWorld.recordBytes { flushRecord() }
    }

    func flushRecord() {
        guard !lines.isEmpty, let record = settings.record else { return }
        record(lines)
        lines.removeAll(keepingCapacity: true)
    }

    /// Forgets received pushes, counts and provider tokens; connections and the script stay.
    func reset() {
        flushRecord()
        let open = summary.connectionsOpen
        summary = SimulatorSummary()
        summary.connectionsOpen = open
        received = ReceivedPushes(bytesMax: settings.keptBytesMax)
        fateCounts.removeAll()
        service.reset()
    }

    var fullSummary: SimulatorSummary {
        var full = summary
        full.tokens = received.tokenCount
        full.repeated = received.repeatCount
        full.kept = received.keptCount
        full.forgotten = received.forgottenCount
        return full
    }
}

final class ScratchBuffers {
    static let bytes = 65_536
    var incoming = [UInt8](repeating: 0, count: bytes)
    var plaintext = [UInt8](repeating: 0, count: bytes)
    var outgoing: [UInt8] = []
}
