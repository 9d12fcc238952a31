import Basis
import Model
import Synchronization

/// The providers that each app reached a moment ago, which decide what its messages are checked for.
///
/// Reading them for each message would cost more than the message. The transaction that writes a direct message reads
/// them once for its group, and finds out if they have changed.
package final class ReachedProviders: Sendable {
    package static let keptFor: Duration = .seconds(10)
    private static let appsMax = 4_096

    private struct Reading {
        let providers: [Provider]
        let until: MonotonicInstant
    }

    private let readings = Mutex<[AppID: Reading]>([:])  // lookup only

    package init() {}

    /// Returns nil if they were not read lately.
    package func providers(of app: AppID, now: MonotonicInstant) -> [Provider]? {
        readings.withLock { readings in
            guard let known = readings[app], now < known.until else { return nil }
            return known.providers
        }
    }

    package func note(_ providers: [Provider], of app: AppID, now: MonotonicInstant) {
        readings.withLock { readings in
            if readings.count >= Self.appsMax, readings[app] == nil { readings = [:] }
            readings[app] = Reading(providers: providers, until: now + Self.keptFor)
        }
    }
}
