import Basis
import Content
import JSON

/// Reads the sender's `fcm` object, a merge patch of the compiler's message (RFC 7396). Documented members are checked,
/// and named in snake case as the compiler names them, so that they replace its members. Unknown members stay as they
/// are. null removes a member; it is refused for reserved names, in lists, and in objects that must be complete.
enum FCMOverrideReader {
    static func read(_ patch: JSONValue) throws(ProviderFault) -> JSONObject {
        let pointer = JSONPointer.root / "fcm"
        guard let object = patch.object else { throw .wrongValue(pointer, expected: "an object") }
        return try read(object, FCMMessageKeys.message, pointer) { FCMSpelling.snakeCase($0) }
    }

    private static func read(
        _ object: JSONObject, _ fields: [FCMField], _ pointer: JSONPointer, spelling: (String) -> String
    ) throws(ProviderFault) -> JSONObject {
        var members: [JSONMember] = []
        for member in object.members {
            let place = pointer / member.name
            let name = spelling(member.name)
            guard let field = fields.first(where: { $0.name.hasSameBytes(as: name) }) else {
                members.append(member)
                continue
            }
            guard !members.contains(where: { $0.name.hasSameBytes(as: name) }) else { throw .namedTwice(place) }
            if field.shape == .reserved { throw .reservedKey(place) }
            if case .legacy(let today) = field.shape { throw .legacyKey(place, today: today) }
            let value = member.value.isNull ? .null : try read(member.value, field.shape, place)
            members.append(JSONMember(name, value))
        }
        return JSONObject(members)
    }

    private static func read(
        _ value: JSONValue, _ shape: FCMShape, _ pointer: JSONPointer
    ) throws(ProviderFault) -> JSONValue {
        switch shape {
        case .message(let fields):
            return .object(try read(try object(value, pointer), fields, pointer) { FCMSpelling.snakeCase($0) })
        case .complete(let fields):
            let whole = try read(try object(value, pointer), fields, pointer) { FCMSpelling.snakeCase($0) }
            for field in fields where whole[field.name]?.isNull ?? true {
                throw .wrongValue(pointer / field.name, expected: "a value, as for all members here")
            }
            return .object(whole)
        case .members(let fields): return .object(try read(try object(value, pointer), fields, pointer) { $0 })
        case .strings(let use): return .object(try strings(try object(value, pointer), use, pointer))
        case .list(let element):
            guard let elements = value.array else { throw .wrongValue(pointer, expected: "an array") }
            var read: [JSONValue] = []
            for (index, value) in elements.enumerated() { read.append(try self.read(value, element, pointer / index)) }
            return .array(read)
        case .reserved: throw .reservedKey(pointer)
        case .legacy(let today): throw .legacyKey(pointer, today: today)
        case .string, .bool, .number, .count, .fraction, .names, .duration, .timeToLive, .timestamp, .color, .url,
            .analyticsLabel, .stringOrObject:
            if let expected = FCMScalars.expectation(value, shape) { throw .wrongValue(pointer, expected: expected) }
            return value
        }
    }

    private static func object(_ value: JSONValue, _ pointer: JSONPointer) throws(ProviderFault) -> JSONObject {
        guard let object = value.object else { throw .wrongValue(pointer, expected: "an object") }
        return object
    }

    private static func strings(
        _ object: JSONObject, _ use: FCMStringsUse, _ pointer: JSONPointer
    ) throws(ProviderFault) -> JSONObject {
        var members: [JSONMember] = []
        var names: Set<[UInt8]> = []  // lookup only
        for member in object.members {
            let place = pointer / member.name
            let name = FCMSpelling.name(member.name, in: use)
            if use == .appData, FCMReservedNames.isReserved(name) { throw .reservedKey(place) }
            guard names.insert(Array(name.utf8)).inserted else { throw .namedTwice(place) }
            if !member.value.isNull {
                guard let text = member.value.string else { throw .wrongValue(place, expected: "a string") }
                if let expected = FCMScalars.expectation(text, ofHeader: name, use) {
                    throw .wrongValue(place, expected: expected)
                }
            }
            members.append(JSONMember(name, member.value))
        }
        return JSONObject(members)
    }
}

/// Names that `data` may not have: FCM's own, Apple's, and ours.
enum FCMReservedNames {
    /// The message's id, which tells an app whether it had this push before.
    static let identity = "carillon_id"

    /// Whether a name is reserved. FCM takes no empty name. `notification` was reserved by FCM's older protocol, and
    /// still is by other providers.
    static func isReserved(_ name: String) -> Bool {
        ["", "aps", "from", "message_type", "notification", identity].contains { $0.hasSameBytes(as: name) }
            || name.utf8.starts(with: "google.".utf8) || name.utf8.starts(with: "gcm.".utf8)
    }
}

enum FCMSpelling {
    /// Returns "collapse_key" for "collapseKey". A name without capitals stays as it is.
    static func snakeCase(_ name: String) -> String {
        guard name.utf8.contains(where: \.isCapital) else { return name }
        let bytes = name.utf8.flatMap { $0.isCapital ? [UInt8(ascii: "_"), $0 | 0x20] : [$0] }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the name of a header in its usual case: names of headers ignore case.
    static func name(_ name: String, in use: FCMStringsUse) -> String {
        switch use {
        case .appData: name
        case .apnsHeaders: name.lowercased()
        case .webPushHeaders: ["TTL", "Urgency", "Topic"].first { $0.lowercased() == name.lowercased() } ?? name
        }
    }
}
