import APNs
import Encodings
import Testing

@Suite("The topic list of a certificate")
struct TopicListTests {
    private static let sample =
        "30640c0f636f6d2e6578616d706c652e61707030050c036170700c14636f6d2e6578616d706c652e6170702e766f697030060c04"
        + "766f69700c1c636f6d2e6578616d706c652e6170702e636f6d706c69636174696f6e300e0c0c636f6d706c69636174696f6e"

    @Test("lists topics beside their services")
    func sample() throws {
        let der = try #require(Hexadecimal.decode(Self.sample))
        #expect(
            APNsTopicList.parse(der: der) == [
                "com.example.app", "com.example.app.voip", "com.example.app.complication",
            ])
    }

    @Test("fails to parse if it is cut short, and never traps on a changed byte")
    func damaged() throws {
        let der = try #require(Hexadecimal.decode(Self.sample))
        for count in 0..<der.count { #expect(APNsTopicList.parse(der: Array(der[..<count])) == nil) }
        #expect(APNsTopicList.parse(der: der + [0]) == nil)
        for index in der.indices {
            for byte in [0x00, 0x30, 0x7f, 0x80, 0x84, 0xff] as [UInt8] {
                var changed = der
                changed[index] = byte
                _ = APNsTopicList.parse(der: changed)
            }
        }
    }

    @Test("may have lengths of several bytes")
    func longForm() throws {
        let name = [UInt8](repeating: UInt8(ascii: "a"), count: 200)
        let pair = [0x0c, 0x81, 200] + name + [0x30, 0x00]
        let length = pair.count * 2
        let der: [UInt8] = [0x30, 0x82, UInt8(length / 256), UInt8(length % 256)] + pair + pair
        #expect(APNsTopicList.parse(der: der)?.count == 2)
    }

    @Test("limits the usable topics; without a list the subject's id is the topic")
    func usable() {
        let list = ["com.example.app.voip"]
        #expect(APNsTopicList.usableTopics(list: list, subjectUID: "com.example.app") == list)
        #expect(APNsTopicList.usableTopics(list: nil, subjectUID: "com.example.app") == ["com.example.app"])
        #expect(APNsTopicList.usableTopics(list: nil, subjectUID: nil) == [])
    }

    @Test("yields no topics if it can't be read, not even the subject's id")
    func unreadable() throws {
        let der = try #require(Hexadecimal.decode(Self.sample))
        func usable(_ der: [UInt8]?) -> [String]? {
            APNsTopicList.usableTopics(extension: der, subjectUID: "com.example.app.watch")
        }
        #expect(usable(der)?.first == "com.example.app")
        #expect(usable(der)?.contains("com.example.app.watch") == false)
        #expect(usable(der.dropLast()) == nil)
        #expect(usable(nil) == ["com.example.app.watch"])
    }
}
