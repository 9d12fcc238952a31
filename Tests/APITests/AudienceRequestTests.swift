import Model
import Requests
import Testing

@Suite("Reading an audience")
struct AudienceRequestTests {
    private static func read(_ audience: String) throws(Problem) -> Audience {
        try MessageRequest.read(Array(#"{"audience": \#(audience)}"#.utf8)).audience
    }

    @Test(
        "refuses an empty list that selects, because the message would reach nobody",
        arguments: [
            ("installations", #"{"installations": []}"#, "/audience/installations"),
            ("users", #"{"users": []}"#, "/audience/users"), ("tokens", #"{"tokens": []}"#, "/audience/tokens"),
            ("any", #"{"tags": {"any": []}}"#, "/audience/tags/any"),
            ("any", #"{"tags": {"any": [], "none": ["muted"]}}"#, "/audience/tags/any"),
            ("providers", #"{"all": true, "providers": []}"#, "/audience/providers"),
        ])
    func emptyList(name: String, audience: String, pointer: String) {
        let problem = refusal { () throws(Problem) in try Self.read(audience) }
        #expect(problem?.code == .invalidValue)
        #expect(problem?.pointer?.description == pointer)
        #expect(problem?.detail.hasPrefix("\(name) is an empty list: the message would reach nobody.") == true)
    }

    @Test("accepts empty lists of required and excluded tags")
    func emptyNarrowing() throws {
        let read = try Self.read(#"{"tags": {"any": ["news"], "all": [], "none": []}}"#)
        #expect(read == Audience(.tags(TagExpression(any: ["news"]))))
    }

    @Test(
        "shows the expected object to the sender of another value",
        arguments: [
            (#"{"tags": ["news"]}"#, #"This is an array; an object such as {"any": ["news"]} is expected."#),
            (#"{"tags": "news"}"#, #"This is a string; an object such as {"any": ["news"]} is expected."#),
            (#""all""#, #"This is a string; an object such as {"all": true} is expected."#),
            (
                #"{"tokens": ["ab"]}"#,
                #"This is a string; an object such as {"provider": "fcm", "token": "..."} is expected."#
            ),
        ])
    func example(audience: String, sentence: String) {
        #expect(refusal { () throws(Problem) in try Self.read(audience) }?.detail == sentence)
    }
}
