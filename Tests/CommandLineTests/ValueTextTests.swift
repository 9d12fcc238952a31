import CommandLine
import JSON
import Testing

@Suite("A JSON value in a terminal")
struct ValueTextTests {
    @Test(
        "reads as words for people: yes, no, a dash, a list with commas",
        arguments: [
            ("null", "-"), ("[]", "-"), ("{}", "-"), ("\"\"", "-"), ("true", "yes"), ("false", "no"), ("7", "7"),
            (#""fr-CA""#, "fr-CA"), (#"["news"]"#, "news"), (#"["news","sport"]"#, "news, sport"),
            (#"{"plan":"gold"}"#, #"{"plan":"gold"}"#),
        ])
    func text(json: String, text: String) throws {
        let value = try JSONReader.read(Array(json.utf8))
        #expect(value.sentence == text)
    }
}
