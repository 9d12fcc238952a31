import Basis
import Model

/// Translates APNs' answer into a verdict. Bodies come from a stranger: whatever they hold, the status still counts.
package enum APNsResponse {
    /// `retryAfter`: the value of that header, if there was one.
    package static func classify(status: Int, body: Span<UInt8>, retryAfter: Duration? = nil) -> ProviderVerdict {
        // The common path: nothing to read.
        if (200..<300).contains(status) { return ProviderVerdict(outcome: .accepted, connection: .keep, alarm: nil) }
        guard (100..<600).contains(status) else {
            return ProviderVerdict(outcome: .unknown(.protocolViolation), connection: .close, alarm: nil)
        }
        let error = APNsErrorBody(reading: body)
        let known = error.reason.flatMap { knownRow(status, $0) }
        let row = known ?? APNsRejections.row(forStatus: status, hasReason: error.reason != nil)
        let reason = known?.reason ?? unknownReason(status, error.reason)
        return ProviderVerdict(
            outcome: outcome(row, reason, status == 410 ? error.timestamp : .none, retryAfter),
            connection: row.connection, alarm: row.alarm, reason: reason, isDocumented: known != nil)
    }

    /// All answers of the table, for tests that hold for each of them.
    package static var documented: [(status: Int, reason: String)] {
        APNsRejections.rows.map { ($0.status, $0.reason) }
    }

    private static func outcome(
        _ row: APNsReasonRow, _ reason: String, _ time: APNsErrorBody.Timestamp, _ retryAfter: Duration?
    ) -> Outcome {
        switch row.meaning {
        case .rejected(let fault):
            switch time {
            case .none: return .rejected(Rejection(fault: fault, reason: reason))
            case .at(let since): return .rejected(Rejection(fault: fault, reason: reason, invalidSince: since))
            case .unreadable:
                let suspicion = fault == .tokenUnregistered ? .tokenSuspect : fault
                return .rejected(Rejection(fault: suspicion, reason: reason))
            }
        case .deferred(let why):
            // The later of the two: APNs may ask for more than our table, never for less.
            let after =
                switch (row.after, retryAfter) {
                case (let floor?, let asked?): max(floor, asked)
                case (let floor, let asked): floor ?? asked
                }
            return .deferred(after: after, why)
        }
    }

    /// Returns the row of a known reason. It means the same on another status, except that only a 410 retires at once.
    private static func knownRow(_ status: Int, _ reason: String) -> APNsReasonRow? {
        guard let row = APNsRejections.rows.first(where: { $0.reason.hasSameBytes(as: reason) }) else { return nil }
        if row.meaning == .rejected(.tokenUnregistered), status != 410 {
            return APNsReasonRow(
                status: status, reason: row.reason, meaning: .rejected(.tokenSuspect), after: nil, connection: .keep,
                alarm: nil)
        }
        return row
    }

    /// Keeps a reason that we do not know yet if it has letters and blanks only, as APNs' reasons do. Anything else
    /// might echo a token or payload.
    private static func unknownReason(_ status: Int, _ reason: String?) -> String {
        let reasonBytesMax = 48
        guard let reason, reason.utf8.count <= reasonBytesMax,
            reason.utf8.allSatisfy({ $0.isLetter || $0 == UInt8(ascii: " ") })
        else { return "status_\(status)" }
        return reason
    }
}
