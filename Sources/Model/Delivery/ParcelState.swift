/// The state of a parcel, as stored.
package enum ParcelState: Int16, Hashable, Sendable, CaseIterable {
    /// It may be leased once it is due. → leased; onHold (its message is paused or cancelled)
    case ready = 1
    /// A process sends it until its lease ends. → ready, rateLimited (lease expired), onHold; deleted (settled)
    case leased = 2
    /// Its message is paused or cancelled. → ready, rateLimited (resumed); leased (to end its members)
    case onHold = 3
    /// It waits until its message's rate allows more. → leased; onHold
    case rateLimited = 4
}
