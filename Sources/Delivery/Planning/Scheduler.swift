import Logging
import Reactor
import Store

/// Lets messages fall due at their hour.
///
/// Sleeps until the next one is due: rung where one was accepted that names its hour, and when it wakes. Any number of them run beside
/// each other.
actor Scheduler {
    /// The safety net under what is told: an hour that nobody was told of is missed by no more.
    private static let sleepMax: Duration = .seconds(30)

    private let store: MessageStore
    nonisolated let signal = CoalescingSignal()
    private let log: Logger
    private let fellDue: @Sendable () -> Void
    private var alarmClock: Task<Void, Never>?

    init(store: MessageStore, log: Logger, fellDue: @escaping @Sendable () -> Void) {
        self.store = store
        self.log = log
        self.fellDue = fellDue
    }

    /// Until the bell is removed.
    func run() async {
        signal.notify()
        for await _ in signal.signals {
            do {
                if try await store.fallDue() > 0 { fellDue() }
                setAlarm(try await store.nextDue() ?? Self.sleepMax)
            } catch {
                log.warning("What is due waits for the database", metadata: ["fault": "\(error)"])
                // Some may have fallen due before it failed.
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
