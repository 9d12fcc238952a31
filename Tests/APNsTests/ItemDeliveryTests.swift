import APNs
import JSON
import Model
import ProviderInterface
import Testing

@Suite("The pushes of a subscription to items, for APNs")
struct ItemDeliveryTests {
    private static func json(_ text: String) throws -> JSONText { JSONText(try JSONReader.read(Array(text.utf8))) }

    @Test("have the sender's own object and nothing else")
    func own() throws {
        let delivery = ItemDelivery(collapseKey: "k", waitsWhileIdle: true, ttlSeconds: 1, hasNotification: true)
        let own = try Self.json(#"{"aps":{"alert":"a"}}"#)
        #expect(try APNsProvider().itemObject(own, delivery) == own)
        #expect(try APNsProvider().itemObject(nil, delivery) == nil)
    }

    @Test(
        "show something by themselves with an alert, a sound or a badge of the sender's own",
        arguments: [
            (#"{"aps":{"alert":{"title":"a"}}}"#, true), (#"{"aps":{"sound":"s"}}"#, true),
            (#"{"aps":{"badge":0}}"#, true),
            (#"{"aps":{"alert":null,"category":"c"}}"#, false), (#"{"alert":"a"}"#, false), (#"{"aps":1}"#, false),
        ])
    func showing(own: String, isShown: Bool) throws {
        #expect(APNsProvider().showsAlone(try Self.json(own)) == isShown)
    }
}
