import Basis
import JSON
import Model
import TriggerRules

/// The body of `POST .../subscriptions`: a subscription of a device to items.
package struct ActivationRequest: Equatable, Sendable {
    package let terms: SubscriptionTerms
    /// The message that the terms' template holds. The providers' compilers check it.
    package let content: MessageContent
    /// Whether a subscription of the device to the same items and fields, with the same trigger, is overwritten.
    package let coalescing: Bool
    /// The registration of the device, for an installation that is unknown. nil: it is registered already.
    package let device: DeviceRegistration?

    /// - Parameter user: the user whose token asks; nil: an API key does. It decides on what `device` may have.
    package static func read(
        _ body: [UInt8], installation: String, user: String? = nil, now: WallInstant
    ) throws(Problem) -> ActivationRequest {
        var reader = try EnvelopeReader(body: body)
        let device = try reader.device(installation, of: user, now: now)
        let coalescing = try reader.bool("coalescing") ?? false
        let (items, fields, mode) = (try reader.itemNames(), try reader.fieldNames(), try reader.updateMode())
        let trigger = try reader.anyString("trigger").map { (text) throws(Problem) in
            try TriggerTerms.read(text, fields: fields, at: .root / "trigger")
        }
        let template = try PushTemplateRequest.read(try reader.templateMembers(), fields: fields)
        let terms = SubscriptionTerms(
            items: items, fields: fields, mode: mode, trigger: trigger, template: template.source,
            pauseSeconds: try reader.pauseSeconds(), whenPaused: try reader.whenPaused(),
            expiresAt: try reader.subscriptionEnd(now: now))
        try reader.end()
        return ActivationRequest(terms: terms, content: template.content, coalescing: coalescing, device: device)
    }
}

extension EnvelopeReader {
    fileprivate mutating func device(
        _ installation: String, of user: String?, now: WallInstant
    ) throws(Problem) -> DeviceRegistration? {
        guard var reader = try object("device") else { return nil }
        guard let user else { return try RegistrationRequest.read(&reader, installation: installation, now: now) }
        return try OwnDeviceRequest.read(&reader, installation: installation, user: user, now: now)
    }
}
