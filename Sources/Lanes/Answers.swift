import Basis
import LaneRules
import Model
import ProviderInterface

/// What came of one request. Each submitted request gets exactly one, whatever happens.
package struct Answer: Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        /// A whole response. `retryAfter` and `body` lie in the batch's `bytes`; both are empty for a plain 200.
        case response(status: UInt16, retryAfter: ByteRange, body: ByteRange)
        /// No byte of it was processed by the peer: sending it again can't duplicate it.
        case unsent(TransportFault)
        /// It left, and no whole answer came.
        case unknown(TransportFault)
    }

    package let tag: Int32
    package let kind: Kind
    /// Where the answer was heard, or waited for in vain. nil: the lane handed the request back itself.
    package let origin: AnswerOrigin?

    @inlinable package init(tag: Int32, kind: Kind, origin: AnswerOrigin? = nil) {
        self.tag = tag
        self.kind = kind
        self.origin = origin
    }
}

/// The connection that carried a request, and as whom it went: what an answer says about credential and connection, it
/// says about these.
package struct AnswerOrigin: Sendable, Equatable {
    package let connection: ConnectionID
    /// `Authorization.generation` of the one in this request; nil where it had none (the certificate speaks).
    package let authorization: UInt64?

    @inlinable package init(connection: ConnectionID, authorization: UInt64?) {
        self.connection = connection
        self.authorization = authorization
    }
}

/// Answers to one batch, gathered over one turn of the lane's loop.
package struct AnswerBatch: Sendable {
    package let ticket: BatchTicket
    package let answers: [Answer]
    package let bytes: [UInt8]
    /// None of the batch's requests waits for a stream any more, as far as it was to be told. It may come without answers.
    package let isSent: Bool

    package init(ticket: BatchTicket, answers: [Answer], bytes: [UInt8], isSent: Bool = false) {
        self.ticket = ticket
        self.answers = answers
        self.bytes = bytes
        self.isSent = isSent
    }
}

/// Who gets a batch's answers. Called on the lane's thread, at most once a turn; must not block.
package protocol AnswerSink: AnyObject, Sendable {
    func deliver(_ answers: AnswerBatch)
}
