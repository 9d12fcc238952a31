import Content
import JSON
import Model
import ProviderInterface

extension FCMProvider {
    /// Adds priority, collapse key and time to live to the part for Android. The sender's own members stay.
    package func itemObject(_ own: JSONText?, _ delivery: ItemDelivery) throws(ProviderFault) -> JSONText? {
        var message = JSONObject()
        if let own { message = try own.value(at: .root / id.name).object ?? JSONObject() }
        if !delivery.hasNotification { try refuseNotifications(in: message) }
        // The sender removes the part with null. Anything else that is no object, the compiler refuses.
        guard message["android"] == nil || message["android"]?.object != nil else { return own }
        var android = message["android"]?.object ?? JSONObject()
        let members: [(name: String, value: JSONValue?)] = [
            ("priority", delivery.waitsWhileIdle ? "NORMAL" : "HIGH"),
            ("collapse_key", delivery.collapseKey.map { .string($0) }),
            ("ttl", delivery.ttlSeconds.map { .string("\($0)s") }),
        ]
        for (name, value) in members where !android.members.contains(where: { Self.isNamed($0, name) }) {
            android[name] = value
        }
        message["android"] = .object(android)
        return JSONText(.object(message))
    }

    package func showsAlone(_ own: JSONText) -> Bool {
        let place = JSONPointer.root / "apns" / "payload" / "aps"
        guard let aps = (try? own.value())?.value(at: place)?.object else { return false }
        return ["alert", "sound", "badge"].contains { !(aps[$0]?.isNull ?? true) }
    }

    /// Refuses notifications of single platforms: Android and browsers would show one, and the app would get no data.
    private func refuseNotifications(in message: JSONObject) throws(ProviderFault) {
        for path in [["notification"], ["android", "notification"], ["webpush", "notification"]] {
            guard let value = JSONValue.object(message).value(at: JSONPointer(tokens: path)), !value.isNull else {
                continue
            }
            throw .notificationMissing(JSONPointer(tokens: [id.name] + path))
        }
    }

    private static func isNamed(_ member: JSONMember, _ name: String) -> Bool {
        FCMSpelling.snakeCase(member.name).hasSameBytes(as: name)
    }
}
