import CommandLine
import JSON
import Testing

@Suite("A wait that needs an operator")
struct WaitTextTests {
    private func lines(_ waits: String) throws -> [String] {
        WaitText.lines(of: try JSONReader.read(Array(#"{"id":"m","waiting":[\#(waits)]}"#.utf8)), app: "garden")
    }

    @Test("names what is missing and the command that supplies it")
    func reported() throws {
        let missing = #"{"provider":"apns","environment":"sandbox","topic":"com.example.garden","pushes":2,"#
        #expect(
            try lines(missing + #""for":"credential","reason":null}"#) == [
                "2 pushes wait: no active credential covers apns sandbox, topic com.example.garden",
                "  -> carillon credentials add --app garden --p8 AuthKey_....p8 --team-id ... --topic com.example.garden "
                    + "--environment sandbox --activate, or carillon credentials activate ID --app garden",
            ])
        let refused = #"{"provider":"fcm","environment":"production","topic":"","pushes":1,"for":"provider","#
        #expect(
            try lines(refused + #""reason":"THIRD_PARTY_AUTH_ERROR"}"#) == [
                "1 push waits: fcm production rejects the credential (THIRD_PARTY_AUTH_ERROR); one push a minute retries",
                "  -> add a valid credential: carillon credentials add --app garden --service-account firebase.json --activate",
            ])
        #expect(WaitText.lines(of: ["id": "m"], app: "garden").isEmpty)
    }

    @Test("differs from pushes that are next, and from an audience that is being found")
    func turns() throws {
        func lines(_ waits: String) throws -> [String] {
            let message = #"{"id":"m","progress":{"waiting":[\#(waits)]}}"#
            return WaitText.lines(of: try JSONReader.read(Array(message.utf8)), app: "garden")
        }
        let place = #""provider":"apns","environment":"sandbox","topic":"","since":"2026-12-01T12:00:00.000Z""#
        #expect(try lines(#"{"for":"turn","pushes":5,\#(place)}"#).isEmpty)
        #expect(try lines(#"{"for":"planning","pushes":null,"until":null}"#).isEmpty)
        let rated = #"{"for":"rate","pushes":5,\#(place)}"#
        #expect(try lines(rated + "," + rated) == ["10 pushes wait for the message's rate"])
    }
}
