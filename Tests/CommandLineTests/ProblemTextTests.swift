import CommandLine
import JSON
import Testing

@Suite("An API error in a terminal")
struct ProblemTextTests {
    private static func sentence(_ problem: String) throws -> String? {
        ProblemText.sentence(of: try #require(try JSONReader.read(Array(problem.utf8)).object))
    }

    @Test(
        "names a command as the remedy where the API's sentence names a request",
        arguments: [
            ("unknown_app", "carillon apps list lists the apps, carillon apps create creates one."),
            ("unknown_device", "carillon devices register registers one."),
            ("unknown_message", "carillon messages list lists its messages."),
            ("unknown_credential", "carillon credentials list lists its credentials."),
            ("unknown_key", "carillon keys list lists the keys."),
        ])
    func commands(code: String, wayOut: String) throws {
        let sentence = try Self.sentence(#"{"code": "\#(code)", "detail": "Not here. GET .../all lists them."}"#)
        #expect(sentence?.hasSuffix(". " + wayOut) == true)
    }

    @Test("blames a proxy for a refusal of a large body that is not the gateway's own")
    func proxy() {
        let page = Array("<html><h1>413 Request Entity Too Large</h1></html>".utf8)
        #expect(CommandFault(status: 413, body: page).description.hasPrefix("a proxy in front of the gateway refused"))
        let own = Array(#"{"code": "body_too_large", "detail": "A body may have at most 9 bytes."}"#.utf8)
        #expect(CommandFault(status: 413, body: own).description.hasPrefix("A body may have at most 9 bytes."))
    }

    @Test("names the missing scopes, of which one suffices, and the command that creates a key")
    func scopes() throws {
        let sentence = try Self.sentence(
            #"{"code": "forbidden", "detail": "No. POST .../keys.", "missing_scopes": ["messages", "broadcast"]}"#)
        #expect(
            sentence == #"This key lacks the scope "messages" or "broadcast". "#
                + "Use a key that has it, or create one: carillon keys create.")
    }

    @Test(
        "repeats the gateway's sentence for codes without a sentence of its own, unknown ones too",
        arguments: ["forbidden", "slug_taken", "of_next_year"])
    func asItCame(code: String) throws {
        let detail = "Keys of one app are made by POST .../keys."
        #expect(try Self.sentence(#"{"code": "\#(code)", "detail": "\#(detail)"}"#) == detail)
    }

    @Test("gives no sentence for a body that no gateway wrote", arguments: ["{}", #"{"code": "not_found"}"#])
    func stranger(body: String) throws {
        #expect(try Self.sentence(body) == nil)
    }
}
