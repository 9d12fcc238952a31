import Basis
import JSON

enum MessageTarget: Equatable {
    case token(String)
    case installation(String)
    case topic(String)
    case condition(String)

    /// The key under which a stand-in keeps the received pushes.
    var key: String {
        switch self {
        case .token(let text), .installation(let text), .condition(let text): text
        case .topic(let name): "/topics/" + name
        }
    }

    var fateText: String? {
        switch self {
        case .token(let text), .installation(let text), .topic(let text): text
        case .condition: nil
        }
    }

    var isFannedOut: Bool {
        switch self {
        case .token, .installation: false
        case .topic, .condition: true
        }
    }
}

/// Validates the body of a `messages:send` as FCM does, before the token's own fate.
struct MessageValidator {
    let target: MessageTarget
    let isDryRun: Bool

    /// In bytes; a message to a topic may have half of it.
    private static let payloadBytesMax = 4_096
    private static let topicPayloadBytesMax = 2_048
    /// Four weeks.
    private static let ttlSecondsMax: Int128 = 2_419_200
    private static let tokenBytesMax = 4_096

    init(_ body: [UInt8]) throws(FCMRefusal) {
        let value: JSONValue
        let limits = JSONLimits(bytesMax: FCMSimulatorSettings.bodyBytesMax, depthMax: 100, refusesNUL: false)
        do throws(JSONError) { value = try JSONReader.read(body, limits: limits) } catch {
            throw .badField("", "Invalid JSON payload received. " + error.sentence)
        }
        let request = try MessageReader.read(value, as: MessageSchema.request, at: "")
        isDryRun = request["validate_only"]?.bool ?? false
        guard let message = request["message"]?.object else {
            throw .badArgument("Message is not set.", field: "message")
        }
        target = try MessageValidator.target(message)
        try MessageValidator.checkKeys(message)
        try MessageValidator.checkAndroid(message["android"]?.object)
        try MessageValidator.checkSize(message, isFannedOut: target.isFannedOut)
    }

    private static func target(_ message: JSONObject) throws(FCMRefusal) -> MessageTarget {
        var targets: [MessageTarget] = []
        if let text = message["token"]?.string { targets.append(.token(text)) }
        if let text = message["fid"]?.string { targets.append(.installation(text)) }
        if let text = message["topic"]?.string { targets.append(.topic(text)) }
        if let text = message["condition"]?.string { targets.append(.condition(text)) }
        guard let target = targets.first else {
            throw .badArgument("Recipient of the message is not set.", field: "message")
        }
        guard targets.count == 1 else {
            throw .badField("message", "Invalid value at 'message' (oneof), oneof field 'target' is already set.")
        }
        switch target {
        case .token(let text): guard isToken(text) else { throw .invalidToken }
        case .installation(let text):
            guard isToken(text) else { throw .badArgument("Invalid Firebase installation id", field: "message.fid") }
        case .topic: break
        case .condition(let text):
            guard TopicCondition.isValid(text) else {
                throw .badArgument("Invalid condition expression provided.", field: "message.condition")
            }
        }
        return target
    }

    /// Tokens are opaque: any printable ASCII except white space.
    private static func isToken(_ text: String) -> Bool {
        (1...tokenBytesMax).contains(text.utf8.count) && text.utf8.allSatisfy(\.isVisible)
    }

    private static func checkKeys(_ message: JSONObject) throws(FCMRefusal) {
        let maps = [
            ("message.data", message["data"]?.object),
            ("message.android.data", message["android"]?.object?["data"]?.object),
        ]
        for (path, map) in maps {
            for (place, member) in (map?.members ?? []).enumerated() where isReserved(member.name) {
                throw .badArgument("Invalid data payload key: \(member.name)", field: "\(path)[\(place)].key")
            }
        }
    }

    private static func isReserved(_ key: String) -> Bool {
        key == "from" || key == "message_type" || key.hasPrefix("google.") || key.hasPrefix("gcm.")
    }

    private static func checkAndroid(_ android: JSONObject?) throws(FCMRefusal) {
        if let ttl = android?["ttl"]?.string {
            let nanoseconds = MessageReader.nanoseconds(ttl) ?? -1
            // Names no field: FCM answers a bad token in the same form.
            guard nanoseconds >= 0, nanoseconds <= ttlSecondsMax * 1_000_000_000 else {
                throw .badArgument("Invalid TTL: it must be between 0 and 2419200 seconds.")
            }
        }
        guard let light = android?["notification"]?.object?["light_settings"]?.object else { return }
        let path = "message.android.notification.light_settings"
        for name in ["color", "light_on_duration", "light_off_duration"] where light[name] == nil {
            throw .badArgument("LightSettings.\(name) is required.", field: "\(path).\(name)")
        }
    }

    /// Checks the sizes of names and values in data and notification, as each platform gets them. Apple's payload
    /// counts by itself.
    private static func checkSize(_ message: JSONObject, isFannedOut: Bool) throws(FCMRefusal) {
        let bytesMax = isFannedOut ? topicPayloadBytesMax : payloadBytesMax
        let android = message["android"]?.object
        let sizes: [(String, Int)] = [
            ("Message", size(message["data"]) + size(message["notification"])),
            ("Android message", size(android?["data"] ?? message["data"]) + size(merged(message, with: android))),
            ("APNs message", message["apns"]?.object?["payload"].map { $0.bytes.count } ?? 0),
        ]
        for (name, bytes) in sizes where bytes > bytesMax { throw .badArgument("\(name) is too big") }
    }

    private static func merged(_ message: JSONObject, with android: JSONObject?) -> JSONValue {
        var notification = message["notification"]?.object ?? JSONObject()
        for member in android?["notification"]?.object?.members ?? [] { notification[member.name] = member.value }
        return .object(notification)
    }

    /// The UTF-8 bytes of names and texts; any other value counts as its JSON.
    private static func size(_ value: JSONValue?) -> Int {
        (value?.object?.members ?? []).reduce(0) { sum, member in
            sum + member.name.utf8.count + (member.value.string?.utf8.count ?? member.value.bytes.count)
        }
    }
}
