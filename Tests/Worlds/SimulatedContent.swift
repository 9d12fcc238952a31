import APNs
import FCM
import Model

/// The contents of these worlds' messages: one for each thing that APNs treats differently.
package enum SimulatedContent: CaseIterable, Sendable {
    case alert, background, voip, pushToTalk, activityStart, activityUpdate, widgets, location, complication
    case controls, fileProvider

    /// The kind of token that it is for, written by hand from Apple's documentation. The product has its own table.
    package var kind: TokenKind {
        switch self {
        case .alert, .background: .alert
        case .voip: .voip
        case .pushToTalk: .pushToTalk
        case .activityStart: .pushToStart
        case .activityUpdate: .liveActivity
        case .widgets: .widget
        case .location: .location
        case .complication: .complication
        case .controls: .control
        case .fileProvider: .fileProvider
        }
    }

    /// Whether a user would notice a repetition (P4), decided by hand.
    package var isSeenTwice: Bool { self == .voip || self == .pushToTalk || self == .activityStart }

    /// The APNs service whose topic it goes to, decided by hand.
    package var service: TopicService {
        switch self {
        case .voip: .voip
        case .complication: .complication
        case .fileProvider: .fileProvider
        case .activityStart, .activityUpdate: .liveActivity
        case .pushToTalk: .pushToTalk
        case .location: .location
        case .widgets: .widgets
        case .controls: .controls
        case .alert, .background: .app
        }
    }

    package var isForFCM: Bool { self == .alert || self == .background }

    package var mayHaveBadge: Bool { self == .alert }

    package func content(badge: BadgeChange) -> MessageContent {
        var content = MessageContent(badge: badge, options: MessageOptions(pushType: pushType))
        switch self {
        case .alert: content.notification = NotificationText(title: "Carillon", body: "Twelve o'clock")
        case .activityStart:
            content.notification = NotificationText(title: "Carillon", body: "The bells begin")
            content.overrides[.apns] = json(
                #"{"aps":{"event":"start","content-state":{"bell":1},"attributes-type":"Bells","attributes":{}}}"#)
        case .activityUpdate: content.overrides[.apns] = json(#"{"aps":{"event":"update","content-state":{"bell":2}}}"#)
        case .fileProvider: content.data = [DataMember(name: "container-identifier", json: json(#""bells""#))]
        case .background, .voip, .pushToTalk, .widgets, .location, .complication, .controls: break
        }
        return content
    }

    private var pushType: PushType {
        switch self {
        case .alert: .alert
        case .background: .background
        case .voip: .voip
        case .pushToTalk: .pushToTalk
        case .activityStart, .activityUpdate: .liveActivity
        case .widgets: .widgets
        case .location: .location
        case .complication: .complication
        case .controls: .controls
        case .fileProvider: .fileProvider
        }
    }

    private func json(_ text: String) -> JSONText { JSONText(bytes: Array(text.utf8)) }
}

/// The product's form of a content, made by its own compilers.
package struct MessageForm: Sendable {
    package let content: SimulatedContent
    /// The kind of token that it goes to.
    package let kind: TokenKind
    package let mayRepeat: Bool
    package let isForFCM: Bool

    package init(_ content: SimulatedContent, badge: BadgeChange, _ message: MessageID) {
        let written = content.content(badge: badge)
        guard let apns = try? APNsNotification.compile(written, message: message) else {
            preconditionFailure("the simulation writes only messages that validation accepts")
        }
        self.content = content
        kind = apns.tokenKind
        mayRepeat = apns.mayRepeat
        isForFCM = FCMMessage.serves(written.options.pushType)
    }
}
