import CommandLine
import JSON
import Testing

@Suite("A push of the demonstration of stocks")
struct StockPushTests {
    @Test(
        "makes one sentence, with its badge",
        arguments: [
            (
                #"{"aps":{"alert":{"body":"Stock Anduct is now 2.84"},"badge":1},"item":"anduct"}"#,
                #"shows "Stock Anduct is now 2.84" and the badge 1"#, #"{"text":"Stock Anduct is now 2.84","badge":1}"#
            ),
            (
                #"{"message":{"notification":{"body":"Up"},"android":{"notification":{"notification_count":2}}}}"#,
                #"shows "Up" and the badge 2"#, #"{"text":"Up","badge":2}"#
            ),
            (
                #"{"message":{"notification":{"body":"Up\u001b[2J"}}}"#, #"shows "Up\u{1b}[2J""#,
                #"{"text":"Up\u001b[2J","badge":null}"#
            ),
            (
                #"{"message":{"data":{"last_price":"7.10"}}}"#, #"hands its app {"last_price":"7.10"}"#,
                #"{"data":{"last_price":"7.10"}}"#
            ),
            (#"{"aps":{"content-available":1}}"#, "hands its app -", #"{"data":null}"#),
        ])
    func sentence(payload: String, sentence: String, json: String) throws {
        let push = StockPush(payload: try JSONReader.read(Array(payload.utf8)))
        #expect(push.sentence == sentence)
        #expect(push.json == (try JSONReader.read(Array(json.utf8))))
    }
}
