import Basis
import Reactor
import Store
import Synchronization

/// Does work round by round while there is more. Then it sleeps until it is notified, work falls due, or the poll
/// interval is over.
///
/// Any number of loops, in any number of processes, may do the same work: the database gives each piece to one of them.
package final class WorkLoop: Sendable {
    package enum Round: Sendable, Equatable {
        /// There may be more to do: the next round follows at once.
        case more
        /// All is done. More falls due after this time; nil: only a notification tells when.
        case idle(dueIn: Duration?)

        package static let idle = Round.idle(dueIn: nil)
    }

    /// The sleep after a round that did not find the work that is due: another loop's transaction holds it.
    private static let pauseWhileHeld: Duration = .milliseconds(50)

    private let consequence: String
    private let pollEvery: Duration?
    private let waitsAtStart: Bool
    private let pauseAfterFault: Duration
    private let database: DatabaseWatch
    private let round: @Sendable (Int) async throws(StoreFault) -> Round
    private let signal = CoalescingSignal()
    private let isStopped = Atomic(false)

    /// - Parameters:
    ///   - consequence: of a fault, in the log's words, such as "planning delayed".
    ///   - pollEvery: the longest sleep, in case a notification was lost; nil: only a notification ends it.
    ///   - waitsAtStart: the first round follows the first poll interval.
    ///   - pauseAfterFault: the poll after a fault comes so soon; it repeats the round from its beginning.
    ///   - round: takes the number of rounds since the sleep, from 0.
    package init(
        _ consequence: String, pollEvery: Duration?, waitsAtStart: Bool = false,
        pauseAfterFault: Duration = .seconds(1), _ context: ServiceContext,
        round: @escaping @Sendable (Int) async throws(StoreFault) -> Round
    ) {
        (self.consequence, self.pollEvery, self.waitsAtStart) = (consequence, pollEvery, waitsAtStart)
        (self.pauseAfterFault, database, self.round) = (pauseAfterFault, context.database, round)
    }

    /// Ends the sleep. After a round under way, another one follows.
    package func notify() { signal.notify() }

    /// Makes `run` return after the round under way.
    package func stop() {
        isStopped.store(true, ordering: .relaxed)
        signal.remove()
    }

    package func run() async {
        var alarm: Alarm?
        if let pollEvery {
            if waitsAtStart { alarm = setAlarm(Clocks.monotonicNow() + pollEvery) } else { notify() }
        }
        for await _ in signal.signals {
            guard let sleep = await work() else { continue }
            let now = Clocks.monotonicNow()
            // A pending alarm that rings sooner stays: the work after it sets the next one.
            if let alarm, alarm.at > now, alarm.at <= now + sleep { continue }
            alarm?.task.cancel()
            alarm = setAlarm(now + sleep)
        }
        alarm?.task.cancel()
    }

    /// Returns the longest sleep; nil: until a notification.
    private func work() async -> Duration? {
        var rounds = 0
        do throws(StoreFault) {
            while !isStopped.load(ordering: .relaxed), !Task.isCancelled {
                if case .idle(let due) = try await round(rounds) {
                    return [due == .zero ? Self.pauseWhileHeld : due, pollEvery].compactMap(\.self).min()
                }
                rounds += 1
            }
            return nil
        } catch {
            database.failed(consequence, error)
            return pollEvery.map { min($0, pauseAfterFault) }
        }
    }

    private struct Alarm {
        let at: MonotonicInstant
        let task: Task<Void, Never>
    }

    private func setAlarm(_ at: MonotonicInstant) -> Alarm {
        let signal = signal
        return Alarm(
            at: at,
            task: Task {
                let pause = at - Clocks.monotonicNow()
                if pause > .zero { do { try await Task.sleep(for: pause) } catch { return } }
                signal.notify()
            })
    }
}

extension [WorkLoop] {
    /// Returns when all were stopped, or the task is cancelled.
    package func run() async {
        await withTaskGroup(of: Void.self) { group in
            for loop in self { group.addTask { await loop.run() } }
        }
    }

    /// Makes `run` return after the rounds under way.
    package func stop() {
        for loop in self { loop.stop() }
    }
}
