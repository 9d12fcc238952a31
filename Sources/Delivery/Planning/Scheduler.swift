import Store
import Workers

extension WorkLoop {
    /// Lets messages fall due at their hour. An accepted message that names its hour notifies it.
    ///
    /// - Parameter fellDue: called when messages have fallen due.
    static func scheduler(
        _ store: MessageStore, _ context: ServiceContext, fellDue: @escaping @Sendable () -> Void
    ) -> WorkLoop {
        WorkLoop("scheduled work delayed", pollEvery: .seconds(30), context) { _ throws(StoreFault) in
            do throws(StoreFault) {
                if try await store.fallDue() > 0 { fellDue() }
                return .idle(dueIn: try await store.nextDue())
            } catch {
                // Some messages may have fallen due before the failure.
                fellDue()
                throw error
            }
        }
    }
}
