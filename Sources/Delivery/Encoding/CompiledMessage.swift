import APNs
import Content
import FCM
import JSON
import Model
import QueueRules

/// A message in the form of every provider that can carry it: compiled once, shared by all its parcels.
package struct CompiledMessage: Sendable {
    /// nil: it has nothing to show to APNs' devices, or is not meant for them.
    package let apns: APNsNotification?
    /// nil: likewise for FCM's, or the push type is APNs' own.
    package let fcm: FCMMessage?
    /// For whom it has no form, and in whose stead the door had nobody to ask: the fault's word. nil: nothing to show.
    private let faults: [(provider: Provider, reason: String)]
    private let pushType: PushType
    /// From a device's locale to a variant of the text.
    let locales: LocaleTable
    /// What devices' own values fill.
    package let placeholders: MessagePlaceholders
    /// Built and checked, and validated by those providers that offer it; delivered to nobody.
    package let isDryRun: Bool

    /// Throws what the sender has to change. The same content compiles the same at every attempt.
    ///
    /// A message that says something to one provider's devices only (in its `apns` or `fcm` object) is good: to the
    /// others it has nothing to show, and their pushes end so. Any other fault, in any form, is refused at the door.
    /// - Parameters:
    ///   - providers: nil: all that there are.
    ///   - record: an earlier record of the same list, compiled. Records differ in what APNs alone reads, so that FCM's form
    ///     of it stands for this one's: good for a check, not for sending, since it has the other message's id.
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

    /// Who has to find a message good whose sender names no provider: those that the app reaches, and those that the
    /// message has an object of its own for. nil: all that there are, since it reaches none yet that has such pushes.
    package static func providersAsked(_ content: MessageContent, reached: [Provider]) -> [Provider]? {
        let serving = reached.filter { $0 == .apns || $0 == .fcm && FCMMessage.serves(content.options.pushType) }
        guard !serving.isEmpty else { return nil }
        return Provider.allCases.filter {
            serving.contains($0) || $0 == .apns && content.apns != nil || $0 == .fcm && content.fcm != nil
        }
    }

    /// For delivery, of what the door checked. A provider that the door did not ask may find the content wanting: the
    /// audience was not meant for it, and has no parcel there, or the app came to have devices of it since.
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

    /// How the pushes to a provider's devices end that it has no form for.
    package func rejection(by provider: Provider) -> Rejection {
        let fault = faults.first { $0.provider == provider }
        return Rejection(fault: .message, reason: fault?.reason ?? FCMContentFault.nothingToShow.code)
    }

    /// Which of an installation's tokens it goes to.
    var tokenKind: TokenKind { apns?.tokenKind ?? APNsPushTypes.row(for: pushType).tokenKind }

    /// Whether a push whose answer was lost may be sent again (P4): FCM's carry a tag, and replace themselves.
    var reading: MessageReading { apns?.mayRepeat ?? true ? .repeatable : .unrepeatable }
}

/// Why a message's content has no form that a provider would take. The sender's to change.
package enum ContentFault: Error, Equatable, Sendable {
    case apns(APNsContentFault)
    case fcm(FCMContentFault)
    /// A text with holes can't be understood, or stands where none may.
    case template(JSONPointer, TemplateFault)

    /// A stable word, published in docs/errors.md.
    var code: String {
        switch self {
        case .apns(let fault): fault.code
        case .fcm(let fault): fault.code
        case .template: "invalid_template"
        }
    }
}
