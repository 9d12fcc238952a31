import CompiledMessages
import Content
import Model
import QueueRules
import Store

struct CachedMessage: Sendable {
    let id: MessageID
    /// nil: the stored content is gone or can't be compiled. Validation checks every message, so that is our fault and
    /// raises an alarm.
    let compiled: CompiledMessage?

    func reading(by provider: Provider?) -> MessageReading { compiled?.reading(by: provider) ?? .repeatable }
}

/// The compiled messages used most recently. Content is read from the database once per process and message, and not at
/// all if this process accepted it a moment ago.
actor CompiledMessageCache {
    /// A compiled message is a few kilobytes; this many broadcasts at once on one process are plenty.
    private static let cachedMax = 256

    private let store: MessageStore
    private let accepted: AcceptedMessages
    /// The messages in order of use, the most recent last.
    private var cached: [CachedMessage] = []

    init(store: MessageStore, accepted: AcceptedMessages) { (self.store, self.accepted) = (store, accepted) }

    /// Returns the messages of leased parcels, one for each, in their order. Missing ones are read together.
    ///
    /// Only broadcasts are cached: a transactional message is usually needed once and would evict a broadcast.
    func messages(of parcels: [LeasedParcel]) async -> [Result<CachedMessage, StoreFault>] {
        var known: [MessageID: Result<CachedMessage, StoreFault>] = [:]  // lookup only
        var missing: [MessageID] = []
        for parcel in parcels where known[parcel.message] == nil && !missing.contains(parcel.message) {
            if let message = used(parcel.message) ?? fresh(parcel.message) {
                known[parcel.message] = .success(message)
            } else {
                missing.append(parcel.message)
            }
        }
        do throws(StoreFault) {
            if !missing.isEmpty {
                for (id, stored) in zip(missing, try await store.contents(missing)) {
                    known[id] = stored.map { $0.map(Self.compile) ?? CachedMessage(id: id, compiled: nil) }
                }
            }
        } catch { for id in missing { known[id] = .failure(error) } }
        for parcel in parcels where parcel.urgency == .bulk {
            if case .success(let message) = known[parcel.message] { keep(message) }
        }
        return parcels.map { known[$0.message] ?? .success(CachedMessage(id: $0.message, compiled: nil)) }
    }

    private func used(_ id: MessageID) -> CachedMessage? {
        guard let place = cached.firstIndex(where: { $0.id == id }) else { return nil }
        let message = cached.remove(at: place)
        cached.append(message)
        return message
    }

    private func keep(_ message: CachedMessage) {
        guard !cached.contains(where: { $0.id == message.id }) else { return }
        if cached.count >= Self.cachedMax { cached.removeFirst() }
        cached.append(message)
    }

    private func fresh(_ id: MessageID) -> CachedMessage? {
        accepted.message(id).map { CachedMessage(id: id, compiled: $0) }
    }

    private static func compile(_ stored: StoredMessage) -> CachedMessage {
        let content = try? StoredContent.decode(stored.content, format: stored.format)
        return CachedMessage(id: stored.id, compiled: content.map { CompiledMessage($0, message: stored.id, for: []) })
    }
}
