import PushModel
import Store
import Synchronization

/// Reads of which one may take the database a second: lists, and where messages and pushes stand. So many are under way at
/// once, and fairly between apps; the others wait for their turn, in line, before they ask for a connection (P7).
///
/// An app may have as many under way as it leaves free: half where it is alone, and one in any case.
package final class CostlyReads: Sendable {
    private struct Waiter {
        let app: AppID
        /// Refused where it has waited longer; nil: never.
        let until: ContinuousClock.Instant?
        /// Told whether it has its turn.
        let turn: CheckedContinuation<Bool, Never>
    }

    private struct Book {
        var all = 0
        /// Only of apps that have some.
        var underWay: [AppID: Int] = [:]
        /// Who came first stands first.
        var line: [Waiter] = []

        func hasRoom(for app: AppID, of placesMax: Int) -> Bool {
            let own = underWay[app, default: 0] + 1
            return all < placesMax && own <= max(1, placesMax - (all + 1))
        }

        mutating func begin(_ app: AppID) {
            all += 1
            underWay[app, default: 0] += 1
        }

        mutating func end(_ app: AppID) {
            let left = underWay[app, default: 0] - 1
            precondition(left >= 0, "who ends has begun")
            all -= 1
            underWay[app] = left == 0 ? nil : left
        }
    }

    private let placesMax: Int
    private let waitingPerAppMax: Int
    private let patience: Duration
    private let book = Mutex(Book())

    package init(_ limits: GatewayLimits) {
        placesMax = limits.costlyReadsMax
        waitingPerAppMax = limits.costlyReadsWaitingPerAppMax
        patience = limits.costlyReadsPatience
    }

    /// True once it is the app's turn, which is to be given back with `end`. False: as many of the app's wait as may, or it
    /// has waited as long as one may.
    ///
    /// - Parameter isPatient: waits however long, and however many do: what is bounded elsewhere, or has to be read.
    package func begin(_ app: AppID, isPatient: Bool = false) async -> Bool {
        await withCheckedContinuation { (turn: CheckedContinuation<Bool, Never>) in
            let answer: Bool? = book.withLock { book in
                let waiting = book.line.count { $0.app == app }
                if waiting == 0, book.hasRoom(for: app, of: placesMax) {
                    book.begin(app)
                    return true
                }
                guard isPatient || waiting < waitingPerAppMax else { return false }
                book.line.append(Waiter(app: app, until: isPatient ? nil : .now + patience, turn: turn))
                return nil
            }
            if let answer { turn.resume(returning: answer) }
        }
    }

    package func end(_ app: AppID) {
        let now = ContinuousClock.now
        let (next, late) = book.withLock { book -> ([Waiter], [Waiter]) in
            book.end(app)
            let isLate = { (waiter: Waiter) in waiter.until.map { $0 <= now } ?? false }
            let late = book.line.filter(isLate)
            book.line.removeAll(where: isLate)
            var next: [Waiter] = []
            while let place = book.line.firstIndex(where: { book.hasRoom(for: $0.app, of: placesMax) }) {
                next.append(book.line.remove(at: place))
                book.begin(next[next.count - 1].app)
            }
            return (next, late)
        }
        for waiter in late { waiter.turn.resume(returning: false) }
        for waiter in next { waiter.turn.resume(returning: true) }
    }

    /// How many wait.
    package var waiting: Int { book.withLock { $0.line.count } }
}

extension CostlyReads {
    /// What is read when it is the app's turn.
    func read<Value: Sendable>(
        of app: AppID, _ reading: () async throws(StoreFault) -> Value
    ) async throws(Problem) -> Value {
        guard await begin(app) else {
            throw Problem(
                .shareUsedUp,
                "This app has as many lists and looks at messages under way as one app may. Ask for one after the other.",
                retryAfterSeconds: RetryHint.overloaded)
        }
        defer { end(app) }
        do { return try await reading() } catch { throw Problem(error, .reads) }
    }

    /// The same, of what has to be read.
    func readPatiently<Value: Sendable>(
        of app: AppID, _ reading: () async throws(StoreFault) -> Value
    ) async throws(StoreFault) -> Value {
        _ = await begin(app, isPatient: true)
        defer { end(app) }
        return try await reading()
    }
}
