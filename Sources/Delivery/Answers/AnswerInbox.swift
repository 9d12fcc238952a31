import Synchronization

/// Answers from the lanes' threads, until the engine comes for them: as many at once as there are.
///
/// Bounded by the pushes that are out, each of which has one answer. From any thread; one engine takes.
final class AnswerInbox: Sendable {
    private let waiting = Mutex<[ParcelAnswers]>([])
    private let signal: AsyncStream<Void>.Continuation
    /// Rings where something has come since it was empty.
    let signals: AsyncStream<Void>

    init() {
        (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    func put(_ answers: ParcelAnswers) {
        let isFirst = waiting.withLock { waiting in
            defer { waiting.append(answers) }
            return waiting.isEmpty
        }
        if isFirst { signal.yield() }
    }

    /// In the order in which they came.
    func take() -> [ParcelAnswers] {
        waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
    }

    /// No more is waited for.
    func close() { signal.finish() }
}
