import Basis

package struct AppSettings: Equatable, Sendable {
    package var stale: StalePolicy
    /// The time zone of devices whose own is unknown: a name that the database knows.
    package var timeZone = TimeZoneName.utc
    package var quietHours: QuietHours?
    /// The daily cap, at most `DailyCap.max`; nil: no cap.
    package var dailyCap: Int32?
    package var wakeUp = WakeUpSettings()
    package var triggers = TriggerSettings()

    package init(stale: StalePolicy = StalePolicy()) { self.stale = stale }
}

/// The days after which a registration that was not renewed counts as stale, by provider. nil: never.
///
/// Apps register at every start, so silence means that the app is gone.
package struct StalePolicy: Equatable, Sendable {
    private var days: [Int32?] = Provider.allCases.map { _ in nil }

    package init() {}

    package subscript(provider: Provider) -> Int32? {
        get { days[Self.place(provider)] }
        set { days[Self.place(provider)] = newValue }
    }

    private static func place(_ provider: Provider) -> Int { Int(provider.rawValue) - 1 }

    package func staleCutoffs(now: WallInstant) -> [StaleCutoffs] {
        Provider.allCases.compactMap { provider in
            self[provider].map { StaleCutoffs(provider: provider, instant: now + .seconds(-Int64($0) * 86_400)) }
        }
    }
}

/// A cutoff: a provider's registrations last renewed before it are stale.
package struct StaleCutoffs: Equatable, Sendable {
    package let provider: Provider
    package let instant: WallInstant
    package init(provider: Provider, instant: WallInstant) { (self.provider, self.instant) = (provider, instant) }
}
