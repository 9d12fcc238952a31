import Content
import FCM
import JSON
import Model
import ProviderInterface
import Testing

@Suite("The pushes of a subscription to items, for FCM")
struct ItemDeliveryTests {
    private static let alert = ItemDelivery(
        collapseKey: "Stock update", waitsWhileIdle: true, ttlSeconds: 300, hasNotification: true)
    private static let data = ItemDelivery(hasNotification: false)

    private static func object(_ own: String?, _ delivery: ItemDelivery) throws -> String {
        let object = try FCMProvider().itemObject(own.map { try json($0) }, delivery)
        return String(decoding: try #require(object).bytes, as: UTF8.self)
    }

    @Test("ask Android for their priority, collapse key and time to live")
    func members() throws {
        #expect(try Self.object(nil, Self.data) == #"{"android":{"priority":"HIGH"}}"#)
        #expect(
            try Self.object(nil, Self.alert)
                == #"{"android":{"priority":"NORMAL","collapse_key":"Stock update","ttl":"300s"}}"#)
    }

    @Test("keep the sender's own members, in either spelling")
    func own() throws {
        let own = #"{"android":{"collapseKey":"own","ttl":null},"data":{"a":"b"}}"#
        #expect(
            try Self.object(own, Self.alert)
                == #"{"android":{"collapseKey":"own","ttl":null,"priority":"NORMAL"},"data":{"a":"b"}}"#)
        #expect(try Self.object(#"{"android":null}"#, Self.alert) == #"{"android":null}"#)
        #expect(try Self.object(#"{"android":1}"#, Self.alert) == #"{"android":1}"#)
    }

    @Test("send urgent data alone on Android if there is no notification")
    func dataAlone() throws {
        var content = MessageContent(data: [DataMember(name: "price", json: JSONText("2.84"))])
        content.options.pushType = .background
        content.overrides[.fcm] = try FCMProvider().itemObject(nil, Self.data)
        let message = try JSONReader.read(Array(try body(content).utf8)).object?["message"]?.object
        #expect(message?["android"]?.object?["priority"] == "HIGH")
        #expect(message?["notification"] == nil && message?["android"]?.object?["notification"] == nil)
        #expect(message?["webpush"]?.object?["notification"] == nil)
        #expect(message?["data"]?.object?["price"] == "2.84")
    }

    @Test("stay data alone on Android if only a badge is counted")
    func badgeAlone() throws {
        var content = MessageContent(badge: .value(1), data: [DataMember(name: "price", json: JSONText("2.84"))])
        content.overrides[.fcm] = try FCMProvider().itemObject(nil, Self.data)
        let message = try JSONReader.read(Array(try body(content, badge: 1).utf8)).object?["message"]?.object
        #expect(message?["android"]?.object?["priority"] == "HIGH")
        #expect(message?["android"]?.object?["notification"] == nil)
        #expect(message?["webpush"]?.object?["notification"] == nil)
    }

    @Test(
        "may have no notification of a single platform without a common one",
        arguments: [
            (#"{"notification":{"title":"a"}}"#, "/fcm/notification"),
            (#"{"android":{"notification":{}}}"#, "/fcm/android/notification"),
            (#"{"webpush":{"notification":{}}}"#, "/fcm/webpush/notification"),
        ])
    func otherNotifications(own: String, place: String) throws {
        let own = try json(own)
        let fault = #expect(throws: ProviderFault.self) { try FCMProvider().itemObject(own, Self.data) }
        #expect(fault?.code == "not_for_background" && fault?.pointer?.description == place)
        #expect(throws: Never.self) { try FCMProvider().itemObject(own, Self.alert) }
    }

    @Test(
        "show something on Apple's devices if the part for these says so",
        arguments: [
            (#"{"apns":{"payload":{"aps":{"alert":"a"}}}}"#, true),
            (#"{"apns":{"payload":{"aps":{"badge":1}}}}"#, true),
            (#"{"apns":{"payload":{"aps":{"sound":null,"category":"c"}}}}"#, false), (#"{"data":{"a":"b"}}"#, false),
        ])
    func showing(own: String, isShown: Bool) throws {
        #expect(FCMProvider().showsAlone(try json(own)) == isShown)
    }
}
