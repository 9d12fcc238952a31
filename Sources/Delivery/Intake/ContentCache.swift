import Model
import Synchronization

/// Contents of messages that were accepted here a moment ago: a single message's only parcel is leased by this process
/// mostly, and its content need not be read then. Bounded in number and bytes; what is forgotten is in the database.
///
/// Callable from anywhere.
package final class ContentCache: Sendable {
    package struct Content: Sendable, Equatable {
        package let format: Int16
        package let bytes: [UInt8]

        package init(format: Int16, bytes: [UInt8]) {
            self.format = format
            self.bytes = bytes
        }
    }

    /// Of each of the two generations.
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

    package func content(of id: MessageID) -> Content? {
        generations.withLock { $0.recent[id] ?? $0.old[id] }
    }
}
