/// The numbered steps between a request and its settled outcome, and of what is said of a message meanwhile: the places
/// where a crash must lose nothing.
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
    /// Messages whose hour has come have plans, not committed.
    case scheduleWritten = 15
    /// They are committed; no planner was told.
    case scheduleCommitted = 16
    /// Some of the rows that a pause, resume, cancel or rate moves were held, released, ended or forgotten, not committed.
    case stopWritten = 17
    /// These are committed; more may follow.
    case stopCommitted = 18

    /// Only a message passes it that named its hour, or of which something is said while it runs; else every push does.
    package var isOfAControl: Bool {
        switch self {
        case .messageRead, .messageWritten, .messageCommitted, .messageAnswered, .sliceWritten, .sliceCommitted,
            .leaseWritten, .leaseCommitted, .batchSubmitted, .firstAnswer, .lastAnswer, .verdictsCommitted,
            .settleWritten, .settleCommitted:
            false
        case .scheduleWritten, .scheduleCommitted, .stopWritten, .stopCommitted: true
        }
    }

    /// In the order in which a push passes them.
    package static let ofEveryPush = allCases.filter { !$0.isOfAControl }
}

/// Who is told of the steps. Called on any thread.
package protocol StepListener: Sendable {
    func reached(_ step: Step)
}
