/// How many parcels of transactional messages one lease takes together.
///
/// Most have one member: what a lease costs whatever it brings, the way to the disk above all, is shared by so many.
package struct LeaseGroup: Equatable, Sendable {
    /// More would keep the first ones waiting for the last.
    package var parcelsMax: Int
    /// Of all of them; a parcel by itself may have more, as ever.
    package var membersMax: Int

    package static let standard = LeaseGroup(parcelsMax: 64, membersMax: 1_000)

    package init(parcelsMax: Int, membersMax: Int) {
        precondition(parcelsMax > 0 && membersMax > 0)
        self.parcelsMax = parcelsMax
        self.membersMax = membersMax
    }
}
