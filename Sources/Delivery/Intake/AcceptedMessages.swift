import CompiledMessages
import Model
import Synchronization

/// Messages that this process cut a moment ago, as they were compiled then. It usually leases a single message's
/// only parcel itself, and then need not read and compile the content again. Bounded in number and bytes; evicted
/// messages are still in the database.
///
/// Callable from any thread.
package final class AcceptedMessages: Sendable {
    /// The limits of each of the two generations. A compiled message takes a few times the bytes of its content.
    package static let countMax = 256
    package static let contentBytesMax = 512 << 10

    private struct Generations {
        var recent: [MessageID: CompiledMessage] = [:]  // lookup only
        var old: [MessageID: CompiledMessage] = [:]  // lookup only
        var recentBytes = 0
    }

    private let generations = Mutex(Generations())

    package init() {}

    package func store(_ message: CompiledMessage, contentBytes: Int) {
        guard contentBytes <= Self.contentBytesMax else { return }
        generations.withLock { generations in
            let isFull = generations.recent.count >= Self.countMax
            if isFull || generations.recentBytes + contentBytes > Self.contentBytesMax {
                generations.old = generations.recent
                generations.recent = [:]
                generations.recentBytes = 0
            }
            generations.recent[message.id] = message
            generations.recentBytes += contentBytes
        }
    }

    package func message(_ id: MessageID) -> CompiledMessage? { generations.withLock { $0.recent[id] ?? $0.old[id] } }
}
