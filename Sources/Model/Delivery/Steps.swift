/// The numbered steps from a request to its settled outcome, and of control requests. A crash at any loses nothing.
///
/// The service announces each step but those that are written and not committed, which crash tests see from outside.
/// Only the executable of the crash tests has a listener, which ends the process there.
package enum Step: Int, Sendable, CaseIterable {
    /// The message was read and validated; nothing is written.
    case messageRead = 1
    /// The message's row is written, not committed.
    case messageWritten = 2
    /// The message is committed; the client has no answer.
    case messageCommitted = 3
    /// `202` was handed to the server's socket.
    case messageAnswered = 4
    /// A slice of the audience was cut into parcels, not committed.
    case sliceWritten = 5
    /// The slice is committed.
    case sliceCommitted = 6
    /// A parcel was leased and its badges were incremented, not committed.
    case leaseWritten = 7
    /// The lease is committed; nothing was sent.
    case leaseCommitted = 8
    /// The parcel's requests are encoded and handed to the lane.
    case batchSubmitted = 9
    /// The first answer arrived; none is settled.
    case firstAnswer = 10
    /// Every answer arrived; none is settled.
    case lastAnswer = 11
    /// The token verdicts are committed; the parcel is not settled.
    case verdictsCommitted = 12
    /// The settle is written, not committed.
    case settleWritten = 13
    /// The settle is committed.
    case settleCommitted = 14
    /// Messages whose send time has come have plans, not committed.
    case scheduleWritten = 15
    /// The plans are committed; no planner was notified.
    case scheduleCommitted = 16
    /// A control request put rows on hold, released, ended or deleted them, not committed.
    case stopWritten = 17
    /// These rows are committed; more may follow.
    case stopCommitted = 18
    /// Direct messages, their parcels and the leases of these are written, not committed.
    case cutWritten = 19
    /// They are committed; no client has an answer, and nothing was sent.
    case cutCommitted = 20
    /// Writes to a data tree, with the watches that they raise, are written, not committed.
    case nodeWritten = 21
    /// They are committed; no client has an answer, and nobody is notified of the changes.
    case nodeCommitted = 22
    /// Wake-ups are cut into parcels, and their subscriptions marked, not committed.
    case fanOutWritten = 23
    /// These are committed; nothing was sent.
    case fanOutCommitted = 24
    /// The removal of a large node in portions is noted, not committed.
    case removalWritten = 25
    /// It is committed; no client has an answer, and nothing was removed. Each portion passes `nodeWritten`.
    case removalCommitted = 26
    /// A portion is committed; that the next one may follow is written, not committed.
    case portionCommitted = 27
    /// Updates of items, and the held pushes of triggers that they fired, are written, not committed.
    case updateWritten = 28
    /// They are committed; no client has an answer, and this process has not notified itself.
    case updateCommitted = 29
    /// Pushes of subscriptions to items are cut into parcels, and their devices' windows shut, not committed.
    case pushesWritten = 30
    /// These are committed; nothing was sent.
    case pushesCommitted = 31
}

/// A listener that every step is reported to. Called on any thread.
package protocol StepListener: Sendable {
    func reached(_ step: Step)
}
