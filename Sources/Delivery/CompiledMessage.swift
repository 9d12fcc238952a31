import APNs
import DeliveryRules
import FCM
import JSON
import PushModel

/// A message in the form of every provider that can carry it: compiled once, shared by all its parcels.
package struct CompiledMessage: Sendable {
    /// nil: it has nothing to show to APNs' devices, or is not meant for them.
    package let apns: APNsNotification?
    /// nil: likewise for FCM's, or the push type is APNs' own.
    package let fcm: FCMMessage?
    /// From a device's locale to a variant of the text.
    let locales: LocaleTable
    /// Built and checked, and validated by those providers that offer it; delivered to nobody.
    package let isDryRun: Bool

    /// Throws what the sender has to change. The same content compiles the same at every attempt.
    ///
    /// A message that says something to one provider's devices only (in its `apns` or `fcm` object) is good: to the
    /// others it has nothing to show, and their pushes end so. Any other fault, in any form, is refused at the door.
    /// - Parameter providers: nil: all that there are.
    package static func compile(
        _ content: MessageContent, message: MessageID, providers: [Provider]? = nil
    ) throws(ContentFault) -> CompiledMessage {
        let asked = providers ?? Provider.allCases
        var apns: APNsNotification?
        var fcm: FCMMessage?
        var silence: ContentFault?
        if asked.contains(.apns) {
            do throws(APNsContentFault) { apns = try .compile(content, message: message) } catch .nothingToShow {
                silence = .apns(.nothingToShow)
            } catch { throw .apns(error) }
        }
        if asked.contains(.fcm), FCMMessage.serves(content.options.pushType) {
            do throws(FCMContentFault) { fcm = try .compile(content, message: message) } catch .nothingToShow {
                silence = silence ?? .fcm(.nothingToShow)
            } catch { throw .fcm(error) }
        }
        if let silence, apns == nil && fcm == nil || content.apns == nil && content.fcm == nil { throw silence }
        return CompiledMessage(
            apns: apns, fcm: fcm, locales: LocaleTable(content.localizations.map(\.locale)),
            isDryRun: content.options.isDryRun)
    }

    /// For delivery, of what the door checked. A provider that the audience was not meant for has no parcel, and may find
    /// the content wanting.
    static func compile(stored content: MessageContent, message: MessageID) -> CompiledMessage {
        CompiledMessage(
            apns: try? .compile(content, message: message),
            fcm: FCMMessage.serves(content.options.pushType) ? try? .compile(content, message: message) : nil,
            locales: LocaleTable(content.localizations.map(\.locale)), isDryRun: content.options.isDryRun)
    }

    /// Which of an installation's tokens it goes to.
    var tokenKind: TokenKind { apns?.tokenKind ?? .alert }

    /// Whether a push whose answer was lost may be sent again (P4): FCM's carry a tag, and replace themselves.
    var reading: MessageReading { apns?.mayRepeat ?? true ? .repeatable : .unrepeatable }
}

/// Why a message's content has no form that a provider would take. The sender's to change.
package enum ContentFault: Error, Equatable, Sendable {
    case apns(APNsContentFault)
    case fcm(FCMContentFault)
}
