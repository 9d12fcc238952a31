import Basis
import Reactor
import Store

/// Lets messages fall due at their hour.
///
/// Sleeps until the next one is due. An accepted message that names its hour wakes it too. Any number of schedulers run
/// beside each other.
actor Scheduler {
    /// The longest delay of a message whose notification was lost.
    private static let sleepMax: Duration = .seconds(30)

    private let store: MessageStore
    nonisolated let signal = CoalescingSignal()
    private let database: DatabaseWatch
    private let fellDue: @Sendable () -> Void
    private var alarmClock: Task<Void, Never>?

    init(store: MessageStore, database: DatabaseWatch, fellDue: @escaping @Sendable () -> Void) {
        (self.store, self.database, self.fellDue) = (store, database, fellDue)
    }

    func run() async {
        signal.notify()
        for await _ in signal.signals {
            do {
                if try await store.fallDue() > 0 { fellDue() }
                setAlarm(try await store.nextDue() ?? Self.sleepMax)
            } catch {
                database.failed("scheduled work delayed", error)
                // Some messages may have fallen due before the failure.
                fellDue()
                setAlarm(.seconds(1))
            }
        }
        alarmClock?.cancel()
    }

    private func setAlarm(_ pause: Duration) {
        alarmClock?.cancel()
        let signal = signal
        alarmClock = Task {
            do { try await Task.sleep(for: min(pause, Self.sleepMax)) } catch { return }
            signal.notify()
        }
    }
}
