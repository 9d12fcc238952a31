import DeliveryRules
import JSON
import PushModel
import Store

/// A message as delivery needs it.
struct ShelvedMessage: Sendable {
    let id: MessageID
    /// nil: what is stored is gone, or can't be compiled. The door checks every message, so that is our fault, and alarms.
    let compiled: CompiledMessage?

    var reading: MessageReading { compiled?.reading ?? .repeatable }
}

/// Compiled messages, the latest used kept. Content is read from the database once per process and
/// message, and not at all where it was accepted here a moment ago.
actor MessageShelf {
    /// A compiled message is a few kilobytes; this many broadcasts at once on one process are plenty.
    private static let shelvedMax = 256

    private let store: MessageStore
    private let fresh: FreshContents
    /// The latest used last.
    private var shelved: [ShelvedMessage] = []

    init(store: MessageStore, fresh: FreshContents) {
        self.store = store
        self.fresh = fresh
    }

    func message(_ id: MessageID) async throws(StoreFault) -> ShelvedMessage {
        if let place = shelved.firstIndex(where: { $0.id == id }) {
            let message = shelved.remove(at: place)
            shelved.append(message)
            return message
        }
        let message: ShelvedMessage
        if let here = accepted(id) {
            message = here
        } else {
            message = try await store.content(id).map(Self.compile) ?? ShelvedMessage(id: id, compiled: nil)
        }
        if !shelved.contains(where: { $0.id == id }) {
            if shelved.count >= Self.shelvedMax { shelved.removeFirst() }
            shelved.append(message)
        }
        return message
    }

    /// Of several, in their order: those read together that can be. One that makes no sense fails alone.
    ///
    /// Those that are not there are not put there either: each is wanted once, mostly, and would take the place of a
    /// broadcast's.
    func messages(_ ids: [MessageID]) async -> [Result<ShelvedMessage, StoreFault>] {
        var known: [MessageID: Result<ShelvedMessage, StoreFault>] = [:]  // lookup only
        var missing: [MessageID] = []
        for id in ids where known[id] == nil && !missing.contains(id) {
            if let message = shelved.first(where: { $0.id == id }) {
                known[id] = .success(message)
            } else if let message = accepted(id) {
                known[id] = .success(message)
            } else {
                missing.append(id)
            }
        }
        do throws(StoreFault) {
            if !missing.isEmpty {
                for stored in try await store.contents(missing) { known[stored.id] = .success(Self.compile(stored)) }
            }
        } catch {
            if !error.isLasting { for id in missing { known[id] = .failure(error) } }
        }
        // What did not come with the others is gone, or is what kept them from coming.
        for id in missing where known[id] == nil {
            do throws(StoreFault) {
                known[id] = .success(
                    try await store.content(id).map(Self.compile) ?? ShelvedMessage(id: id, compiled: nil))
            } catch { known[id] = .failure(error) }
        }
        return ids.map { known[$0] ?? .success(ShelvedMessage(id: $0, compiled: nil)) }
    }

    private func accepted(_ id: MessageID) -> ShelvedMessage? {
        fresh.content(of: id).map { Self.compile($0.bytes, format: $0.format, id) }
    }

    private static func compile(_ stored: StoredMessage) -> ShelvedMessage {
        compile(stored.content, format: stored.format, stored.id)
    }

    private static func compile(_ bytes: [UInt8], format: Int16, _ id: MessageID) -> ShelvedMessage {
        let content = try? StoredContent.decode(bytes, format: format)
        return ShelvedMessage(id: id, compiled: content.map { CompiledMessage.compile(stored: $0, message: id) })
    }
}
