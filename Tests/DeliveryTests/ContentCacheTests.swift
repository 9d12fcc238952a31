import Basis
import Delivery
import Model
import Testing

@Suite("A cache of recently accepted contents")
struct ContentCacheTests {
    private static func id(_ number: Int) -> MessageID { MessageID(UniversalID(high: 7, low: UInt64(number))) }

    private static func content(_ number: Int, bytes: Int) -> ContentCache.Content {
        ContentCache.Content(
            format: Int16(number % 3 + 1), bytes: [UInt8](repeating: UInt8(number & 0xff), count: bytes))
    }

    @Test(
        "keeps the latest contents, at least one generation and at most two",
        arguments: [10, ContentCache.bytesMax / 4, ContentCache.bytesMax])
    func bounded(bytes: Int) {
        let fresh = ContentCache()
        let fit = min(ContentCache.countMax, ContentCache.bytesMax / bytes)
        let all = 5 * fit
        for number in 0..<all {
            fresh.store(Self.id(number), Self.content(number, bytes: bytes))
            let kept = (0...number).filter { fresh.content(of: Self.id($0)) != nil }
            #expect(kept.count >= min(number + 1, fit) && kept.count <= 2 * fit)
            #expect(kept == Array(number + 1 - kept.count...number))
        }
        #expect(fresh.content(of: Self.id(all - 1)) == Self.content(all - 1, bytes: bytes))
    }

    @Test("skips a content that is larger than the whole cache")
    func large() {
        let fresh = ContentCache()
        fresh.store(Self.id(1), Self.content(1, bytes: 10))
        fresh.store(Self.id(2), Self.content(2, bytes: ContentCache.bytesMax + 1))
        #expect(fresh.content(of: Self.id(1)) != nil)
        #expect(fresh.content(of: Self.id(2)) == nil)
    }
}
