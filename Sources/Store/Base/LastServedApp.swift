import Synchronization

/// The app whose work this process did last: the next app comes next.
package final class LastServedApp: Sendable {
    private let last = Atomic<Int64>(0)

    package init() {}

    package var app: Int64 {
        get { last.load(ordering: .relaxed) }
        set { last.store(newValue, ordering: .relaxed) }
    }
}
