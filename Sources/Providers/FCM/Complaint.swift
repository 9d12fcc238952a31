/// FCM's words about a wrong field, for people.
///
/// Its sentences may quote a value of the payload. So only two beginnings are passed on, and only what has the form of
/// a name: `Unknown name "content_available" at 'message'`, and `Invalid value at 'message.android.ttl' (Duration)`.
enum FCMComplaint {
    private static let fieldBytesMax = 120
    /// Shorter than any token.
    private static let nameBytesMax = 64

    /// - Parameter field: the path that a BadRequest names; nil: only the sentence is known.
    /// - Returns: nil if nothing has the form of a name.
    static func text(field: String?, _ sentence: String) -> String? {
        let reason = reason(sentence)
        guard let field, isPath(field) else { return reason }
        return reason.map { "\(field): \($0)" } ?? field
    }

    private static func reason(_ sentence: String) -> String? {
        if let name = text(in: sentence, after: "Unknown name \"", until: "\""), isName(name) {
            return "unknown name \(name)"
        }
        guard let place = text(in: sentence, after: "Invalid value at '", until: "'"), isPath(place) else { return nil }
        let type = text(in: sentence, after: "at '\(place)' (", until: ")")
        return "invalid value at \(place)" + (type.flatMap { isPath($0) ? " (\($0))" : nil } ?? "")
    }

    private static func text(in sentence: String, after start: String, until end: String) -> String? {
        guard let begin = sentence.firstRange(of: start)?.upperBound,
            let length = sentence[begin...].firstRange(of: end)?.lowerBound
        else { return nil }
        return String(sentence[begin..<length])
    }

    private static func isName(_ text: String) -> Bool {
        (1...nameBytesMax).contains(text.utf8.count) && text.utf8.allSatisfy(isOfName)
    }

    /// `message.data[0].value`, or `type.googleapis.com/google.protobuf.Duration`.
    private static func isPath(_ text: String) -> Bool {
        (1...fieldBytesMax).contains(text.utf8.count)
            && text.utf8.split(whereSeparator: { "./[]".utf8.contains($0) }).allSatisfy {
                $0.count <= nameBytesMax && $0.allSatisfy(isOfName)
            }
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        byte.isCapital || byte.isSmallLetter || byte.isDigit || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
    }
}
