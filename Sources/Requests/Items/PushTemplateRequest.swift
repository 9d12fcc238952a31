import Basis
import Content
import JSON
import Model
import ProviderInterface
import Providers
import TriggerRules

/// The members of a subscription to items that make its pushes.
///
/// A push is an alert if anything is shown, heard or counted: a notification, a sound, a badge, or such a member in a
/// provider's own object. Otherwise it is data alone, for the app in the background.
struct PushTemplateRequest {
    /// The members' names, in the order in which answers show them.
    static let names =
        ["notification", "sound", "badge", "category", "thread", "data"] + PushProviders.names
        + ["collapse_key", "delay_while_idle", "time_to_live"]
    /// The most bytes of the members as minimal JSON: each subscription may have its own.
    static let bytesMax = 64 * 1_024

    let source: TemplateSource
    /// The message, with `${field}` and `$[1]` in its texts.
    let content: MessageContent

    /// Reads the members. Only the providers' compilers know whether a push would fit.
    /// - Parameters:
    ///   - members: those that a request gave, without nulls.
    ///   - fields: the subscription's fields.
    static func read(_ members: JSONObject, fields: [String]) throws(Problem) -> PushTemplateRequest {
        let given = JSONObject(names.compactMap { name in members[name].map { JSONMember(name, $0) } })
        let bytes = JSONValue.object(given).bytes
        guard bytes.count <= bytesMax else {
            throw Problem(
                .valueTooLong,
                "The members that make the pushes have \(bytes.count) bytes together; the limit is \(bytesMax).",
                at: .root)
        }
        let content = try content(of: given, fields: fields)
        return PushTemplateRequest(
            source: TemplateSource(
                given: bytes, content: StoredContent.encode(content), isShown: content.options.pushType == .alert),
            content: content)
    }

    private static func content(of given: JSONObject, fields: [String]) throws(Problem) -> MessageContent {
        var reader = try EnvelopeReader(.object(given))
        var shown = try GivenNotification.read(&reader)
        try reader.addIDs(to: &shown.presentation)
        var content = MessageContent(
            notification: shown.text, localizations: shown.localizations, presentation: shown.presentation,
            badge: try reader.itemBadge(), sound: try reader.string("sound", bytesMax: MessageLimits.textBytesMax),
            data: try MessageRequest.readMembers(&reader))
        let delivery = try reader.itemDelivery(hasNotification: shown.text != nil, fields: fields)
        var isShown = shown.text != nil || content.badge != .none || content.sound != nil
        for provider in PushProviders.offered {
            let own = try MessageRequest.readOverrides(provider.id, &reader)
            isShown = isShown || own.map { provider.showsAlone($0) } ?? false
            do throws(ProviderFault) { content.overrides[provider.id] = try provider.itemObject(own, delivery) } catch {
                throw Problem(error, at: .root)
            }
        }
        try reader.end()
        content.options.pushType = isShown ? .alert : .background
        content.options.ttlSeconds = delivery.ttlSeconds
        do throws(PushTextFault) { try content.checked(fields: fields) } catch {
            throw Problem(error.fault, position: error.position, at: place(of: error.pointer, in: given))
        }
        return content
    }

    /// Returns the place in the request of a text of the message. Messages have ids in the notification, and the collapse
    /// key in a provider's object.
    private static func place(of pointer: JSONPointer, in given: JSONObject) -> JSONPointer {
        if JSONValue.object(given).value(at: pointer) != nil { return pointer }
        return JSONPointer.root / (EnvelopeReader.idNames.first { pointer.tokens.last == $0 } ?? "collapse_key")
    }
}

extension EnvelopeReader {
    /// The ids that may stand beside the notification or in it.
    fileprivate static let idNames = ["category", "thread"]

    /// Takes the members that make the pushes, without nulls. Refuses an object for a provider that is not offered.
    mutating func templateMembers() throws(Problem) -> JSONObject {
        try refuseOtherProviders()
        return JSONObject(PushTemplateRequest.names.compactMap { name in take(name).map { JSONMember(name, $0) } })
    }

    /// Takes the members that change what makes the pushes, and applies them: each as a whole, and null removes one.
    mutating func changedTemplate(_ members: JSONObject) throws(Problem) -> JSONObject {
        try refuseOtherProviders()
        var members = members
        for name in PushTemplateRequest.names {
            if let value = takeAny(name) { members[name] = value.isNull ? nil : value }
        }
        return members
    }

    private mutating func refuseOtherProviders() throws(Problem) {
        for provider in Provider.allCases where PushProviders.offered(provider) == nil { try notYet(provider.name) }
    }

    fileprivate mutating func addIDs(to presentation: inout NotificationPresentation) throws(Problem) {
        let (category, thread) = (presentation.category, presentation.thread)
        presentation.category = try itemID("category", unless: category) ?? category
        presentation.thread = try itemID("thread", unless: thread) ?? thread
    }

    private mutating func itemID(_ name: String, unless other: String?) throws(Problem) -> String? {
        guard let id = try string(name, bytesMax: GivenNotification.idBytesMax) else { return nil }
        guard other == nil else {
            throw Problem(
                .invalidValue, "\(name) is given twice, here and in notification. Give it once.", at: pointer / name)
        }
        return id
    }

    fileprivate mutating func itemBadge() throws(Problem) -> BadgeChange {
        guard let value = take("badge") else { return .none }
        if value.string == "AUTO" { return .increment }
        do throws(Problem) { return .value(try value.wholeOrText(0...Int32.max, at: pointer / "badge")) } catch {
            throw Problem(
                .invalidValue, "A badge is \"AUTO\" or a whole number from 0 to \(Int32.max).", at: pointer / "badge")
        }
    }

    /// Takes the members that say how a push is delivered. A collapse key may have fields, as a provider's object may.
    fileprivate mutating func itemDelivery(hasNotification: Bool, fields: [String]) throws(Problem) -> ItemDelivery {
        let collapseKey = try string("collapse_key", bytesMax: MessageLimits.collapseIDBytesMax)
        if let collapseKey {
            do throws(SubscriptionTextFault) { _ = try SubscriptionText(parsing: collapseKey, fields: fields) } catch {
                throw Problem(error, position: error.position(in: collapseKey), at: pointer / "collapse_key")
            }
        }
        return ItemDelivery(
            collapseKey: collapseKey, waitsWhileIdle: try boolOrText("delay_while_idle") ?? false,
            ttlSeconds: try integerOrText("time_to_live", 0...MessageOptions.ttlSecondsMax),
            hasNotification: hasNotification)
    }
}
