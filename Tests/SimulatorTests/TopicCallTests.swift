import Simulator
import Testing

@Suite("A topic call to the FCM simulator", .serialized)
struct TopicCallTests {
    private func call(
        _ client: Provider, _ authorization: String, _ body: String, path: String = "/iid/v1:batchAdd",
        hasMark: Bool = true
    ) throws -> Provider.Answer {
        let mark = hasMark ? [("access_token_auth", "true")] : []
        return try client.post(path, [("authorization", authorization)] + mark, body: Array(body.utf8))
    }

    @Test("gets a result for each token, in order")
    func results() async throws {
        let standIn = try await GoogleStandIn()
        let client = try standIn.connect()
        let authorization = try standIn.authorization(client)
        let tokens = [
            "phone", "UNREGISTERED-1", "INVALID_TOKEN-1", "TOO_MANY_TOPICS-1", "QUOTA_EXCEEDED-1",
            "SENDER_ID_MISMATCH-1",
            "DEADLINE_EXCEEDED-1", "INTERNAL-1", "UNKNOWN-1", "INTERNAL:1-2", "",
        ]
        let list = tokens.map { #""\#($0)""# }.joined(separator: ",")
        let body = #"{"to":"/topics/news","registration_tokens":[\#(list)]}"#
        let errors = [
            "", "NOT_FOUND", "INVALID_ARGUMENT", "TOO_MANY_TOPICS", "RESOURCE_EXHAUSTED", "PERMISSION_DENIED",
            "DEADLINE_EXCEEDED", "INTERNAL", "UNKNOWN", "INTERNAL", "INVALID_ARGUMENT",
        ]
        let results = errors.map { $0.isEmpty ? "{}" : #"{"error":"\#($0)"}"# }.joined(separator: ",")
        #expect(try call(client, authorization, body).body == #"{"results":[\#(results)]}"#)
        let again = try call(
            client, authorization, #"{"to":"/topics/news","registration_tokens":["INTERNAL:1-2"]}"#,
            path: "/iid/v1:batchRemove")
        #expect(again.body == #"{"results":[{}]}"#)
        #expect(await standIn.simulator.summary().topicCalls == 2)
        #expect(
            await standIn.simulator.received("/topics/news").map(\.path) == ["/iid/v1:batchAdd", "/iid/v1:batchRemove"])
    }

    @Test("gets a status and an object for one registration, as in the v1 API")
    func subscriptions() async throws {
        let standIn = try await GoogleStandIn()
        let client = try standIn.connect()
        let authorization = try standIn.authorization(client)
        let registrations = "/v1/projects/\(GoogleStandIn.project)/registrations/"
        func call(
            _ method: String, _ remaining: String, by bearer: String = authorization, in folder: String = registrations
        ) throws -> Provider.Answer {
            try client.post(folder + remaining, method: method, [("authorization", bearer)], body: Array("{}".utf8))
        }
        let joined = try call("POST", "phone%3A1/topicSubscriptions?topic_name=news")
        #expect(joined.status == 200)
        let name = "projects/\(GoogleStandIn.project)/registrations/phone:1/topicSubscriptions/news"
        #expect(joined.body == #"{"name":"\#(name)"}"#)
        let left = try call("DELETE", "phone%3A1/topicSubscriptions/news?allow_missing=true")
        #expect(left.status == 200 && left.body == "{}")
        let refused = [
            ("UNREGISTERED-1", 404, "UNREGISTERED"), ("INVALID_TOKEN-1", 400, "INVALID_ARGUMENT"),
            ("TOO_MANY_TOPICS-1", 429, "RESOURCE_EXHAUSTED"), ("DEADLINE_EXCEEDED-1", 504, "DEADLINE_EXCEEDED"),
            ("UNAVAILABLE:1-1", 503, "UNAVAILABLE"), ("UNKNOWN-1", 500, "UNKNOWN"),
        ]
        for (token, status, name) in refused {
            let answer = try call("POST", "\(token)/topicSubscriptions?topic_name=news")
            #expect(answer.status == status && answer.body.contains(#""\#(name)""#), "\(token): \(answer)")
        }
        #expect(try call("POST", "UNAVAILABLE:1-1/topicSubscriptions?topic_name=news").status == 200)
        let news = await standIn.simulator.received("/topics/news")
        #expect(news.map(\.status) == [200, 200] + refused.map(\.1) + [200])
        #expect(await standIn.simulator.summary().topicCalls == 9)

        for (method, remaining) in [
            ("POST", "phone/topicSubscriptions"), ("POST", "phone/topicSubscriptions?topic_name="),
            ("POST", "phone/topicSubscriptions?topic_name=a%20b"), ("DELETE", "phone/topicSubscriptions/"),
            ("POST", "/topicSubscriptions?topic_name=news"),
        ] {
            #expect(try call(method, remaining).status == 400, "\(method) \(remaining)")
        }
        #expect(try call("POST", "phone/topicSubscriptions?topic_name=news", by: "Bearer x").status == 401)
        let elsewhere = try call(
            "POST", "phone/topicSubscriptions?topic_name=news", in: "/v1/projects/nobody/registrations/")
        #expect(elsewhere.status == 404 && elsewhere.body.contains("NOT_FOUND"))
        for (method, remaining) in [("GET", "phone/topicSubscriptions"), ("DELETE", "phone/topicSubscriptions")] {
            #expect(try call(method, remaining).status == 404, "the simulator does not offer these calls")
        }
    }

    @Test("fails with an error string if the whole call is wrong")
    func refused() async throws {
        let standIn = try await GoogleStandIn()
        let client = try standIn.connect()
        let authorization = try standIn.authorization(client)
        let good = #"{"to":"/topics/news","registration_tokens":["phone"]}"#
        #expect(try call(client, authorization, good, hasMark: false).body == #"{"error":"InvalidToken"}"#)
        #expect(try call(client, "Bearer x", good).status == 401)
        let thousand = Array(repeating: #""a""#, count: 1_001).joined(separator: ",")
        let wrong = [
            ("no JSON", "InvalidJson"), (#"{"to":"news","registration_tokens":["a"]}"#, "InvalidTopicName"),
            (#"{"to":"/topics/a b","registration_tokens":["a"]}"#, "InvalidTopicName"),
            (#"{"to":"/topics/news","registration_tokens":[]}"#, "InvalidNumberOfRegistrationTokens"),
            (#"{"to":"/topics/news"}"#, "InvalidNumberOfRegistrationTokens"),
            (#"{"to":"/topics/news","registration_tokens":[\#(thousand)]}"#, "InvalidNumberOfRegistrationTokens"),
        ]
        for (body, error) in wrong {
            let answer = try call(client, authorization, body)
            #expect(answer.status == 400)
            #expect(answer.body == #"{"error":"\#(error)"}"#)
        }
    }
}
