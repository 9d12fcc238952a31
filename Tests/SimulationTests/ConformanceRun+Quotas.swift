import Basis
import Encodings
import LaneRules
import Model

// Requests of several processes for their parts of a project's quota.
extension ConformanceRun {
    mutating func askQuota() async throws -> String? {
        for _ in 1...random.within(1...4) {
            let process = ProcessID(UniversalID(high: 7, low: UInt64(random.within(1...3))))
            let project = random.pick(["bells", "bells", "chimes"])
            // Some requests are overtaken by a later one.
            let number = now.microseconds + Int64(random.within(-3...3))
            let ask = QuotaRequest(
                number: number, wants: QuotaPart(millionths: random.pick([10_000, 300_001, 1_000_000])),
                holds: QuotaPart(millionths: random.pick([0, 0, 400_000])))
            pushHistory.append("process \(process.value.low) asks for its part of \(project): \(ask)")
            let real = try await stores.credentials.answer(ask, of: process, project: project, now: now)
            let expected = simulated.answer(ask, of: process, project: project, now: now)
            if let difference = differ("quota", real, expected) { return difference }
            now = now + random.pick([.zero, .milliseconds(300), .seconds(3)])
        }
        return nil
    }
}
