import JSON
import PushModel
import Reactor
import Signing

/// What all connections of one stand-in share. On the loop's thread only.
final class SimulatorWorld {
    let settings: APNsSimulatorSettings
    let loop: ReactorLoop
    var judge: PushJudge
    var summary = SimulatorSummary()
    var received: ReceivedPushes
    let scratch = ScratchBuffers()
    private(set) var script = APNsScript()
    /// Rises with each script, so that connections count their requests anew.
    private(set) var scriptNumber = 0
    private var faultHits: [Int] = []
    /// How often a token of the grammar met its fate.
    private var fateCounts: [DeviceToken: Int] = [:]
    private var lines: [UInt8] = []

    /// Lines are handed to the record in pieces of about this size.
    private static let recordBytes = 65_536
    private static let fateCountsMax = 1_000_000

    init(_ settings: APNsSimulatorSettings, _ loop: ReactorLoop) throws(SigningError) {
        self.settings = settings
        self.loop = loop
        judge = try PushJudge(settings)
        received = ReceivedPushes(bytesMax: settings.keptBytesMax)
    }

    var now: WallInstant { Clocks.wallNow() + script.clockOffset }

    func follow(_ script: APNsScript) {
        self.script = script
        scriptNumber += 1
        faultHits = Array(repeating: 0, count: script.faults.count)
    }

    /// The first fault of the script that hits a connection's request of this number.
    func fault(request number: Int) -> ScriptedFault.Kind? {
        for (place, fault) in script.faults.enumerated() where fault.hits(request: number) {
            if let times = fault.times, faultHits[place] >= times { continue }
            faultHits[place] += 1
            summary.faults += 1
            return fault.kind
        }
        return nil
    }

    /// What a token of the grammar meets this time. nil: it lives.
    func fate(of token: DeviceToken) -> TokenFate? {
        guard let (fate, count) = TokenFate.of(token: token.bytes) else { return nil }
        if count == 0 { return fate }
        let met = fateCounts[token, default: 0]
        guard met < count else { return nil }
        if fateCounts.count >= SimulatorWorld.fateCountsMax { fateCounts.removeAll(keepingCapacity: true) }
        fateCounts[token] = met + 1
        return fate
    }

    func keep(_ push: ReceivedPush, token: DeviceToken) {
        received.append(push, token: token)
        guard settings.record != nil else { return }
        var writer = JSONWriter()
        push.append(to: &writer, token: token)
        lines.append(contentsOf: writer.bytes)
        lines.append(UInt8(ascii: "\n"))
        if lines.count >= SimulatorWorld.recordBytes { flushRecord() }
    }

    func flushRecord() {
        guard !lines.isEmpty, let record = settings.record else { return }
        record(lines)
        lines.removeAll(keepingCapacity: true)
    }

    /// Forgets what was received and counted, and which provider tokens it knows; connections and the script stay.
    func reset() {
        flushRecord()
        let open = summary.connectionsOpen
        summary = SimulatorSummary()
        summary.connectionsOpen = open
        received = ReceivedPushes(bytesMax: settings.keptBytesMax)
        fateCounts.removeAll()
        judge.forgetProviderTokens()
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

/// Buffers that all connections of the loop use in turn.
final class ScratchBuffers {
    static let bytes = 65_536
    var incoming = [UInt8](repeating: 0, count: bytes)
    var plaintext = [UInt8](repeating: 0, count: bytes)
    var outgoing: [UInt8] = []
}
