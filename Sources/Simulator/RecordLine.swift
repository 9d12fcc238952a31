import Calendar
import Encodings
import JSON
import PushModel

extension ReceivedPush {
    /// As the inspection and the record show it: the payload as JSON where it is JSON, else in base64.
    func append(to writer: inout JSONWriter, token: String?) {
        writer.beginObject()
        writer.member("at", RFC3339.format(arrivedAt))
        if let token { writer.member("token", token) }
        writer.member("apns_id", apnsID)
        writer.member("connection", connection)
        writer.member("status", status)
        if let reason { writer.member("reason", reason) }
        writer.name("headers")
        writer.beginObject()
        for (place, line) in headers.enumerated() where !headers[..<place].contains(where: { $0.name == line.name }) {
            writer.member(line.name, line.value)
        }
        writer.endObject()
        if let payload = try? JSONReader.read(body, limits: .trusted) {
            writer.member("payload", payload)
        } else {
            writer.member("payload_base64", Base64.encode(body))
        }
        writer.endObject()
    }
}
