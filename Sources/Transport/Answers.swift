import HTTP2
import PushModel

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

    @inlinable package init(tag: Int32, kind: Kind) {
        self.tag = tag
        self.kind = kind
    }
}

/// Answers to one batch, gathered over one turn of the lane's loop.
package struct AnswerBatch: Sendable {
    package let ticket: BatchTicket
    package let answers: [Answer]
    package let bytes: [UInt8]

    package init(ticket: BatchTicket, answers: [Answer], bytes: [UInt8]) {
        self.ticket = ticket
        self.answers = answers
        self.bytes = bytes
    }
}

/// Who gets a batch's answers. Called on the lane's thread, at most once a turn; must not block.
package protocol AnswerSink: AnyObject, Sendable {
    func deliver(_ answers: AnswerBatch)
}
