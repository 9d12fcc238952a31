import Basis
import Logging
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
    private let log: Logger
    private let fellDue: @Sendable () -> Void
    private var alarmClock: Task<Void, Never>?

    init(store: MessageStore, log: Logger, fellDue: @escaping @Sendable () -> Void) {
        (self.store, self.log, self.fellDue) = (store, log, fellDue)
    }

    func run() async {
        signal.notify()
        for await _ in signal.signals {
            do {
                if try await store.fallDue() > 0 { fellDue() }
                setAlarm(try await store.nextDue() ?? Self.sleepMax)
            } catch {
                log.warning("Database failure: scheduled work delayed", metadata: ["fault": "\(error)"])
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
