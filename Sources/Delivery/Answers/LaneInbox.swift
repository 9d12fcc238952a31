import Lanes
import QueueRules
import Synchronization

package struct LaneReport: Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        case noted(LaneEvent)
        case changed(canSend: Bool, because: LaneEvent)
        case closed
    }

    package let key: LaneKey
    /// The number of the lane among all lanes opened: a later lane may have the same key.
    package let lane: Int
    package let kind: Kind

    package init(key: LaneKey, lane: Int, kind: Kind) { (self.key, self.lane, self.kind) = (key, lane, kind) }
}

/// Collects answers and reports from the lanes' threads until the engine takes all of them at once.
///
/// The pushes in flight bound it, because each has one answer, and the events of connections. Any thread may put; one
/// engine takes.
final class LaneInbox: Sendable {
    struct Contents {
        var answers: [ParcelAnswers] = []
        var reports: [LaneReport] = []
    }

    private let waiting = Mutex(Contents())
    private let signal: AsyncStream<Void>.Continuation
    /// Signals that something arrived in an empty inbox.
    let signals: AsyncStream<Void>

    init() { (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1)) }

    func put(_ answers: ParcelAnswers) { put { $0.answers.append(answers) } }

    func put(_ report: LaneReport) { put { $0.reports.append(report) } }

    private func put(_ add: (inout Contents) -> Void) {
        let isFirst = waiting.withLock { waiting in
            defer { add(&waiting) }
            return waiting.answers.isEmpty && waiting.reports.isEmpty
        }
        if isFirst { signal.yield() }
    }

    /// Returns answers and reports, each in the order of their arrival.
    func take() -> Contents {
        waiting.withLock { waiting in
            defer { waiting = Contents() }
            return waiting
        }
    }

    func close() { signal.finish() }
}
