import Synchronization

/// Collects answers from the lanes' threads until the engine takes all of them at once.
///
/// The pushes in flight bound it, because each has one answer. Any thread may put; one engine takes.
final class AnswerInbox: Sendable {
    private let waiting = Mutex<[ParcelAnswers]>([])
    private let signal: AsyncStream<Void>.Continuation
    /// Signals that an answer arrived in an empty inbox.
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

    /// Returns the answers in the order of their arrival.
    func take() -> [ParcelAnswers] {
        waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
    }

    /// Ends the signals, so that the engine's loop returns.
    func close() { signal.finish() }
}
