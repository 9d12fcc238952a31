import Basis
import Content
import Model
import ProviderInterface

/// A message in FCM's form, compiled once. Each batch adds a time, and each push a token and a number.
///
/// FCM's devices are Android, Apple and web ones, and a token does not say which. So every push has parts for all
/// three: each of them keeps the time to live and shows the push once (P4).
package struct FCMMessage: Equatable, Sendable {
    package let pushType: PushType
    package let isNowOrNever: Bool
    /// Google checks the push, the token included, and delivers nothing.
    package let isDryRun: Bool
    /// 0: the variant with the common text. i: with that of the content's i-th localization (`LocaleTable.variant`).
    private let variants: [FCMVariant]

    /// Whether a push may be sent again after its answer was lost (P4). The tag makes the second replace the first, and
    /// `carillon_id` tells an app that it had the data before.
    package var mayRepeat: Bool { true }
    package var tokenKind: TokenKind { .alert }
    package var variantCount: Int { variants.count }
    /// The size of notification and data, with the widest badge, in the locale with the most.
    /// `FCMLimits.payloadBytesMax` documents what is counted.
    package let payloadBytes: Int

    /// Whether FCM has pushes of that type: those that go to an app's ordinary token.
    package static func serves(_ pushType: PushType) -> Bool {
        switch pushType {
        case .alert, .background: true
        case .voip, .complication, .fileProvider, .mdm, .liveActivity, .pushToTalk, .location, .widgets, .controls:
            false
        }
    }

    /// Compiles a message. Throws what the sender has to change. The same content compiles the same at every attempt.
    package static func compile(_ content: MessageContent, message: MessageID) throws(ProviderFault) -> FCMMessage {
        let compiler = try FCMMessageCompiler(content, message)
        let texts = LocaleTable.texts(content.notification, content.localizations)
        var variants = [try compiler.variant(texts[0], locale: nil)]
        // A common part that is too large is so in every language: it is compiled once, not 64 times.
        _ = try checkedSize(variants, content)
        for (localization, text) in zip(content.localizations, texts.dropFirst()) {
            variants.append(try compiler.variant(text, locale: localization.locale))
        }
        let payloadBytes = try checkedSize(variants, content)
        return FCMMessage(
            pushType: content.options.pushType, isNowOrNever: content.options.ttlSeconds == 0,
            isDryRun: content.options.isDryRun, variants: variants, payloadBytes: payloadBytes)
    }

    /// Returns the largest size, or throws it, so that the sender knows how much has to go.
    private static func checkedSize(_ variants: [FCMVariant], _ content: MessageContent) throws(ProviderFault) -> Int {
        let (sizes, bytesMax) = (variants.map(\.payloadBytes), FCMLimits.payloadBytesMax)
        guard let excess = content.excess(of: sizes, over: bytesMax) else { return sizes.reduce(0, max) }
        throw .payloadTooLarge(bytes: excess.bytes, bytesMax: bytesMax, locale: excess.locale)
    }

    /// Returns the beginning and end of the bodies of one batch, sent at `now`.
    ///
    /// The time to live is what remains of the pushes' lifetime, in whole seconds rounded down: later they are
    /// worthless.
    package func frame(variant: Int, expiresAt: WallInstant, now: WallInstant) -> PushBatch.BodyFrame {
        let times = times(expiresAt: expiresAt, now: now)
        let place = place(of: variant)
        return PushBatch.BodyFrame(
            prefix: variants[place].head.bytes(at: times), suffix: variants[place].tail.bytes(at: times))
    }

    private func times(expiresAt: WallInstant, now: WallInstant) -> FCMTimes {
        let left = max(0, expiresAt.secondsSince1970 - now.secondsSince1970)
        // Zero means "now or never", on Apple's devices too. An instant in 1970 would be our mistake, not a request for
        // that.
        return FCMTimes(
            ttlSeconds: isNowOrNever ? 0 : min(left, FCMLimits.ttlSecondsMax),
            expiration: isNowOrNever ? 0 : max(1, expiresAt.secondsSince1970))
    }

    /// Appends a push's own bytes, between the frame's ends. Without a badge its members are left out; a message that
    /// changes no badge takes none. Allocates nothing beside the buffer.
    package func appendOwnBytes(token: Span<UInt8>, badge: Int32?, variant: Int, to buffer: inout [UInt8]) {
        // In place: a copy of a variant would retain all its parts.
        variants[place(of: variant)].appendOwnBytes(token: token, badge: badge, to: &buffer)
    }

    /// Returns the whole message of a variant with placeholders; nil: it has none, and `frame` applies.
    package func withPlaceholders(variant: Int) -> PlaceholderText? { variants[place(of: variant)].withPlaceholders }

    package func batchTime(mark: UInt8, expiresAt: WallInstant, now: WallInstant) -> [UInt8]? {
        times(expiresAt: expiresAt, now: now).text(of: mark)
    }

    /// Returns the size of a message with placeholders, for pieces of these lengths, by place.
    /// `FCMLimits.payloadBytesMax` documents what is counted.
    package func payloadBytes(variant: Int, pieces: [PieceLength]) -> Int {
        variants[place(of: variant)].payloadBytes(pieces)
    }

    /// Returns the variant's index. A number without a localization comes from rows that don't fit the message; the
    /// common text is always right.
    private func place(of variant: Int) -> Int { variants.indices.contains(variant) ? variant : 0 }
}
