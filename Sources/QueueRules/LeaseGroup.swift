/// How many parcels of transactional messages one lease takes together.
///
/// Most of these have one member. The group shares the fixed cost of a lease, above all the write to disk.
package struct LeaseGroup: Equatable, Sendable {
    /// More would keep the first parcels waiting for the last.
    package var parcelsMax: Int
    /// The members of all parcels together; a parcel leased by itself may have more.
    package var membersMax: Int

    package static let standard = LeaseGroup(parcelsMax: 64, membersMax: 1_000)

    package init(parcelsMax: Int, membersMax: Int) {
        precondition(parcelsMax > 0 && membersMax > 0)
        (self.parcelsMax, self.membersMax) = (parcelsMax, membersMax)
    }
}
