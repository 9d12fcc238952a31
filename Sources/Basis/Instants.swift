/// A point on the clock that never steps: nanoseconds since an origin that only this process knows.
package struct MonotonicInstant: Hashable, Comparable, Sendable {
    package let nanoseconds: Int64
    @inlinable package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    package static func < (left: MonotonicInstant, right: MonotonicInstant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }
    package static func + (instant: MonotonicInstant, duration: Duration) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: instant.nanoseconds + duration.wholeNanoseconds)
    }
    package static func - (later: MonotonicInstant, earlier: MonotonicInstant) -> Duration {
        .nanoseconds(later.nanoseconds - earlier.nanoseconds)
    }
}

/// A point in civil time: microseconds since 1970-01-01T00:00:00Z, as PostgreSQL keeps it. This clock may step.
package struct WallInstant: Hashable, Comparable, Sendable {
    package let microseconds: Int64
    @inlinable package init(microseconds: Int64) { self.microseconds = microseconds }
    package init(secondsSince1970 seconds: Int64) { microseconds = seconds * 1_000_000 }

    /// The seconds, rounded down.
    package var secondsSince1970: Int64 {
        microseconds >= 0 ? microseconds / 1_000_000 : (microseconds - 999_999) / 1_000_000
    }
    package static func < (left: WallInstant, right: WallInstant) -> Bool { left.microseconds < right.microseconds }
    package static func + (instant: WallInstant, duration: Duration) -> WallInstant {
        WallInstant(microseconds: instant.microseconds + duration.wholeNanoseconds / 1_000)
    }
    package static func - (later: WallInstant, earlier: WallInstant) -> Duration {
        .microseconds(later.microseconds - earlier.microseconds)
    }
}

extension Duration {
    /// The nanoseconds. Saturates at about 292 years.
    @inlinable package var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        if overflow { return seconds < 0 ? .min : .max }
        let (sum, carried) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
        return carried ? (seconds < 0 ? .min : .max) : sum
    }
}
