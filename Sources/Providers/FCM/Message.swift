import Basis
import Content
import Model

/// A message in FCM's form, compiled once: what is left is a time for each batch, and a token and a number for each
/// push.
///
/// FCM's devices are Android, Apple and web ones alike, and a token does not say which: every push has something for
/// all three, so that on each of them it keeps its time to live and is shown once (P4).
package struct FCMMessage: Equatable, Sendable {
    package let pushType: PushType
    package let isNowOrNever: Bool
    /// Google checks the push, the token included, and delivers nothing.
    package let isDryRun: Bool
    /// 0: with the common text. i: with that of the content's i-th localization (`LocaleTable.variant`).
    private let variants: [FCMVariant]

    /// Whether a push whose answer was lost may be sent again (P4): the tag makes the second replace the first, and an
    /// app sees by `carillon_id` that it had the data before.
    package var mayRepeat: Bool { true }
    /// Which of an installation's tokens it goes to.
    package var tokenKind: TokenKind { .alert }
    package var variantCount: Int { variants.count }
    /// Of notification and data, with the widest badge, in the locale that needs most. `FCMLimits.payloadBytesMax` says
    /// what is counted.
    package let payloadBytes: Int

    /// Whether FCM has pushes of that type: those that go to an app's ordinary token.
    package static func serves(_ pushType: PushType) -> Bool {
        switch pushType {
        case .alert, .background: true
        case .voip, .complication, .fileProvider, .mdm, .liveActivity, .pushToTalk, .location, .widgets, .controls:
            false
        }
    }

    /// Throws what the sender has to change. The same content compiles the same at every attempt.
    package static func compile(_ content: MessageContent, message: MessageID) throws(FCMContentFault) -> FCMMessage {
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

    /// The largest size; it is told, so that the sender knows how much has to go.
    private static func checkedSize(
        _ variants: [FCMVariant], _ content: MessageContent
    ) throws(FCMContentFault) -> Int {
        let sizes = variants.map(\.payloadBytes)
        let largest = sizes.indices.reduce(0) { sizes[$1] > sizes[$0] ? $1 : $0 }
        let bytesMax = FCMLimits.payloadBytesMax
        guard sizes[largest] > bytesMax else { return sizes[largest] }
        // Where the common text is too long itself, a localization is not what is wrong.
        let isCommon = sizes[0] > bytesMax
        throw .payloadTooLarge(
            bytes: isCommon ? sizes[0] : sizes[largest], bytesMax: bytesMax,
            locale: isCommon ? nil : content.localizations[largest - 1].locale)
    }

    /// What the bodies of one batch begin and end with, sent at `now`.
    ///
    /// The time to live is what is left of the pushes' lives, in whole seconds rounded down: later they are worthless.
    package func frame(variant: Int, expiresAt: WallInstant, now: WallInstant) -> FCMFrame {
        let times = times(expiresAt: expiresAt, now: now)
        let place = place(of: variant)
        return FCMFrame(
            prefix: variants[place].head.bytes(at: times), suffix: variants[place].tail.bytes(at: times))
    }

    private func times(expiresAt: WallInstant, now: WallInstant) -> FCMTimes {
        let left = max(0, expiresAt.secondsSince1970 - now.secondsSince1970)
        // Zero says "now or never", to Apple's devices too. An instant in 1970 would be a mistake of ours, not a wish.
        return FCMTimes(
            ttlSeconds: isNowOrNever ? 0 : min(left, FCMLimits.ttlSecondsMax),
            expiration: isNowOrNever ? 0 : max(1, expiresAt.secondsSince1970))
    }

    /// What a push has of its own, between the frame's ends. Without a badge its members are left out whole; a message
    /// that changes no badge takes none. Allocates nothing beside the buffer.
    package func appendPlaceholder(token: Span<UInt8>, badge: Int32?, variant: Int, to buffer: inout [UInt8]) {
        // In place: a copy of a variant counts up references to all its parts.
        variants[place(of: variant)].appendPlaceholder(token: token, badge: badge, to: &buffer)
    }

    /// The whole message of a variant that devices' own values go into; nil: none do, and `frame` is what to use.
    package func withPlaceholders(variant: Int) -> PlaceholderText? { variants[place(of: variant)].withPlaceholders }

    /// What goes into a holed message where it has that mark, for all pushes of a batch; nil: it is each push's own.
    package func time(mark: UInt8, expiresAt: WallInstant, now: WallInstant) -> [UInt8]? {
        times(expiresAt: expiresAt, now: now).text(of: mark)
    }

    /// What goes into a holed message where it has that mark. Allocates nothing beside the buffer.
    package static func append(mark: UInt8, token: Span<UInt8>, badge: Int32, to buffer: inout [UInt8]) {
        FCMVariant.append(mark: mark, token: token, badge: badge, to: &buffer)
    }

    /// Of a holed message with pieces of these lengths, by place. `FCMLimits.payloadBytesMax` says what is counted.
    package func payloadBytes(variant: Int, pieceBytes: [Int]) -> Int {
        variants[place(of: variant)].payloadBytes(pieceBytes)
    }

    /// A number that no localization has comes from rows that don't fit the message: the common text is always right.
    private func place(of variant: Int) -> Int { variants.indices.contains(variant) ? variant : 0 }
}

/// The ends that all bodies of a batch share.
package struct FCMFrame: Equatable, Sendable {
    package let prefix: [UInt8]
    package let suffix: [UInt8]
}
