import Delivery
import Testing

@Suite("Parcels of a service route that are being encoded")
struct EncodingQueueTests {
    @Test("pass through one encoder at a time, in the order of their leases")
    func order() {
        var line = EncodingQueue<Int>()
        #expect(line.add(1) == true, "no encoder is running")
        #expect((2...64).allSatisfy { !line.add($0) })
        #expect((1...40).allSatisfy { line.take() == $0 })
        // The next lease arrives while the first one is being encoded.
        #expect((65...128).allSatisfy { !line.add($0) })
        #expect((41...128).allSatisfy { line.take() == $0 })
        #expect(line.add(129) == false, "the encoder has not yet found the queue empty")
        #expect(line.take() == 129 && line.take() == nil)
        #expect(line.add(130) == true, "the encoder has stopped")
        #expect(line.take() == 130)
    }
}
