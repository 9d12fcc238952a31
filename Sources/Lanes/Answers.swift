import Basis
import Model
import ProviderInterface

/// The result of one request, for all its members. Each submitted request gets exactly one, whatever happens.
package struct Answer: Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        /// A whole response. `retryAfter` and `body` lie in the batch's `bytes`; both are empty for a plain 200.
        case response(status: UInt16, retryAfter: ByteRange, body: ByteRange)
        /// The peer processed no byte of the request: sending it again can't duplicate it.
        case unsent(TransportFault)
        /// The request left, and no whole answer came.
        case unknown(TransportFault)
    }

    /// The tag of the request.
    package let tag: Int32
    package let weight: Int32
    package let kind: Kind
    /// The connection that the answer came on, or failed to come on. nil: the lane itself handed the request back.
    package let origin: AnswerOrigin?

    @inlinable package init(tag: Int32, weight: Int32 = 1, kind: Kind, origin: AnswerOrigin? = nil) {
        (self.tag, self.weight, self.kind, self.origin) = (tag, weight, kind, origin)
    }
}

/// Answers to one batch, gathered over one tick of the lane's loop.
package struct AnswerBatch: Sendable {
    package let ticket: BatchTicket
    package let answers: [Answer]
    /// The members of the submitted batch, to which the answers' tags refer.
    package let members: [Int32]
    package let bytes: [UInt8]
    /// None of the batch's requests waits for a stream any more; set only if the batch reports it. It may come without
    /// answers.
    package let isSent: Bool

    package init(ticket: BatchTicket, answers: [Answer], members: [Int32], bytes: [UInt8], isSent: Bool = false) {
        (self.ticket, self.answers, self.members, self.bytes, self.isSent) = (ticket, answers, members, bytes, isSent)
    }
}

/// Receives a batch's answers. Called on the lane's thread, at most once a tick; must not block.
package protocol AnswerSink: AnyObject, Sendable {
    func deliver(_ answers: AnswerBatch)
}
