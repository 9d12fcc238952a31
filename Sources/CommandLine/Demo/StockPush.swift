import JSON

/// A push that a virtual phone of the demonstration of stocks received.
package struct StockPush {
    /// nil: the push is data alone.
    private let text: String?
    private let badge: Int64?
    private let data: JSONValue?

    /// - Parameter payload: the body of the request that the stand-in got: a payload of APNs, or a message of FCM.
    package init(payload: JSONValue) {
        if let message = payload.object?["message"]?.object {
            text = message["notification"]?.object?["body"]?.string
            badge = message["android"]?.object?["notification"]?.object?["notification_count"]?.integer
            data = message["data"]
        } else {
            let aps = payload.object?["aps"]?.object
            text = aps?["alert"]?.object?["body"]?.string
            badge = aps?["badge"]?.integer
            data = nil
        }
    }

    /// Says what a phone does with the push, as in "phone-1 shows ...".
    package var sentence: String {
        guard let text else { return "hands its app " + TerminalText.clean((data ?? .null).sentence) }
        return "shows \"\(TerminalText.clean(text))\"" + (badge.map { " and the badge \($0)" } ?? "")
    }

    package var json: JSONValue {
        guard let text else { return ["data": data ?? .null] }
        return ["text": .string(text), "badge": badge.map { JSONValue.integer(Int($0)) } ?? .null]
    }
}
