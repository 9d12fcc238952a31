import Basis
import Content
import JSON
import QueueRules

/// Fills the placeholders of one text, push by push. Each value is escaped once and kept as a piece of the push's own
/// (`BodyPattern`). The buffers are reused for each push.
package struct PlaceholderFiller: Sendable {
    private let text: PlaceholderText
    private let placeholders: MessagePlaceholders
    /// The length of each piece of the current push, by place.
    package private(set) var lengths: [PieceLength]
    /// The fallback for each place, already escaped, and a part of the pattern.
    private let fallbacks: [[UInt8]]
    private let fallbackLengths: [PieceLength]
    private var scratch: [UInt8] = []

    package init(_ text: PlaceholderText, _ placeholders: MessagePlaceholders) {
        (self.text, self.placeholders) = (text, placeholders)
        let fallbacks = text.fallbacks(placeholders)
        self.fallbacks = fallbacks
        fallbackLengths = fallbacks.map { PieceLength(json: $0) }
        lengths = fallbackLengths
    }

    /// Appends the pieces of one push. Returns false if a piece is longer than any body may be.
    /// - Parameters:
    ///   - member: the member's position in the parcel, and in the values.
    ///   - appendMark: appends the bytes for a provider's own mark.
    package mutating func append(
        _ values: MemberValues, of member: Int, to bytes: inout [UInt8],
        appendMark: (_ mark: UInt8, _ bytes: inout [UInt8]) -> Void
    ) -> Bool {
        for place in text.places.indices {
            let start = BodyPattern.beginPiece(in: &bytes)
            var textBytes = 0
            switch text.places[place] {
            case .mark(let mark): appendMark(mark, &bytes)
            case .placeholder(let number, let isNested):
                let use = placeholders.placeholders[number].use
                let range = values.range(of: member, field: placeholders.placeholders[number].field)
                if range.isEmpty || !use.takes(values.bytes.span.extracting(range)) {
                    BodyPattern.leaveOut(from: start, in: &bytes)
                    lengths[place] = fallbackLengths[place]
                    continue
                }
                textBytes = append(values.bytes.span.extracting(range), use, isNested, to: &bytes)
            }
            guard let length = BodyPattern.endPiece(from: start, in: &bytes) else { return false }
            lengths[place] = PieceLength(asJSON: length, asText: textBytes)
        }
        return true
    }

    package var bodyBytes: Int {
        var bytes = text.fixedBytes
        for place in lengths.indices { bytes += text.occurrences[place] * lengths[place].asJSON }
        return bytes
    }

    /// Returns the number of bytes that the value has inside the string that it is in.
    private mutating func append(
        _ value: Span<UInt8>, _ use: PlaceholderUse, _ isNested: Bool, to bytes: inout [UInt8]
    ) -> Int {
        if use == .address {
            let start = bytes.count
            // JSON escapes nothing of it.
            NotificationAddress.append(encoding: value, to: &bytes)
            return bytes.count - start
        }
        guard isNested else {
            JSONWriter.append(escaping: value, to: &bytes)
            return value.count
        }
        scratch.removeAll(keepingCapacity: true)
        JSONWriter.append(escaping: value, to: &scratch)
        JSONWriter.append(escaping: scratch.span, to: &bytes)
        return scratch.count
    }
}

/// The length of a value in a placeholder, in bytes.
package struct PieceLength: Equatable, Sendable {
    package let asJSON: Int
    /// Without the escapes of the string that the value is in. 0 for a provider's own mark.
    package let asText: Int

    init(asJSON: Int, asText: Int) { (self.asJSON, self.asText) = (asJSON, asText) }

    /// - Parameter json: a value as `JSONWriter` escapes it.
    package init(json: [UInt8]) {
        var (index, count) = (0, 0)
        while index < json.count {
            let isEscape = json[index] == UInt8(ascii: "\\") && index + 1 < json.count
            index += !isEscape ? 1 : json[index + 1] == UInt8(ascii: "u") ? 6 : 2
            count += 1
        }
        self.init(asJSON: json.count, asText: count)
    }
}

extension PlaceholderText {
    fileprivate func fallbacks(_ placeholders: MessagePlaceholders) -> [[UInt8]] {
        places.map { place in
            guard case .placeholder(let number, let isNested) = place else { return [] }
            let escaped = MessagePlaceholders.escaped(placeholders.placeholders[number].fallback)
            return isNested ? MessagePlaceholders.escaped(escaped) : escaped
        }
    }
}

extension PushBatch.BodyFrame {
    /// - Parameter shared: the bytes for a mark that are the same in the whole batch; nil: they differ per push.
    package init(_ text: PlaceholderText, _ placeholders: MessagePlaceholders, shared: (_ mark: UInt8) -> [UInt8]?) {
        var prefix: [UInt8]?
        var bytes: [UInt8] = []
        var steps: [BodyPattern.Step] = []
        var fixed: [UInt8] = []
        for part in text.parts {
            switch part {
            case .fixed(let piece): fixed += piece
            case .place(let place):
                if case .mark(let mark) = text.places[place], let piece = shared(mark) {
                    fixed += piece
                    continue
                }
                if prefix == nil {
                    prefix = fixed
                    fixed = []
                }
                steps.append(BodyPattern.Step(fixed: ByteRange(start: bytes.count, count: fixed.count), piece: place))
                bytes += fixed
                fixed = []
            }
        }
        let standIns = text.fallbacks(placeholders).map { fallback in
            defer { bytes += fallback }
            return ByteRange(start: bytes.count, count: fallback.count)
        }
        self.init(
            prefix: prefix ?? [], suffix: fixed, pattern: BodyPattern(bytes: bytes, steps: steps, standIns: standIns))
    }
}
