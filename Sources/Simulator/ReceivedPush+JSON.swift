import Calendar
import Encodings
import JSON

extension ReceivedPush {
    /// The push as the inspection and the record show it: the payload as JSON if it is JSON, else in base64.
    func shown(token: String?) -> JSONValue {
        var push = JSONObject([JSONMember("at", .string(RFC3339.format(arrivedAt)))])
        push["token"] = token.map { .string($0) }
        push["apns_id"] = .string(apnsID)
        addSource(to: &push)
        push["status"] = .integer(status)
        push["reason"] = reason.map { .string($0) }
        if isDryRun { push["dry_run"] = true }
        push["headers"] = shownHeaders
        let payload = try? JSONReader.read(body, limits: .trusted)
        push[payload == nil ? "payload_base64" : "payload"] = payload ?? .string(Base64.encode(body))
        return .object(push)
    }

    /// The push as `GET /simulator/requests` shows it: the body byte for byte, as text if it is UTF-8, else in base64.
    func shownWhole(number: Int, token: String) -> JSONValue {
        var push = JSONObject([
            JSONMember("number", .integer(number)), JSONMember("at", .string(RFC3339.format(arrivedAt))),
        ])
        addSource(to: &push)
        push["token"] = .string(token)
        push["path"] = .string(path)
        push["headers"] = shownHeaders
        let text = String(validating: body, as: UTF8.self)
        push[text == nil ? "body_base64" : "body"] = .string(text ?? Base64.encode(body))
        push["dry_run"] = .bool(isDryRun)
        var answer = JSONObject([JSONMember("status", .integer(status))])
        answer["reason"] = reason.map { .string($0) }
        answer["id"] = .string(apnsID)
        push["answer"] = .object(answer)
        return .object(push)
    }

    private func addSource(to push: inout JSONObject) {
        push["connection"] = .integer(connection)
        push["provider_token"] = providerToken.map { .string($0) }
        push["certificate"] = certificate.map { .string($0) }
    }

    private var shownHeaders: JSONValue {
        var shown = JSONObject()
        for line in headers where shown[line.name] == nil { shown[line.name] = .string(line.value) }
        return .object(shown)
    }
}
