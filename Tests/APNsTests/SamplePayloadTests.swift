import APNs
import Basis
import JSON
import Model
import Testing

/// The two example payloads of an old push procedure for the binary protocol, with one missing comma added. Each `aps`
/// record in its list is one push, in order.
private enum Sample {
    static let first = #"{"aps":{"alert":"My first push","badge":1,"sound":"default","content-available":1}}"#
    static let second =
        #"{"aps":{"alert":{"title":"Push","body":"My second push"},"badge":2,"sound":"default","content-available":1},"#
        + #""new_ids":["XV234","ZF452","RT563"],"updated_ids":["AC634","HJ153"]}"#
}

private func notification(_ text: String) throws -> APNsNotification {
    let message = MessageID(UniversalID(high: 0x0192_f3a4_b5c6_7d8e, low: 0x8f01_2345_6789_0abc))
    return try APNsNotification.compile(try APIMessage(text).content, message: message)
}

private func payload(_ text: String, badge: Int32? = nil) throws -> String {
    let payload = try notification(text).payloads[0]
    var bytes = payload.head
    payload.appendOwnBytes(badge: badge, to: &bytes)
    return String(decoding: bytes + payload.tail, as: UTF8.self)
}

/// Sorts the members by name at every level, because JSON objects have no order.
private func sorted(_ value: JSONValue) -> JSONValue {
    switch value {
    case .object(let object):
        .object(
            JSONObject(
                object.members.map { JSONMember($0.name, sorted($0.value)) }.sorted { $0.name < $1.name }))
    case .array(let elements): .array(elements.map(sorted))
    case .null, .bool, .number, .string: value
    }
}

private func same(_ one: String, _ other: String) throws -> Bool {
    try sorted(JSONReader.read(Array(one.utf8))) == sorted(JSONReader.read(Array(other.utf8)))
}

@Suite("A classic sample payload")
struct SamplePayloadTests {
    /// The registry keeps the badge count and saves it before the push is sent.
    @Test("compiles from a message, with its badge from the registry")
    func fromTheCommonPart() throws {
        let first =
            #"{"badge":1,"sound":"default","apns":{"aps":{"alert":"My first push","content-available":1}}}"#
        #expect(try same(payload(first, badge: 1), Sample.first))
        let second =
            #"{"notification":{"title":"Push","body":"My second push"},"badge":2,"sound":"default","#
            + #""data":{"new_ids":["XV234","ZF452","RT563"],"updated_ids":["AC634","HJ153"]},"#
            + #""apns":{"aps":{"content-available":1}}}"#
        #expect(try same(payload(second, badge: 2), Sample.second))
        // The next badge by count: the second message with "increment" gets 2.
        let counted = second.replacing(#""badge":2"#, with: #""badge":"increment""#)
        #expect(try same(payload(counted, badge: 2), Sample.second))
    }

    @Test(
        "compiles byte for byte from an apns object that contains it whole",
        arguments: [Sample.first, Sample.second])
    func fromTheOverride(sample: String) throws {
        #expect(try payload(#"{"apns":\#(sample)}"#) == sample)
    }

    @Test("leaves with high priority for the alert token, as an alert")
    func headers() throws {
        let sent = try notification(#"{"apns":\#(Sample.second)}"#)
        #expect(sent.pushType == .alert)
        #expect(sent.priority == 10)
        #expect(sent.tokenKind == .alert)
    }
}
