import NIOCore
import Requests
import Synchronization

/// Admits requests of callers without a valid API key: strangers. However many they are, callers with a key don't wait
/// behind them (P7): few requests of strangers are under way at once, a bounded number waits, and refusals are paced.
///
/// The strangers of an app may have as many places as they leave free, so they leave room for those of another app. The
/// apps take turns. An app that is not known yet has no account of its own: a client that invents slugs would get a share
/// with each.
package final class StrangerAdmission: Sendable {
    private typealias Waiter = CheckedContinuation<Bool, Never>

    private struct Line {
        var underWay = 0
        var waiting = CircularBuffer<Waiter>()

        var count: Int { underWay + waiting.count }
    }

    private struct State {
        var underWay = 0
        var count = 0
        /// Contains only apps whose strangers have places.
        var lines: [String?: Line] = [:]  // lookup only
        /// The apps with waiting strangers. The first one that has room is served next.
        var turns: [String?] = []
        /// The time of the next refusal, if refusals came evenly.
        var nextRefusal = ContinuousClock.now
    }

    private let limits: GatewayLimits
    private let state = Mutex(State())

    package init(_ limits: GatewayLimits) { self.limits = limits }

    /// Returns when the request may go on, or with false at once if there is no place. The caller has to give the place
    /// back with `leave`.
    ///
    /// - Parameter app: nil: it is not known.
    package func enter(_ app: String?) async -> Bool {
        await withCheckedContinuation { (caller: Waiter) in
            let reply: Bool? = state.withLock { state in
                let left = limits.strangersMax - state.count - 1
                guard left >= 0, state.lines[app, default: Line()].count < max(1, left) else { return false }
                state.count += 1
                var line = state.lines.removeValue(forKey: app) ?? Line()
                let mayBegin = line.waiting.isEmpty && hasRoom(for: line, state)
                if mayBegin {
                    state.underWay += 1
                    line.underWay += 1
                } else {
                    if line.waiting.isEmpty { state.turns.append(app) }
                    line.waiting.append(caller)
                }
                state.lines[app] = line
                return mayBegin ? true : nil
            }
            if let reply { caller.resume(returning: reply) }
        }
    }

    package func leave(_ app: String?) {
        let begun = state.withLock { state in
            guard let underWay = state.lines[app]?.underWay, underWay > 0 else {
                preconditionFailure("a stranger that leaves was admitted")
            }
            state.count -= 1
            state.underWay -= 1
            state.lines[app]?.underWay -= 1
            if state.lines[app]?.count == 0 { state.lines[app] = nil }
            var begun: [Waiter] = []
            while let turn = state.turns.firstIndex(where: { hasRoom(for: state.lines[$0] ?? Line(), state) }) {
                let served = state.turns.remove(at: turn)
                guard let waiter = state.lines[served]?.waiting.popFirst() else {
                    preconditionFailure("an app with a turn has waiting strangers")
                }
                state.underWay += 1
                state.lines[served]?.underWay += 1
                if state.lines[served]?.waiting.isEmpty == false { state.turns.append(served) }
                begun.append(waiter)
            }
            return begun
        }
        for waiter in begun { waiter.resume(returning: true) }
    }

    package var waiting: Int { state.withLock { $0.count - $0.underWay } }

    private func hasRoom(for line: Line, _ state: State) -> Bool {
        let left = limits.strangersUnderWayMax - state.underWay
        return left > 0 && line.underWay < max(1, left)
    }

    /// Whether a stranger may be refused now; else after a while. A client that sends its next request at once would take
    /// the processor from others, so only as many refusals as a second brings are answered at once.
    package func mayRefuse() -> Bool {
        let now = ContinuousClock.now
        return state.withLock { state in
            let next = max(state.nextRefusal, now)
            guard next - now < .seconds(1) else { return false }
            state.nextRefusal = next + .seconds(1) / limits.strangersRefusedPerSecond
            return true
        }
    }
}

extension Problem {
    package static let tooManyStrangers = Problem(
        .shareUsedUp,
        "Too many requests without a valid API key are under way. Wait as Retry-After says, then send the request again.",
        retryAfterSeconds: RetryHint.overloaded)
}
