import Basis
import Encodings
import Model

// Heartbeats of several processes that divide a project's quota.
extension ConformanceRun {
    mutating func askQuota() async throws -> String? {
        for _ in 1...random.within(1...4) {
            let process = ProcessID(UniversalID(high: 7, low: UInt64(random.within(1...3))))
            let project = random.pick(["bells", "bells", "chimes"])
            // Some are written before the database's clock was set back.
            let now = now + random.pick([.zero, .zero, .zero, .seconds(2), .seconds(4), .seconds(100)])
            pushHistory.append("process \(process.value.low) sends to \(project) at \(now)")
            let real = try await stores.credentials.countSenders(to: project, with: process, now: now)
            let expected = simulated.countSenders(to: project, with: process, now: now)
            if let difference = differ("senders", real, expected) { return difference }
            self.now = self.now + random.pick([.zero, .milliseconds(300), .seconds(3)])
        }
        return nil
    }
}
