import Postgres

/// The program's own work, also where an app's request led to it.
package enum OwnWork {
    /// Runs code that starts tasks. They outlive the request, and count for no app in the database's pool (P7).
    package static func start<Value>(_ work: () -> Value) -> Value {
        PoolShare.$current.withValue(.common, operation: work)
    }
}
