import Basis
import CompiledMessages
import Content
import Model
import ProviderInterface
import QueueRules

package struct ParcelEncoder: Sendable {
    /// Encoding a parcel takes milliseconds; other work on the pool runs after this many pushes.
    private static let pushesBetweenYields = 512

    private let parcel: LeasedParcel
    private let message: CompiledMessage
    private let values: MemberValues?
    private let provider: Provider
    private let address: String
    private let push: any CompiledPush

    /// nil: the message has no form for the target's provider.
    /// - Parameter values: the values for the placeholders; nil: the message has none.
    package init?(
        _ parcel: LeasedParcel, _ message: CompiledMessage, _ values: MemberValues? = nil, _ target: PushTarget
    ) {
        guard let push = message.push(for: target.provider) else { return nil }
        (self.push, self.parcel, self.message, self.values) = (push, parcel, message, values)
        (provider, address) = (target.provider, target.address)
    }

    /// Encodes the pushes at positions whose values were read. Runs on the caller's thread.
    nonisolated(nonsending) package func batch(
        of positions: [Int32], now: WallInstant, noStreamAfter: MonotonicInstant
    ) async -> EncodedPushes {
        let pushes = ParcelPushes(
            parcel, address: address, locales: message.locales, placeholders: message.placeholders, values: values,
            now: now)
        let (shown, blank) = parted(positions, pushes)
        var batch = push.beginBatch(of: pushes, count: shown.count)
        var remaining = ordered(shown, pushes)[...]
        while !remaining.isEmpty {
            push.append(remaining.prefix(sliceCount), of: pushes, to: &batch)
            remaining = remaining.dropFirst(sliceCount)
            if !remaining.isEmpty { await Task.yield() }
        }
        return batch.pushes(of: parcel, nothingToShow: blank, noStreamAfter: noStreamAfter)
    }

    /// The pushes that are encoded at once: whole requests, and `pushesBetweenYields` or a few more.
    private var sliceCount: Int {
        let membersMax = push.requestMembersMax
        return (Self.pushesBetweenYields + membersMax - 1) / membersMax * membersMax
    }

    /// Puts pushes that may share a request side by side: those of one variant, in their order.
    private func ordered(_ positions: [Int32], _ pushes: ParcelPushes) -> [Int32] {
        guard push.requestMembersMax > 1 else { return positions }
        let keyed = positions.map { (pushes.variant(for: parcel.members[Int($0)]), $0) }
        return keyed.sorted { $0 < $1 }.map(\.1)
    }

    /// Parts the positions whose devices see nothing of the notification from the others.
    private func parted(_ positions: [Int32], _ pushes: ParcelPushes) -> (shown: [Int32], blank: [Int32]) {
        let texts = message.texts(by: provider)
        guard !texts.isEmpty else { return (positions, []) }
        var (shown, blank): ([Int32], [Int32]) = ([], [])
        for position in positions {
            let variant = pushes.variant(for: parcel.members[Int(position)])
            let isBlank = texts.contains { texts in
                texts.isBlank(in: variant) { field in
                    guard let range = values?.range(of: Int(position), field: field), !range.isEmpty else { return nil }
                    return values.map { VisibleText.isVisible($0.bytes.span.extracting(range)) }
                }
            }
            if isBlank { blank.append(position) } else { shown.append(position) }
        }
        return (shown, blank)
    }
}
