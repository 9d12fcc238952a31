import Model
import Store
import Synchronization

/// The work that follows the commit of a cut, for each app in the order of its commits.
///
/// Neither a client's answer nor the app's next cut waits for it.
final class CutEnds: Sendable {
    private struct End {
        let number: Int
        let task: Task<Void, Never>
    }

    private let last = Mutex<[AppID: End]>([:])  // lookup only

    func add(_ app: AppID, _ work: @escaping @Sendable () async -> Void) {
        last.withLock { last in
            let before = last[app]
            let number = (before?.number ?? 0) + 1
            last[app] = End(
                number: number,
                task: OwnWork.start {
                    Task {
                        await before?.task.value
                        await work()
                        self.forget(app, number)
                    }
                })
        }
    }

    private func forget(_ app: AppID, _ number: Int) {
        last.withLock { if $0[app]?.number == number { $0[app] = nil } }
    }
}
