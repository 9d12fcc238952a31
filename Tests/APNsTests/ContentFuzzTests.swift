import APNs
import Basis
import Content
import JSON
import Model
import TestSupport
import Testing

/// Generates unusual contents of every push type.
private struct ContentMaker {
    /// A text that occurs in every value: no refusal may quote it.
    static let secret = "sesame"
    private static let names = [
        "alert", "badge", "sound", "content-available", "content-changed", "event", "content-state", "attributes",
        "attributes-type", "timestamp", "title", "body", "loc-args", "loc-key", "relevance-score", "mdm", "domain",
        "container-identifier", "critical", "volume", "x\"\\\u{1}", "", "aps",
    ]

    var generator: SeededGenerator

    private mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[Int.random(in: 0..<elements.count, using: &generator)]
    }

    private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &generator) < percent }

    private mutating func value(depth: Int) -> JSONValue {
        switch Int.random(in: 0..<(depth > 0 ? 9 : 7), using: &generator) {
        case 0: return .null
        case 1: return .bool(chance(50))
        case 2: return .number(.whole(pick([0, 1, 5, -1, 1_795_348_800, .max])))
        case 3: return .number(.literal("0.5"))
        case 4: return .string(pick(["start", "update", "end", "passive"]))
        case 5, 6: return .string(Self.secret + String(repeating: "ü", count: pick([0, 1, 2_000])))
        case 7: return .array((0..<pick([0, 1, 3])).map { _ in value(depth: depth - 1) })
        default: return .object(object(depth: depth - 1))
        }
    }

    private mutating func object(depth: Int) -> JSONObject {
        var object = JSONObject()
        for _ in 0..<pick([0, 1, 2, 5]) { object[pick(Self.names)] = value(depth: depth) }
        return object
    }

    private mutating func text() -> NotificationText {
        let texts = [nil, "", Self.secret, Self.secret + String(repeating: "\n", count: 500)]
        return NotificationText(title: pick(texts), subtitle: chance(80) ? nil : pick(texts), body: pick(texts))
    }

    mutating func content() -> MessageContent {
        var patch = object(depth: 2)
        if chance(30) { patch["aps"] = .object(object(depth: 3)) }
        let data = object(depth: 2).members.filter { $0.name != "aps" || chance(5) }
        return MessageContent(
            notification: chance(50) ? text() : nil,
            localizations: (0..<pick([0, 0, 1, 3])).map { Localization(locale: "l\($0)", text: text()) },
            badge: pick([.none, .none, .increment, .value(7)]), sound: chance(30) ? Self.secret : nil,
            data: data.map { DataMember(name: $0.name, json: JSONText($0.value)) },
            options: MessageOptions(priority: pick([nil, nil, .high, .normal]), pushType: pick(PushType.allCases)),
            overrides: [.apns: chance(50) ? JSONText(.object(patch)) : nil])
    }
}

@Suite("Any content for APNs")
struct ContentFuzzTests {
    private let message = MessageID(UniversalID(high: 0x0192_f3a4_b5c6_7d8e, low: 0x8f01_2345_6789_0abc))

    private func check(_ notification: APNsNotification, of content: MessageContent) throws {
        let row = APNsPushTypes.row(for: content.options.pushType)
        #expect(notification.payloads.count == content.localizations.count + 1)
        for payload in notification.payloads {
            #expect(payload.bytesMax <= row.payloadBytesMax)
            for badge in [nil, 0, Int32.max] {
                var bytes = payload.head
                payload.appendOwnBytes(badge: badge, to: &bytes)
                bytes += payload.tail
                #expect(bytes.count <= payload.bytesMax)
                let root = try #require(try JSONReader.read(bytes).object)
                #expect(row.aps != .never || root["aps"] == nil)
                #expect(row.aps != .always || root["aps"]?.object != nil)
                guard content.badge != .none else { continue }
                #expect(root["aps"]?.object?["badge"] == badge.map { .number(.whole(Int64($0))) })
            }
        }
    }

    @Test(
        "compiles into valid payloads within the size limit, or is refused with the place",
        arguments: 1...10 as ClosedRange<UInt64>)
    func anything(seed: UInt64) throws {
        var maker = ContentMaker(generator: SeededGenerator(seed: seed))
        var accepted = 0
        for _ in 0..<200 {
            let content = maker.content()
            let first = Result { () throws(ProviderFault) in try APNsNotification.compile(content, message: message)
            }
            let second = Result { () throws(ProviderFault) in try APNsNotification.compile(content, message: message)
            }
            #expect(first == second)
            switch first {
            case .success(let notification):
                accepted += 1
                try check(notification, of: content)
            case .failure(let fault):
                let places = ["notification", "badge", "sound", "data", "options", "apns"]
                #expect(fault.pointer?.tokens.first.map { places.contains($0) } ?? true)
                #expect(!fault.detail.contains(ContentMaker.secret))
            }
        }
        #expect(accepted > 3, "too few random inputs are valid")
    }
}
