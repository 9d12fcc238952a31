import Basis
import LaneRules
import Model

/// The parts of a project's quota that processes may use.
package struct QuotaRow: Equatable, Sendable {
    package let project: String
    package var quotaLedger = QuotaLedger()
}

extension SimulatedStore {
    package mutating func answer(
        _ ask: QuotaRequest, of process: ProcessID, project: String, now: WallInstant
    ) -> QuotaGrant? {
        if let place = quotas.firstIndex(where: { $0.project == project }) {
            return quotas[place].quotaLedger.answer(ask, of: process, now: now)
        }
        var row = QuotaRow(project: project)
        let grant = row.quotaLedger.answer(ask, of: process, now: now)
        quotas.append(row)
        return grant
    }
}
