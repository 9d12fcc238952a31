import Basis
import Logging
import Model
import Reactor

/// The log, clock, steps and database of one process. Its services share them as one value, which is made once.
package struct ServiceContext: Sendable {
    package let log: Logger
    /// Returns the civil time. Tests set their own.
    package let clock: @Sendable () -> WallInstant
    /// Follows the steps of requests and pushes; nil in production.
    package let steps: (any StepListener)?
    /// Failed calls to the database are reported to it.
    package let database: DatabaseWatch

    /// The defaults are for commands and tests: they log nothing.
    package init(
        log: Logger = Logger(label: "carillon", factory: { _ in SwiftLogNoOpLogHandler() }),
        clock: @escaping @Sendable () -> WallInstant = { Clocks.wallNow() },
        steps: (any StepListener)? = nil, database: DatabaseWatch = DatabaseWatch()
    ) { (self.log, self.clock, self.steps, self.database) = (log, clock, steps, database) }
}
