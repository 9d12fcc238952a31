import Calendar
import Encodings
import JSON

extension ReceivedPush {
    /// Writes the push as the inspection and the record show it: the payload as JSON if it is JSON, else in base64.
    func append(to writer: inout JSONWriter, token: String?) {
        writer.beginObject()
        writer.member("at", RFC3339.format(arrivedAt))
        if let token { writer.member("token", token) }
        writer.member("apns_id", apnsID)
        writer.member("connection", connection)
        if let providerToken { writer.member("provider_token", providerToken) }
        if let certificate { writer.member("certificate", certificate) }
        writer.member("status", status)
        if let reason { writer.member("reason", reason) }
        if isDryRun { writer.member("dry_run", true) }
        appendHeaders(to: &writer)
        if let payload = try? JSONReader.read(body, limits: .trusted) {
            writer.member("payload", payload)
        } else {
            writer.member("payload_base64", Base64.encode(body))
        }
        writer.endObject()
    }

    /// Writes the push as `GET /simulator/requests` shows it: the body byte for byte, as text if it is UTF-8, else in
    /// base64.
    func appendWhole(to writer: inout JSONWriter, number: Int, token: String) {
        writer.beginObject()
        writer.member("number", number)
        writer.member("at", RFC3339.format(arrivedAt))
        writer.member("connection", connection)
        if let providerToken { writer.member("provider_token", providerToken) }
        if let certificate { writer.member("certificate", certificate) }
        writer.member("token", token)
        writer.member("path", path)
        appendHeaders(to: &writer)
        if let text = String(validating: body, as: UTF8.self) {
            writer.member("body", text)
        } else {
            writer.member("body_base64", Base64.encode(body))
        }
        writer.member("dry_run", isDryRun)
        writer.name("answer")
        writer.beginObject()
        writer.member("status", status)
        if let reason { writer.member("reason", reason) }
        writer.member("id", apnsID)
        writer.endObject()
        writer.endObject()
    }

    private func appendHeaders(to writer: inout JSONWriter) {
        writer.name("headers")
        writer.beginObject()
        for (place, line) in headers.enumerated() where !headers[..<place].contains(where: { $0.name == line.name }) {
            writer.member(line.name, line.value)
        }
        writer.endObject()
    }
}
