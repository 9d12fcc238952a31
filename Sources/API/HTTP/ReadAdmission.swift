import Listener
import Model
import Requests
import Store
import Synchronization

/// Admits reads that may each take the database a second: lists, and queries of messages and pushes. Few are under way
/// at once. The others wait in a queue before they ask for a connection (P7).
///
/// An app may have as many under way as it leaves free: half if it is alone, and one in any case. A free place goes to
/// the first waiting read whose app has room.
package final class ReadAdmission: Sendable {
    package enum Reply: Sendable {
        /// The read is admitted. Its place must be given back with `end`.
        case begun
        /// The app has reads under way. As many of its reads wait as may, or this one has waited as long as it may.
        case shareUsedUp
        /// Refused for the same reasons, but the app has no read under way: other apps have all places.
        case full
    }

    private struct Waiter {
        let app: AppID
        /// The time at which the wait is refused; nil for never.
        let until: ContinuousClock.Instant?
        let continuation: CheckedContinuation<Reply, Never>
    }

    private struct State {
        var inFlight: [AppID: Int] = [:]
        var line: [Waiter] = []

        func hasRoom(for app: AppID, of placesMax: Int) -> Bool {
            let left = placesMax - inFlight.values.reduce(1, +)
            return left >= 0 && inFlight[app, default: 0] < max(1, left)
        }

        func refusal(of app: AppID) -> Reply { inFlight[app] == nil ? .full : .shareUsedUp }
    }

    private let placesMax: Int
    private let waitingPerAppMax: Int
    private let timeout: Duration
    private let state = Mutex(State())

    /// - Parameter placesMax: nil for the places of callers with a key.
    package init(_ limits: GatewayLimits, placesMax places: Int? = nil) {
        placesMax = places ?? limits.costlyReadsMax
        waitingPerAppMax = limits.costlyReadsWaitingPerAppMax
        timeout = limits.readAdmissionTimeout
    }

    /// Returns when the read is admitted or refused.
    ///
    /// - Parameter waitsForever: not counted, without a timeout: for reads that are bounded elsewhere or must be made.
    package func begin(_ app: AppID, waitsForever: Bool = false) async -> Reply {
        await withCheckedContinuation { (continuation: CheckedContinuation<Reply, Never>) in
            let reply: Reply? = state.withLock { state in
                let own = state.line.filter { $0.app == app }
                if own.isEmpty, state.hasRoom(for: app, of: placesMax) {
                    state.inFlight[app, default: 0] += 1
                    return .begun
                }
                guard waitsForever || own.count(where: { $0.until != nil }) < waitingPerAppMax else {
                    return state.refusal(of: app)
                }
                let until = waitsForever ? nil : ContinuousClock.now + timeout
                state.line.append(Waiter(app: app, until: until, continuation: continuation))
                return nil
            }
            if let reply { continuation.resume(returning: reply) }
        }
    }

    /// Gives a place back, and refuses the reads that have waited too long.
    package func end(_ app: AppID) {
        let now = ContinuousClock.now
        let replies = state.withLock { state -> [(Waiter, Reply)] in
            func isLate(_ waiter: Waiter) -> Bool { waiter.until.map { $0 <= now } ?? false }
            var replies = state.line.filter(isLate).map { ($0, state.refusal(of: $0.app)) }
            state.line.removeAll(where: isLate)
            let left = state.inFlight[app, default: 0] - 1
            precondition(left >= 0, "a read that ends was admitted")
            state.inFlight[app] = left == 0 ? nil : left
            while let place = state.line.firstIndex(where: { state.hasRoom(for: $0.app, of: placesMax) }) {
                let waiter = state.line.remove(at: place)
                state.inFlight[waiter.app, default: 0] += 1
                replies.append((waiter, .begun))
            }
            return replies
        }
        for (waiter, reply) in replies { waiter.continuation.resume(returning: reply) }
    }

    package var waiting: Int { state.withLock { $0.line.count } }
}

extension ReadAdmission {
    func read<Value: Sendable>(
        of app: AppID, _ reading: @autoclosure () async throws(StoreFault) -> Value
    ) async throws(Problem) -> Value {
        switch await begin(app) {
        case .begun: break
        case .shareUsedUp:
            throw Problem(
                .shareUsedUp,
                "This app has too many concurrent reads of lists, messages and large nodes. Send one after the other.",
                retryAfterSeconds: RetryHint.overloaded)
        case .full:
            throw Problem(
                .overloaded, "There are too many concurrent reads of lists, messages and large nodes. Try again.",
                retryAfterSeconds: RetryHint.overloaded)
        }
        defer { end(app) }
        do { return try await reading() } catch { throw Problem(error, .reads) }
    }

    /// Runs the read once it is admitted, however long that takes: for reads that have to be made.
    func readWithoutTimeout<Value: Sendable>(
        of app: AppID, _ reading: () async throws(StoreFault) -> Value
    ) async throws(StoreFault) -> Value {
        let reply = await begin(app, waitsForever: true)
        precondition(reply == .begun, "a read without a time limit is never refused")
        defer { end(app) }
        return try await reading()
    }
}
