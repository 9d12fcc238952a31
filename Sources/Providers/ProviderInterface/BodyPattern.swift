import Basis

/// The pattern of bodies that hold devices' own values: fixed text and a push's own pieces, any of them more than once.
/// Only the pieces are kept for each push; its body exists while it is sent.
package struct BodyPattern: Sendable {
    package struct Step: Sendable {
        /// The fixed text, which comes first.
        package let fixed: ByteRange
        package let piece: Int

        package init(fixed: ByteRange, piece: Int) { (self.fixed, self.piece) = (fixed, piece) }
    }

    package let bytes: [UInt8]
    package let steps: [Step]
    /// The text in place of each piece that a push leaves out.
    package let standIns: [ByteRange]

    package init(bytes: [UInt8], steps: [Step], standIns: [ByteRange]) {
        precondition(steps.allSatisfy { standIns.indices.contains($0.piece) })
        (self.bytes, self.steps, self.standIns) = (bytes, steps, standIns)
    }

    private static let lengthBytes = 2
    /// The length of a piece that is left out.
    private static let leftOut = Int(UInt16.max)
    private static let pieceBytesMax = leftOut - 1

    /// Begins a piece, and returns its start; `endPiece` ends it.
    package static func beginPiece(in pieces: inout [UInt8]) -> Int {
        pieces.append(0)
        pieces.append(0)
        return pieces.count
    }

    /// Ends a piece, and returns its length; nil: it is too long to be used.
    package static func endPiece(from start: Int, in pieces: inout [UInt8]) -> Int? {
        let count = pieces.count - start
        guard count <= pieceBytesMax else { return nil }
        write(count, before: start, in: &pieces)
        return count
    }

    /// Leaves a piece out: the body gets its stand-in.
    package static func leaveOut(from start: Int, in pieces: inout [UInt8]) {
        write(leftOut, before: start, in: &pieces)
    }

    private static func write(_ length: Int, before start: Int, in pieces: inout [UInt8]) {
        pieces[start - 2] = UInt8(truncatingIfNeeded: length >> 8)
        pieces[start - 1] = UInt8(truncatingIfNeeded: length)
    }

    /// Appends the bytes between prefix and suffix. Allocates nothing beside the two buffers.
    /// - Parameters:
    ///   - pieces: the pieces of one push, one after the other.
    ///   - starts: a buffer for the time of the call.
    package func fill(_ pieces: Span<UInt8>, into body: inout [UInt8], starts: inout [Int]) {
        starts.removeAll(keepingCapacity: true)
        var place = 0
        while place + Self.lengthBytes <= pieces.count {
            starts.append(place)
            let length = Self.length(pieces, at: place)
            place += Self.lengthBytes + (length == Self.leftOut ? 0 : length)
        }
        for step in steps {
            Self.append(bytes.span.extracting(step.fixed.range), to: &body)
            guard step.piece < starts.count else { continue }
            let start = starts[step.piece]
            let length = Self.length(pieces, at: start)
            if length == Self.leftOut {
                Self.append(bytes.span.extracting(standIns[step.piece].range), to: &body)
            } else {
                let from = start + Self.lengthBytes
                Self.append(pieces.extracting(from..<from + length), to: &body)
            }
        }
    }

    private static func length(_ pieces: Span<UInt8>, at start: Int) -> Int {
        Int(pieces[start]) << 8 | Int(pieces[start + 1])
    }

    private static func append(_ text: Span<UInt8>, to body: inout [UInt8]) {
        body.append(addingCapacity: text.count) { (copy: inout OutputSpan<UInt8>) in
            for index in text.indices { copy.append(text[index]) }
        }
    }
}
