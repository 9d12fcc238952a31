import Model
import Synchronization

/// Contents of messages that this process accepted a moment ago. It usually leases a single message's only parcel
/// itself, and then need not read the content. Bounded in number and bytes; evicted contents are still in the database.
///
/// Callable from any thread.
package final class ContentCache: Sendable {
    package struct Content: Sendable, Equatable {
        package let format: Int16
        package let bytes: [UInt8]

        package init(format: Int16, bytes: [UInt8]) {
            (self.format, self.bytes) = (format, bytes)
        }
    }

    /// The limits of each of the two generations.
    package static let countMax = 256
    package static let bytesMax = 512 << 10

    private struct Generations {
        var recent: [MessageID: Content] = [:]  // lookup only
        var old: [MessageID: Content] = [:]  // lookup only
        var recentBytes = 0
    }

    private let generations = Mutex(Generations())

    package init() {}

    package func store(_ id: MessageID, _ content: Content) {
        guard content.bytes.count <= Self.bytesMax else { return }
        generations.withLock { generations in
            let isFull = generations.recent.count >= Self.countMax
            if isFull || generations.recentBytes + content.bytes.count > Self.bytesMax {
                generations.old = generations.recent
                generations.recent = [:]
                generations.recentBytes = 0
            }
            generations.recent[id] = content
            generations.recentBytes += content.bytes.count
        }
    }

    package func content(of id: MessageID) -> Content? { generations.withLock { $0.recent[id] ?? $0.old[id] } }
}
