import Content
import Encodings
import JSON
import Model
import ProviderInterface

/// A message in APNs' form, compiled once. Each push adds the choice of a text, one number and one path.
package struct APNsNotification: Equatable, Sendable {
    package let pushType: PushType
    package let priority: UInt8
    /// The sender's collapse id, or the message id as 32 digits, so that a repeated push replaces itself on the device
    /// (P4).
    ///
    /// Background pushes carry it too: they show nothing, but APNs then holds one of a repeated pair, not two.
    package let collapseID: [UInt8]
    package let isNowOrNever: Bool
    /// Whether a push may be sent again after its answer was lost (P4).
    package let mayRepeat: Bool
    package let tokenKind: TokenKind
    /// 0: the payload with the common text. i: with the text of the content's i-th localization
    /// (`LocaleTable.variant`).
    package let payloads: [CompiledAPNsPayload]
    package var payload: CompiledAPNsPayload { payloads[0] }

    /// Compiles a message. Throws what the sender has to change.
    ///
    /// The same content compiles the same at every attempt: a time in it is that of the message's acceptance, taken
    /// from its id.
    package static func compile(
        _ content: MessageContent, message: MessageID
    ) throws(ProviderFault) -> APNsNotification {
        let row = APNsPushTypes.row(for: content.options.pushType)
        let (payloads, isActivityStart) = try APNsPayloadCompiler.compile(
            content, row, acceptedAt: UUIDv7.instant(of: message.value))
        return APNsNotification(
            pushType: row.type, priority: try priority(content.options.priority, row),
            collapseID: try collapseID(content.options, message), isNowOrNever: content.options.ttlSeconds == 0,
            mayRepeat: row.repeats == .always || (row.repeats == .unlessActivityStart && !isActivityStart),
            tokenKind: isActivityStart ? row.startTokenKind : row.tokenKind, payloads: payloads)
    }

    private static func priority(_ requested: PushPriority?, _ row: APNsPushTypeRow) throws(ProviderFault) -> UInt8 {
        guard let requested else { return row.priorities[0] }
        let value: UInt8 = requested == .high ? 10 : 5
        guard row.priorities.contains(value) else { throw .priorityNotAllowed(row.type) }
        return value
    }

    private static func collapseID(_ options: MessageOptions, _ message: MessageID) throws(ProviderFault) -> [UInt8] {
        let requested = try options.checkedCollapseID(bytesMax: APNsLimits.collapseIDBytesMax)
        return Array((requested ?? message.value.text.filter { $0 != "-" }).utf8)
    }
}

/// A payload's bytes around the one number that differs from device to device.
package struct CompiledAPNsPayload: Equatable, Sendable {
    /// The bytes up to the end of the members of `aps`, where the badge goes.
    package let head: [UInt8]
    /// The comma, if one is due, and the badge's name. Empty: the payload has no placeholder for a badge.
    package let badgeLead: [UInt8]
    /// The bytes after the badge: one array for all localizations of a message.
    package let tail: [UInt8]
    /// The whole payload, if it has placeholders for devices' own values; `head` and `tail` are unused then.
    package let withPlaceholders: PlaceholderText?

    /// The mark in `withPlaceholders` for the badge's digits.
    private static let badgeMark: UInt8 = 5

    /// - Parameter isTemplate: its texts may have marks of placeholders.
    init(head: [UInt8], badgeLead: [UInt8], tail: [UInt8], isTemplate: Bool) {
        (self.head, self.badgeLead, self.tail) = (head, badgeLead, tail)
        let badge = badgeLead.isEmpty ? [] : badgeLead + [Self.badgeMark]
        let text = isTemplate ? PlaceholderText(marked: head + badge + tail) : nil
        withPlaceholders = text.flatMap { $0.hasPlaceholders ? $0 : nil }
    }

    package var hasBadgePlaceholder: Bool { !badgeLead.isEmpty }

    /// The size with the widest badge, and nothing in the placeholders.
    package var bytesMax: Int {
        let badgeDigits = hasBadgePlaceholder ? APNsLimits.badgeDigitsMax : 0
        if let withPlaceholders { return withPlaceholders.fixedBytes + badgeDigits }
        return head.count + badgeLead.count + badgeDigits + tail.count
    }

    /// Appends the value for a mark in `withPlaceholders`. A device always has a badge if the message changes it.
    package static func append(mark: UInt8, badge: Int32, to buffer: inout [UInt8]) {
        if mark == badgeMark { JSONWriter.append(UInt32(max(0, badge)), to: &buffer) }
    }

    /// Appends a push's own bytes, between `head` and `tail`. Without a badge the whole member is left out. A payload
    /// without a placeholder takes no badge.
    package func appendOwnBytes(badge: Int32?, to buffer: inout [UInt8]) {
        guard let badge, hasBadgePlaceholder else { return }
        buffer.append(contentsOf: badgeLead)
        JSONWriter.append(UInt32(max(0, badge)), to: &buffer)
    }
}
