import Content
import Model
import QueueRules
import Store

/// A leased parcel, and the message and values found for it. Without a message, the content can't be read now and the
/// parcel goes back.
struct FoundParcel: Sendable {
    let parcel: LeasedParcel
    let serviceRoute: ServiceRoute
    var message: CachedMessage?
    /// The values for the message's placeholders; nil: it has none.
    var values: MemberValues?

    func read(by provider: Provider?) -> ReadParcel { ReadParcel(parcel, message?.reading(by: provider) ?? .unread) }
}

// Reading what leased parcels' pushes are made of. Where possible, a fault affects one parcel only, and the others
// leave.
extension DeliveryEngine {
    /// Returns leased parcels with their contents, in their order.
    ///
    /// Their messages are read together, and so are the values of those that need the same fields. A parcel whose
    /// content can't be read now is handed back, because its lease is written and would otherwise have to expire.
    /// - Parameter known: messages that need not be read.
    func contents(
        of parcels: [LeasedParcel], on serviceRoute: ServiceRoute, known: [CachedMessage] = []
    ) async -> [FoundParcel] {
        var found = parcels.map { FoundParcel(parcel: $0, serviceRoute: serviceRoute) }
        var asking: [(asked: AskedValues, places: [Int])] = []
        var unread: [(fault: StoreFault, parcels: [LeasedParcel])] = []
        for (place, reading) in await messages(of: parcels, known).enumerated() {
            switch reading {
            case .failure(let fault):
                if unread.last?.fault != fault { unread.append((fault, [])) }
                unread[unread.count - 1].parcels.append(parcels[place])
            case .success(let message):
                found[place].message = message
                guard let asked = message.askedValues else { continue }
                if let group = asking.firstIndex(where: { $0.asked == asked }) {
                    asking[group].places.append(place)
                } else {
                    asking.append((asked, [place]))
                }
            }
        }
        for some in unread { noteUnread(some.parcels, some.fault) }
        for group in asking { await fill(group.places, group.asked, &found) }
        return found
    }

    private func messages(
        of parcels: [LeasedParcel], _ known: [CachedMessage]
    ) async -> [Result<CachedMessage, StoreFault>] {
        var byID: [MessageID: CachedMessage] = [:]  // lookup only
        for message in known { byID[message.id] = message }
        let missing = parcels.filter { byID[$0.message] == nil }
        var read = missing.isEmpty ? [] : await messageCache.messages(of: missing)[...]
        return parcels.compactMap { byID[$0.message].map { .success($0) } ?? read.popFirst() }
    }

    private func fill(_ places: [Int], _ asked: AskedValues, _ found: inout [FoundParcel]) async {
        let parcels = places.map { found[$0].parcel }
        let fields = asked.fields
        do throws(StoreFault) {
            let together = MergedMembers(parcels.map { $0.members.map(\.registration) })
            // The same bound as for separate reads. With less, the last parcels would be handed back each time.
            let bytesMax = parcels.reduce(0) { $0 + ValueLimits.bytes(of: $1.members.count, fields) }
            let values = try await stores.parcels.values(
                of: together.all, fields, in: asked.message, bytesMax: bytesMax)
            for (place, members) in zip(places, together.places) {
                found[place].values = values.part(members, fieldCount: fields.count)
            }
        } catch {
            if error.isLasting, places.count > 1 {
                for place in places { await fill([place], asked, &found) }
            } else {
                for place in places { found[place].message = nil }
                noteUnread(parcels, error)
            }
        }
    }

    /// Logs one line for many parcels if the fault lies in their message, else tells the database's watch.
    private func noteUnread(_ parcels: [LeasedParcel], _ fault: StoreFault) {
        guard let first = parcels.first else { return }
        guard fault.isLasting else {
            return stores.context.database.failed("contents not read, parcels released", fault)
        }
        log.warning(
            "Message contents can't be read; parcels released",
            metadata: [
                "message_id": "\(first.message.value.text)", "parcels": "\(parcels.count)", "fault": "\(fault)",
            ])
    }
}

/// Values that are read of members. Parcels that ask for the same are read together.
private struct AskedValues: Equatable {
    let fields: [DeviceField]
    /// The message whose members' own values are among the fields; nil: they are not.
    let message: MessageID?
}

extension CachedMessage {
    /// The values that the message's placeholders need; nil: none.
    fileprivate var askedValues: AskedValues? {
        guard let placeholders = compiled?.placeholders, !placeholders.isEmpty else { return nil }
        let fields = placeholders.fields
        return AskedValues(fields: fields, message: fields.contains(.own) ? id : nil)
    }
}
