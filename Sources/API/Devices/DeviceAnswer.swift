import Basis
import Calendar
import JSON
import Model
import ProviderInterface
import Providers

package enum TokenView: Sendable {
    /// Only the end of a token, enough to recognise a known one.
    case masked
    /// The token as the provider writes it, for keys that have the scope `tokens` itself.
    case whole
}

package enum DeviceAnswer {
    package static func body(_ device: DeviceRecord, _ view: TokenView = .masked) -> [UInt8] {
        JSONWriter.body(capacity: 512) { writeMembers(of: device, view, to: &$0) }
    }

    package static func page(_ devices: [DeviceRecord], next: String?, _ view: TokenView = .masked) -> [UInt8] {
        JSONWriter.page(devices, next: next, capacity: 16_384) { writeMembers(of: $1, view, to: &$0) }
    }

    /// The holder of each token of a list, with the token's place in it, and the places of tokens without a holder.
    package static func holders(
        _ found: [(place: Int, device: DeviceRecord)], of count: Int, _ view: TokenView = .masked
    ) -> [UInt8] {
        let known = Set(found.map(\.place))
        return JSONWriter.body(capacity: 16_384) { writer in
            writer.objects("items", found) { writer, holder in
                writer.member("index", holder.place)
                writeMembers(of: holder.device, view, to: &writer)
            }
            writer.array("unknown", (0..<count).filter { !known.contains($0) }) { $0.integer($1) }
        }
    }

    package static func erasure(registrations: Int, feedback: Int) -> [UInt8] {
        JSONWriter.body {
            $0.member("registrations", registrations)
            $0.member("feedback", feedback)
        }
    }

    /// One registration, and the change that the request made.
    package static func body(
        _ device: DeviceRecord, change: RegistrationChange, _ view: TokenView = .masked
    ) -> [UInt8] { body(device, change: change, tokenStatus: nil, view) }

    /// - Parameter tokenStatus: nil: the answer is for a backend.
    static func body(
        _ device: DeviceRecord, change: RegistrationChange, tokenStatus: TokenStatus?, _ view: TokenView
    ) -> [UInt8] {
        JSONWriter.body(capacity: 512) {
            writeMembers(of: device, view, to: &$0)
            $0.member("change", change.rawValue)
            if let tokenStatus { $0.member("token_status", tokenStatus.rawValue) }
        }
    }

    /// An installation: its first registration's members, and every kind's in `registrations`.
    package static func body(_ device: DeviceRecord, all: [DeviceRecord], _ view: TokenView = .masked) -> [UInt8] {
        JSONWriter.body(capacity: 1_024) {
            writeMembers(of: device, view, to: &$0)
            $0.objects("registrations", all) { writeMembers(of: $1, view, to: &$0) }
        }
    }

    package static func badge(_ badge: Int32, installation: String, kind: TokenKind = .alert) -> [UInt8] {
        JSONWriter.body {
            $0.member("installation", installation)
            $0.member("kind", kind.name)
            $0.member("badge", badge)
        }
    }

    private static func writeMembers(of device: DeviceRecord, _ view: TokenView, to writer: inout JSONWriter) {
        writer.member("installation", device.installation)
        writer.member("kind", device.kind.name)
        writer.member("provider", device.provider.name)
        writer.member("environment", device.environment.name)
        writer.member("topic", device.topic)
        writer.member("token", text(device.token, of: device.provider, view))
        writer.member("state", device.state.name)
        writer.member("badge", device.badge)
        for field in ProfileField.allCases { writer.optional(field.name, device.profile[field]) }
        writer.strings("tags", device.profile.tags)
        writer.member("attributes", raw: device.profile.attributes)
        writer.time("registered_at", device.registeredAt)
        writer.time("created_at", device.createdAt)
    }

    private static func text(_ token: DeviceToken, of provider: Provider, _ view: TokenView) -> String {
        switch view {
        case .masked: mask(token, of: provider)
        case .whole: PushProviders.offered(provider)?.text(of: token) ?? hidden
        }
    }

    /// The shortest token, in bytes, whose end is shown. The end of a shorter one would reveal too much of it.
    private static let shownFromBytes = 16
    private static let shownCharacters = 4
    private static let hidden = "…"

    /// The last characters as the provider writes them, enough to recognise a known token.
    package static func mask(_ token: DeviceToken, of provider: Provider) -> String {
        guard token.bytes.count >= shownFromBytes, let provider = PushProviders.offered(provider) else { return hidden }
        return hidden + provider.text(of: token).suffix(shownCharacters)
    }
}

extension JSONWriter {
    mutating func time(_ member: String, _ instant: WallInstant) { self.member(member, RFC3339.format(instant)) }

    mutating func optionalTime(_ member: String, _ instant: WallInstant?) {
        optional(member, instant.map { RFC3339.format($0) })
    }
}
