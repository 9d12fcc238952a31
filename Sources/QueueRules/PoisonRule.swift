/// The bounds for a parcel whose leases expire: one of its pushes may end every process that sends it (rule 10).
package enum PoisonRule {
    /// The expired leases from which a parcel is quarantined. Otherwise parcels in one process with a poison push would
    /// end as poison too.
    package static let quarantineFrom: Int16 = 2
    /// The expired leases from which a parcel of several members is bisected. Two happen (a deploy, a crash, a frozen
    /// machine); three of one parcel are a pattern.
    package static let bisectedFrom: Int16 = 3
    /// The expired leases from which a single push is given up. Operators and kernels kill processes too, but hardly
    /// ten times in half an hour while one push is sent alone.
    package static let givenUpFrom: Int16 = 10
    /// The first pause of a single push, in seconds. A process that was killed needs about as long to start again.
    package static let pauseSecondsFirst = 15
    /// The longest pause of a single push, in seconds. Longer ones would outlive many pushes.
    package static let pauseSecondsMax = 240

    /// Whether a lease of so many open members may send them.
    package static func maySend(_ members: Int, afterLapses lapses: Int16) -> Bool {
        lapses < (members > 1 ? bisectedFrom : givenUpFrom)
    }

    /// How long a parcel waits after its latest lease expired: a single push that is tried on, twice as long each time.
    package static func pause(_ members: Int, afterLapses lapses: Int16) -> Duration {
        guard members == 1, lapses >= bisectedFrom, lapses < givenUpFrom else { return .zero }
        return .seconds(min(pauseSecondsFirst << Int(lapses - bisectedFrom), pauseSecondsMax))
    }
}
