/// The numbered steps between a request and its settled outcome: the places where a crash must lose nothing.
///
/// The service announces each step as it passes; production listens with nothing (`nil`), and only the thread test's own
/// executable is built with a listener, one that ends the process there.
package enum Step: Int, Sendable, CaseIterable {
    /// The message was read and checked; nothing is written.
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
    /// A parcel was claimed and its badges were raised, not committed.
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
}

/// Who is told of the steps. Called on any thread.
package protocol StepListener: Sendable {
    func reached(_ step: Step)
}
