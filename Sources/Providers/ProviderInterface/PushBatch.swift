import Basis

/// Requests that leave together on one lane: one parcel's pushes, or a part of them.
///
/// A request carries the pushes to 1 to n members of the parcel: more than one where the provider takes several tokens in
/// one request.
///
/// Flat on purpose: shared header fields and frames once, then one byte array with each request's path, id and own body
/// part, and their ranges. Immutable; any thread.
package struct PushBatch: Sendable {
    /// A header field that all requests of the batch carry.
    package struct SharedField: Sendable {
        package let name: [UInt8]
        package let value: [UInt8]
        /// Whether the value may enter the connection's compression table: whether it repeats on a connection often
        /// enough to deserve a place in the peer's small header table.
        package let isIndexed: Bool

        package init(_ name: String, _ value: some Sequence<UInt8>, isIndexed: Bool = true) {
            self.name = Array(name.utf8)
            self.value = Array(value)
            self.isIndexed = isIndexed
        }
    }

    /// The beginning and end that bodies of one form (the same language, for example) share.
    package struct BodyFrame: Sendable {
        package let prefix: [UInt8]
        package let suffix: [UInt8]
        /// The order of a request's pieces between prefix and suffix; nil: its body part is one piece.
        package let pattern: BodyPattern?

        package init(prefix: [UInt8] = [], suffix: [UInt8] = [], pattern: BodyPattern? = nil) {
            (self.prefix, self.suffix, self.pattern) = (prefix, suffix, pattern)
        }
    }

    package struct Request: Sendable {
        /// The place of its first member in the batch's `members`. It comes back with the answer.
        package let tag: Int32
        /// The number of its members, at least 1: what it weighs in its provider's pace.
        package let weight: Int32
        package let path: ByteRange
        /// The value of the provider's id header (`apns-id`); empty: it has none.
        package let id: ByteRange
        /// The index of the body's frame in the batch's `frames`.
        package let frame: Int32
        /// The bytes between the frame's prefix and suffix, or the pieces for its pattern.
        package let body: ByteRange

        @inlinable package init(
            tag: Int32, weight: Int32 = 1, path: ByteRange, id: ByteRange, frame: Int32 = 0, body: ByteRange
        ) { (self.tag, self.weight, self.path, self.id, self.frame, self.body) = (tag, weight, path, id, frame, body) }
    }

    package let idHeader: [UInt8]
    package let sharedFields: [SharedField]
    package let bytes: [UInt8]
    /// At least one.
    package let frames: [BodyFrame]
    package let requests: [Request]
    /// The positions in the parcel of all members, request by request.
    package let members: [Int32]
    /// No stream is opened later than this: requests without one are answered `.withdrawn`.
    package let noStreamAfter: MonotonicInstant
    /// Its requests leave before those of the lane's other batches.
    package let isUrgent: Bool
    /// Its sink is told when all its requests have streams: `AnswerBatch.isSent`.
    package let reportsWhenSent: Bool

    package init(
        idHeader: [UInt8], sharedFields: [SharedField], bytes: [UInt8], frames: [BodyFrame] = [BodyFrame()],
        requests: [Request], members: [Int32] = [], noStreamAfter: MonotonicInstant, isUrgent: Bool = false,
        reportsWhenSent: Bool = false
    ) {
        precondition(requests.allSatisfy { frames.indices.contains(Int($0.frame)) })
        (self.idHeader, self.sharedFields, self.bytes) = (idHeader, sharedFields, bytes)
        (self.frames, self.requests, self.members) = (frames, requests, members)
        (self.noStreamAfter, self.isUrgent, self.reportsWhenSent) = (noStreamAfter, isUrgent, reportsWhenSent)
    }
}

/// Names a batch on its lane. The submitter chooses it, unique there while any of its requests is unanswered.
package struct BatchTicket: Hashable, Sendable {
    package let value: UInt64
    package init(_ value: UInt64) { self.value = value }
}
