import Basis
import Encodings
import JSON

/// One registration that joins or leaves one topic by the v1 API. Each takes one request, while `TopicCalls` takes
/// lists.
/// `POST .../registrations/{registration}/topicSubscriptions?topic_name={topic}` and
/// `DELETE .../topicSubscriptions/{topic}`. Source: what firebase-admin 7.7 sends and reads; Google has published no
/// reference of it.
struct TopicSubscription {
    let registration: String
    /// Without `/topics/`.
    let topic: String
    private let project: String
    private let isJoined: Bool

    /// - Parameter parts: the path's segments, decoded.
    static func isMeant(by parts: [String], method: String) -> Bool {
        guard parts.count >= 7, parts[1] == "v1", parts[2] == "projects", !parts[3].isEmpty,
            parts[4] == "registrations", parts[6] == "topicSubscriptions"
        else { return false }
        switch method {
        case "POST": return parts.count == 7
        case "DELETE": return parts.count == 8
        default: return false
        }
    }

    init(parts: [String], query: String) throws(FCMRefusal) {
        project = parts[3]
        registration = parts[5]
        isJoined = parts.count == 7
        topic = isJoined ? Self.topicName(in: query) : parts[7]
        guard !registration.isEmpty, registration.utf8.allSatisfy(\.isVisible) else { throw .invalidToken }
        guard !topic.isEmpty, topic.utf8.allSatisfy(MessageReader.isTopicByte) else {
            throw .badArgument("Invalid topic name", field: "topic_name")
        }
    }

    private static func topicName(in query: String) -> String {
        for pair in query.split(separator: "&") {
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if halves.count == 2, halves[0] == "topic_name" { return PercentDecoding.decode(String(halves[1])) ?? "" }
        }
        return ""
    }

    /// The body of a 200; empty JSON after leaving.
    var body: [UInt8] {
        guard isJoined else { return Array("{}".utf8) }
        let name = "projects/\(project)/registrations/\(registration)/topicSubscriptions/\(topic)"
        return (["name": .string(name)] as JSONValue).bytes
    }

    /// The v1 refusal for an error string of the list calls.
    static func refusal(named error: String) -> FCMRefusal {
        switch error {
        case "TOO_MANY_TOPICS": FCMRefusal(429, "RESOURCE_EXHAUSTED", nil, "The registration has too many topics.")
        case "DEADLINE_EXCEEDED": FCMRefusal(504, error, nil, "The deadline expired.")
        default: FCMRefusal(500, error, nil, "Unknown error.")
        }
    }
}
