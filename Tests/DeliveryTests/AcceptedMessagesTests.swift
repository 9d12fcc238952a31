import Basis
import CompiledMessages
import Delivery
import Model
import Testing

@Suite("The messages accepted a moment ago")
struct AcceptedMessagesTests {
    private static func id(_ number: Int) -> MessageID { MessageID(UniversalID(high: 7, low: UInt64(number))) }

    private static func message(_ number: Int) -> CompiledMessage {
        CompiledMessage(MessageContent(notification: NotificationText(body: "Now")), message: id(number))
    }

    @Test(
        "keep the latest messages, at least one generation and at most two",
        arguments: [10_000, AcceptedMessages.contentBytesMax / 4, AcceptedMessages.contentBytesMax])
    func bounded(bytes: Int) {
        let accepted = AcceptedMessages()
        let fit = min(AcceptedMessages.countMax, AcceptedMessages.contentBytesMax / bytes)
        let all = 5 * fit
        for number in 0..<all {
            accepted.store(Self.message(number), contentBytes: bytes)
            let kept = (0...number).filter { accepted.message(Self.id($0)) != nil }
            #expect(kept.count >= min(number + 1, fit) && kept.count <= 2 * fit)
            #expect(kept == Array(number + 1 - kept.count...number))
        }
    }

    @Test("leave out the oldest, and a content that is larger than all of them may be")
    func large() {
        let accepted = AcceptedMessages()
        for number in 0..<3 * AcceptedMessages.countMax { accepted.store(Self.message(number), contentBytes: 0) }
        #expect(accepted.message(Self.id(0)) == nil)
        #expect(accepted.message(Self.id(3 * AcceptedMessages.countMax - 1)) != nil)
        accepted.store(Self.message(7_000), contentBytes: AcceptedMessages.contentBytesMax + 1)
        #expect(accepted.message(Self.id(7_000)) == nil)
    }
}
