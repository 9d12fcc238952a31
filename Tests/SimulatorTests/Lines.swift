import Synchronization

/// The lines that a simulator recorded, collected from its thread.
final class Lines: Sendable {
    private let gathered = Mutex<[UInt8]>([])
    func append(_ bytes: [UInt8]) { gathered.withLock { $0.append(contentsOf: bytes) } }
    var bytes: [UInt8] { gathered.withLock { $0 } }
}
