import Basis
import JSON

/// `iid/v1:batchAdd` and `batchRemove`. In these calls errors are strings, and topics have their prefix.
/// Source: Firebase, "Manage topic subscriptions on the server"; Google, "Instance ID server reference".
enum TopicCalls {
    static let tokensMax = 1_000
    private static let prefix = "/topics/"

    struct Refusal: Error, Equatable {
        let status: Int
        let error: String
        var body: [UInt8] { (["error": .string(error)] as JSONValue).bytes }
    }

    /// - Parameter isMet: whether a token's fate still holds.
    /// - Returns: the topic, and the body of a 200.
    static func answer(
        _ body: [UInt8], isMet: (String, Int) -> Bool
    ) throws(Refusal) -> (topic: String, body: [UInt8]) {
        let limits = JSONLimits(bytesMax: FCMSimulatorSettings.bodyBytesMax)
        guard let object = (try? JSONReader.read(body, limits: limits))?.object else {
            throw Refusal(status: 400, error: "InvalidJson")
        }
        guard let topic = object["to"]?.string, topic.hasPrefix(prefix), topic.utf8.count > prefix.utf8.count,
            topic.utf8.dropFirst(prefix.utf8.count).allSatisfy(MessageReader.isTopicByte)
        else { throw Refusal(status: 400, error: "InvalidTopicName") }
        guard let tokens = object["registration_tokens"]?.array, (1...tokensMax).contains(tokens.count) else {
            throw Refusal(status: 400, error: "InvalidNumberOfRegistrationTokens")
        }
        let results = tokens.map { token -> JSONValue in
            error(of: token, isMet).map { ["error": .string($0)] as JSONValue } ?? .object(JSONObject())
        }
        return (topic, (["results": .array(results)] as JSONValue).bytes)
    }

    private static func error(of token: JSONValue, _ isMet: (String, Int) -> Bool) -> String? {
        guard let text = token.string, !text.isEmpty, text.utf8.allSatisfy(\.isVisible) else {
            return "INVALID_ARGUMENT"
        }
        guard let (entry, count) = FCMTokenFate.of(text), isMet(text, count) else { return nil }
        return entry.topicError
    }
}
