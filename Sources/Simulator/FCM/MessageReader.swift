import Basis
import Calendar
import JSON

/// Reads JSON as the JSON form of protocol buffers: both styles of names, null for absent, and no unknown fields.
///
/// Returns snake_case names only.
/// Source: Protocol Buffers, "ProtoJSON format".
enum MessageReader {
    static func read(_ value: JSONValue, as fields: [SchemaField], at path: String) throws(FCMRefusal) -> JSONObject {
        guard let object = value.object else { throw invalid(path, "message", value) }
        var known = JSONObject()
        for member in object.members {
            guard let field = fields.first(where: { $0.name == member.name || $0.camelName == member.name }) else {
                let place = path.isEmpty ? "" : " at '\(path)'"
                throw .badField(
                    path, "Invalid JSON payload received. Unknown name \"\(member.name)\"\(place): Cannot find field.")
            }
            let inside = path.isEmpty ? field.name : path + "." + field.name
            guard known[field.name] == nil else {
                throw .badField(inside, "Invalid value at '\(inside)': the field is set twice.")
            }
            if member.value.isNull { continue }
            known[field.name] = try read(member.value, as: field.kind, at: inside)
        }
        return known
    }

    private static func read(_ value: JSONValue, as kind: FieldKind, at path: String) throws(FCMRefusal) -> JSONValue {
        switch kind {
        case .text: guard value.string != nil else { throw invalid(path, "TYPE_STRING", value) }
        case .textAs(let form):
            guard let text = value.string else { throw invalid(path, "TYPE_STRING", value) }
            try check(text, form, path)
        case .boolean: guard value.bool != nil else { throw invalid(path, "TYPE_BOOL", value) }
        case .int32:
            guard let number = value.integer ?? value.string.flatMap({ Int64($0) }), Int32(exactly: number) != nil
            else { throw invalid(path, "TYPE_INT32", value) }
        case .fraction:
            guard let number = value.number?.double, (0...1).contains(number) else {
                throw invalid(path, "TYPE_FLOAT", value)
            }
        case .duration:
            guard let text = value.string, nanoseconds(text) != nil else {
                throw invalid(path, "type.googleapis.com/google.protobuf.Duration", value)
            }
        case .timestamp:
            guard let text = value.string, RFC3339.parse(text) != nil else {
                throw invalid(path, "type.googleapis.com/google.protobuf.Timestamp", value)
            }
        case .choice(let names, let lenient):
            guard let text = value.string, names.contains(lenient ? text.uppercased() : text) else {
                throw invalid(path, "TYPE_ENUM", value)
            }
        case .object: guard value.object != nil else { throw invalid(path, "TYPE_OBJECT", value) }
        case .stringMap: try checkMap(value, path)
        case .list(let element):
            guard let elements = value.array else { throw invalid(path, "TYPE_LIST", value) }
            for (place, one) in elements.enumerated() { _ = try read(one, as: element, at: "\(path)[\(place)]") }
        case .message(let fields): return .object(try read(value, as: fields, at: path))
        }
        return value
    }

    private static func checkMap(_ value: JSONValue, _ path: String) throws(FCMRefusal) {
        guard let object = value.object else { throw invalid(path, "map", value) }
        for (place, member) in object.members.enumerated() where member.value.string == nil {
            throw invalid("\(path)[\(place)].value", "TYPE_STRING", member.value)
        }
    }

    private static func invalid(_ path: String, _ type: String, _ value: JSONValue) -> FCMRefusal {
        .badField(path, "Invalid value at '\(path)' (\(type)), \(value.kindName)")
    }

    /// Reads seconds with up to nine digits of a fraction, and an "s". nil: no duration, or beyond ten thousand years.
    static func nanoseconds(_ text: String) -> Int128? {
        guard text.hasSuffix("s") else { return nil }
        var remaining = text.dropLast()
        let isNegative = remaining.first == "-"
        if isNegative { remaining = remaining.dropFirst() }
        let parts = remaining.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), parts.allSatisfy({ $0.utf8.allSatisfy(\.isDigit) }),
            (1...12).contains(parts[0].utf8.count), let seconds = Int128(parts[0])
        else { return nil }
        var nanoseconds: Int128 = 0
        if parts.count == 2 {
            guard (1...9).contains(parts[1].utf8.count),
                let fraction = Int128(parts[1] + String(repeating: "0", count: 9 - parts[1].utf8.count))
            else { return nil }
            nanoseconds = fraction
        }
        let whole = seconds * 1_000_000_000 + nanoseconds
        return isNegative ? -whole : whole
    }

    private static func check(_ text: String, _ form: TextForm, _ path: String) throws(FCMRefusal) {
        let (isValid, complaint) =
            switch form {
            case .topic: (!text.isEmpty && text.utf8.allSatisfy(isTopicByte), "Invalid topic name")
            case .analyticsLabel:
                ((1...50).contains(text.utf8.count) && text.utf8.allSatisfy(isTopicByte), "Invalid analytics label")
            case .color:
                (
                    text.utf8.count == 7 && text.first == "#" && text.dropFirst().allSatisfy(\.isHexDigit),
                    "Invalid color, must be of the form #RRGGBB"
                )
            case .httpsLink: (text.hasPrefix("https://"), "WebpushFcmOptions.link must be an HTTPS URL")
            }
        guard isValid else { throw .badArgument(complaint, field: path) }
    }

    static func isTopicByte(_ byte: UInt8) -> Bool { byte.isLetter || byte.isDigit || "-_.~%".utf8.contains(byte) }
}
