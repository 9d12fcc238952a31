import APNs
import Content
import FCM
import JSON
import Model
import QueueRules

/// A message in the form of every provider that can carry it: compiled once, shared by all its parcels.
package struct CompiledMessage: Sendable {
    /// nil: the message has nothing to show on APNs' devices, or is not meant for them.
    package let apns: APNsNotification?
    /// nil: the message has nothing to show on FCM's devices, is not meant for them, or has a push type of APNs alone.
    package let fcm: FCMMessage?
    /// The fault codes of providers that have no form of the message and that validation did not ask. A provider
    /// without form and fault has nothing to show.
    private let faults: [(provider: Provider, reason: String)]
    private let pushType: PushType
    /// Maps a device's locale to a variant of the text.
    let locales: LocaleTable
    /// The placeholders that devices' own values fill.
    package let placeholders: MessagePlaceholders
    /// True for a message that is built, checked, and validated by providers that offer it, but never delivered.
    package let isDryRun: Bool

    /// Compiles a message for acceptance. Throws what the sender has to change. The same content always compiles the
    /// same.
    ///
    /// A message with content for one provider alone (in its `apns` or `fcm` object) is valid: it has nothing to show
    /// on the other's devices, and their pushes end so. Validation refuses any other fault in any form.
    /// - Parameters:
    ///   - providers: nil: all providers.
    ///   - record: an earlier record of the same list, compiled. Records differ only in what APNs reads, so its FCM
    ///     form serves as this one's. It carries the other message's id, so it is good for a check, not for sending.
    package static func compile(
        _ content: MessageContent, message: MessageID, providers: [Provider]? = nil,
        besides record: CompiledMessage? = nil
    ) throws(ContentFault) -> CompiledMessage {
        let asked = providers ?? Provider.allCases
        let (content, placeholders) = try MessagePlaceholders.read(content)
        var apns: APNsNotification?
        var fcm: FCMMessage?
        var silence: ContentFault?
        if asked.contains(.apns) {
            do throws(APNsContentFault) { apns = try .compile(content, message: message) } catch .nothingToShow {
                silence = .apns(.nothingToShow)
            } catch { throw .apns(error) }
        }
        if asked.contains(.fcm), let known = record?.fcm {
            fcm = known
        } else if asked.contains(.fcm), FCMMessage.serves(content.options.pushType) {
            do throws(FCMContentFault) { fcm = try .compile(content, message: message) } catch .nothingToShow {
                silence = silence ?? .fcm(.nothingToShow)
            } catch { throw .fcm(error) }
        }
        if let silence, apns == nil && fcm == nil || content.apns == nil && content.fcm == nil { throw silence }
        return CompiledMessage(apns: apns, fcm: fcm, faults: [], content, placeholders)
    }

    /// Returns the providers that must accept a message whose sender names none. They are those that the app reaches,
    /// and those for which the message has an object of its own. Returns nil, for all, if the app reaches no provider
    /// of this push type.
    package static func providersAsked(_ content: MessageContent, reached: [Provider]) -> [Provider]? {
        let serving = reached.filter { $0 == .apns || $0 == .fcm && FCMMessage.serves(content.options.pushType) }
        guard !serving.isEmpty else { return nil }
        return Provider.allCases.filter {
            serving.contains($0) || $0 == .apns && content.apns != nil || $0 == .fcm && content.fcm != nil
        }
    }

    /// Compiles stored content for delivery. A provider that validation did not ask may find a fault: the audience was
    /// not meant for it, or the app got devices of it since.
    package static func compile(stored: MessageContent, message: MessageID) -> CompiledMessage {
        let (content, placeholders): (MessageContent, MessagePlaceholders)
        do throws(ContentFault) { (content, placeholders) = try MessagePlaceholders.read(stored) } catch {
            let faults = Provider.allCases.map { ($0, error.code) }
            return CompiledMessage(apns: nil, fcm: nil, faults: faults, stored, MessagePlaceholders())
        }
        var apns: APNsNotification?
        var fcm: FCMMessage?
        var faults: [(Provider, String)] = []
        do throws(APNsContentFault) { apns = try .compile(content, message: message) } catch {
            faults.append((.apns, error.code))
        }
        if FCMMessage.serves(content.options.pushType) {
            do throws(FCMContentFault) { fcm = try .compile(content, message: message) } catch {
                faults.append((.fcm, error.code))
            }
        }
        return CompiledMessage(apns: apns, fcm: fcm, faults: faults, content, placeholders)
    }

    private init(
        apns: APNsNotification?, fcm: FCMMessage?, faults: [(Provider, String)], _ content: MessageContent,
        _ placeholders: MessagePlaceholders
    ) {
        self.apns = apns
        self.fcm = fcm
        self.faults = faults.map { (provider: $0.0, reason: $0.1) }
        pushType = content.options.pushType
        locales = LocaleTable(content.localizations.map(\.locale))
        isDryRun = content.options.isDryRun
        self.placeholders = placeholders
    }

    /// Returns the rejection that ends pushes to devices of a provider without a form.
    package func rejection(by provider: Provider) -> Rejection {
        let fault = faults.first { $0.provider == provider }
        return Rejection(fault: .message, reason: fault?.reason ?? FCMContentFault.nothingToShow.code)
    }

    /// The kind of token that the message goes to.
    var tokenKind: TokenKind { apns?.tokenKind ?? APNsPushTypes.row(for: pushType).tokenKind }

    /// Whether a push may be sent again after its answer was lost (P4). FCM's may: they carry a tag and replace
    /// themselves.
    var reading: MessageReading { apns?.mayRepeat ?? true ? .repeatable : .unrepeatable }
}

/// The reason why no provider would take the content of a message. The sender has to change it.
package enum ContentFault: Error, Equatable, Sendable {
    case apns(APNsContentFault)
    case fcm(FCMContentFault)
    /// A text with placeholders is malformed, or is where none are allowed.
    case template(JSONPointer, TemplateFault)

    /// A stable code, published in docs/errors.md.
    var code: String {
        switch self {
        case .apns(let fault): fault.code
        case .fcm(let fault): fault.code
        case .template: "invalid_template"
        }
    }
}
