/// Merges signals while nobody listens. It has a single consumer.
package struct CoalescingSignal: Sendable {
    package let signals: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    package init() {
        (signals, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    package func notify() { continuation.yield() }

    package func remove() { continuation.finish() }
}
