import Foundation
import JSON

/// A change of a message that has not started: the parts that a person gave.
package struct MessageChange {
    package var texts = MessageTexts()
    package var audience: JSONValue?
    package var name: String?
    package var hour: AskedTime?

    package init() {}

    package var isEmpty: Bool { texts.isEmpty && audience == nil && name == nil && hour == nil }

    /// A message's request with the members of a PATCH in it.
    package static func applied(_ body: JSONObject, to request: JSONObject) -> JSONObject {
        var message = request
        for member in body.members where member.name != "send_at" { message[member.name] = member.value }
        if let hour = body["send_at"] {
            var options = message["options"]?.object ?? JSONObject()
            options["send_at"] = hour.isNull ? nil : hour
            message["options"] = .object(options)
        }
        return message
    }

    /// The body of the PATCH. Texts that are not given stay, so the whole notification is sent.
    ///
    /// - Parameter message: the account of the message with its stored request.
    package func body(over message: JSONValue, zone: TimeZone = .current) throws(CommandFault) -> JSONObject {
        var body = JSONObject()
        body["name"] = name.map(JSONValue.string)
        body["audience"] = audience
        let request = message.object?["request"]?.object
        if !texts.isEmpty {
            guard let request else {
                throw CommandFault(
                    .refused,
                    "the content of the message \(message.shown("id")) is no longer stored, so its texts can't "
                        + "be edited")
            }
            body["notification"] = .object(texts.notification(over: request["notification"]?.object ?? JSONObject()))
        }
        if let hour {
            let isLocal = message.isAtLocalHour || request.map { JSONValue.object($0).isAtLocalHour } ?? false
            body["send_at"] = hour.sendAt(isDeviceLocal: isLocal, zone: zone).map(JSONValue.string) ?? .null
        }
        return body
    }
}
