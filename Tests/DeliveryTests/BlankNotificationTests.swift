import APNs
import CompiledMessages
import Content
import JSON
import Model
import ProviderInterface
import QueueRules
import Testing

private func french(_ text: NotificationText) -> [Localization] { [Localization(locale: "fr", text: text)] }

@Suite("A notification without visible text")
struct BlankNotificationTests {
    private func fault(_ content: MessageContent) -> String? {
        var content = content
        content.isTemplate = true
        do throws(ContentFault) {
            try CompiledMessage(content, message: TemplateWorld.id).check()
            return nil
        } catch {
            guard case .blank(let place) = error else { return error.code }
            #expect(error.code == "nothing_to_show")
            return place.description
        }
    }

    @Test("gets a refusal whatever stands beside it, for every provider and push type")
    func refused() {
        let blanks = [
            NotificationText(), NotificationText(title: ""),
            NotificationText(title: " ", subtitle: "\u{a0}", body: "\n"),
            NotificationText(body: "{{' '}}"), NotificationText(body: "\u{200b}{{'\u{3000}'}}"),
        ]
        for text in blanks {
            for type in [PushType.alert, .background, .voip, .liveActivity] {
                var content = MessageContent(
                    notification: text, badge: .increment, sound: "default",
                    data: [DataMember(name: "a", json: JSONText("b"))], options: MessageOptions(pushType: type))
                #expect(fault(content) == "/notification", "\(type)")
                content.overrides[.apns] = JSONText(["aps": ["alert": ["title": "Noon"]]])
                content.overrides[.fcm] = JSONText(["notification": ["title": "Noon"]])
                #expect(fault(content) == "/notification", "\(type)")
            }
        }
    }

    @Test("gets a refusal if it is blank in common or in one language")
    func languages() {
        var content = MessageContent(
            notification: NotificationText(body: "Noon"), localizations: french(NotificationText(body: " ")))
        #expect(fault(content) == "/notification/localizations/fr")
        content.localizations = french(NotificationText(title: " ", body: "\u{200b}"))
        #expect(fault(content) == "/notification/localizations/fr")
        // The title of the common text is still there.
        content.notification?.title = "Bells"
        content.localizations = french(NotificationText(body: ""))
        #expect(fault(content) == nil)
        content.notification = NotificationText(body: "")
        content.localizations = french(NotificationText(body: "Midi"))
        #expect(fault(content) == "/notification")
        content.notification = NotificationText()
        content.localizations = french(NotificationText())
        content.badge = .increment
        #expect(fault(content) == "/notification")
    }

    @Test("differs from one that was not given, and from one that a placeholder may fill")
    func accepted() {
        var content = MessageContent(badge: .increment)
        #expect(fault(content) == nil)
        content.notification = NotificationText()
        content.localizations = french(NotificationText(body: "Midi"))
        #expect(fault(content) == nil, "others get the badge alone, as they were meant to")
        for text in ["{{user}}", " {{user | default: ' '}} ", "{{user}}{{attributes.a}}"] {
            content.notification = NotificationText(body: text)
            #expect(fault(content) == nil)
        }
    }

    private static let subtitles = [
        NotificationText(subtitle: "Bells"), NotificationText(subtitle: "Bells", body: "\u{3000}"),
        NotificationText(title: "", subtitle: "Bells"),
        NotificationText(subtitle: "Bells", image: "https://a.example/n"),
    ]

    @Test("gets a refusal if only Android is asked, which shows no subtitle", arguments: subtitles)
    func subtitleForAndroid(text: NotificationText) {
        var content = MessageContent(notification: text, badge: .increment, data: [.init(name: "a", json: JSONText(1))])
        func fault() -> ContentFault? {
            do throws(ContentFault) {
                try CompiledMessage(content, message: TemplateWorld.id).check(asked: [.fcm])
                return nil
            } catch { return error }
        }
        guard case .provider(.fcm, let provider) = fault() else {
            Issue.record("accepted")
            return
        }
        #expect(provider.code == "nothing_to_show" && provider.pointer == .root / "notification")
        content.localizations = french(NotificationText(title: "Midi"))
        #expect(fault()?.code == "nothing_to_show", "people with another language see nothing")
        content.notification = NotificationText(body: "Noon")
        content.localizations = french(NotificationText(subtitle: "Midi", body: " "))
        guard case .provider(.fcm, let inFrench) = fault() else {
            Issue.record("accepted")
            return
        }
        #expect(inFrench.pointer == .root / "notification" / "localizations" / "fr")
    }

    @Test("passes for both providers if Apple's devices show its subtitle", arguments: subtitles)
    func subtitle(text: NotificationText) { #expect(fault(MessageContent(notification: text)) == nil) }

    @Test(
        "passes for Android if the sender's fcm object has a text of its own",
        arguments: [
            ["notification": ["title": "Noon"]], ["android": ["notification": ["body": "Noon"]]],
            ["android": ["notification": ["titleLocKey": "NOON"]]], ["notification": ["body": "{{user}}"]],
        ] as [JSONValue])
    func ownText(fcm: JSONValue) throws {
        var content = MessageContent(notification: NotificationText(subtitle: "Bells"), isTemplate: true)
        content.overrides[.fcm] = JSONText(fcm)
        try CompiledMessage(content, message: TemplateWorld.id).check(asked: [.fcm])
    }
}

@Suite("A push whose placeholders leave nothing of its notification")
struct BlankPushTests {
    private static let values = [["Ann"], [""], [" \u{a0}"], ["日"], ["\u{200b}\u{3164}"], ["Ben"]]

    /// Encodes a message for devices with these values of `user`, and returns the positions that are withheld.
    private func withheld(
        _ content: MessageContent, to target: PushTarget, _ values: [[String]] = values, locales: [String] = []
    ) async throws -> [Int32] {
        var content = content
        content.isTemplate = true
        let message = CompiledMessage(content, message: TemplateWorld.id)
        try message.check()
        let world = TemplateWorld(message, values, locales: locales)
        let pushes = try await world.pushes(to: target)
        #expect(pushes.tooLarge.isEmpty)
        let all = (pushes.batch.members + pushes.nothingToShow).sorted()
        #expect(all == values.indices.map(Int32.init), "each push has one end")
        return pushes.nothingToShow
    }

    @Test("never leaves, at either provider, whatever else it carries, while others do")
    func values() async throws {
        for target in [TemplateWorld.topic, TemplateWorld.project] {
            var content = MessageContent(notification: NotificationText(title: " ", body: "{{user}}\u{200b}"))
            #expect(try await withheld(content, to: target) == [1, 2, 4])
            content.badge = .increment
            content.sound = "default"
            content.overrides[.apns] = JSONText(["aps": ["alert": ["title": "Noon"]]])
            #expect(try await withheld(content, to: target) == [1, 2, 4])
            content.notification?.title = "Noon"
            #expect(try await withheld(content, to: target) == [])
        }
    }

    @Test("never leaves for Android if only its subtitle is visible")
    func subtitle() async throws {
        for body in ["{{user}}", " ", nil] {
            let content = MessageContent(
                notification: NotificationText(subtitle: "Bells", body: body), badge: .increment)
            #expect(try await withheld(content, to: TemplateWorld.topic) == [])
            let blank: [Int32] = body == "{{user}}" ? [1, 2, 4] : [0, 1, 2, 3, 4, 5]
            #expect(try await withheld(content, to: TemplateWorld.project) == blank)
        }
        let content = MessageContent(
            notification: NotificationText(body: "Noon"),
            localizations: french(NotificationText(subtitle: "Midi", body: " ")))
        #expect(try await withheld(content, to: TemplateWorld.project, locales: ["fr", "en", "fr-CA"]) == [0, 2])
    }

    @Test("leaves if the sender's object has a text of its own, or removes the text on purpose")
    func overridden() async throws {
        var content = MessageContent(notification: NotificationText(subtitle: "Bells", body: "{{user}}"))
        content.overrides[.fcm] = JSONText(["notification": ["title": "Noon"]])
        #expect(try await withheld(content, to: TemplateWorld.project) == [])
        content.overrides[.fcm] = JSONText(["notification": ["title": "{{user}}"]])
        #expect(try await withheld(content, to: TemplateWorld.project) == [1, 2, 4])
        content.overrides[.fcm] = JSONText(["notification": .null, "data": ["a": "1"]])
        #expect(try await withheld(content, to: TemplateWorld.project) == [])
        content.overrides[.apns] = JSONText(["aps": ["alert": " "]])
        #expect(try await withheld(content, to: TemplateWorld.topic) == [0, 1, 2, 3, 4, 5])
        content.overrides[.apns] = JSONText(["aps": ["alert": ["subtitle": .null, "loc-key": "NOON"]]])
        #expect(try await withheld(content, to: TemplateWorld.topic) == [])
    }

    @Test("never leaves if its default shows nothing either")
    func defaults() async throws {
        func content(_ body: String) -> MessageContent { MessageContent(notification: NotificationText(body: body)) }
        let target = TemplateWorld.topic
        #expect(try await withheld(content("{{user | default: 'you'}}"), to: target) == [2, 4])
        #expect(try await withheld(content("{{user | default: ' '}}"), to: target) == [1, 2, 4])
        #expect(try await withheld(content("{{user}} {{user | default: 'you'}}"), to: target) == [2, 4])
    }

    @Test("depends on the text of the device's own language")
    func languages() async throws {
        let locales = ["fr", "fr-CA", "de", "fr", "en", "de"]
        var content = MessageContent(
            notification: NotificationText(body: "Noon"), localizations: french(NotificationText(body: "{{user}}")))
        #expect(try await withheld(content, to: TemplateWorld.project, locales: locales) == [1])
        content.notification = NotificationText(body: "{{user}}")
        content.localizations = french(NotificationText(body: "Midi"))
        #expect(try await withheld(content, to: TemplateWorld.project, locales: locales) == [2, 4])
        // Other languages were not meant to get a text.
        content.notification = NotificationText()
        content.localizations = french(NotificationText(body: "{{user}}"))
        content.badge = .increment
        #expect(try await withheld(content, to: TemplateWorld.topic, locales: locales) == [1])
    }

    @Test("never leaves if its blank message was stored before such messages were refused")
    func stored() async throws {
        let content = MessageContent(notification: NotificationText(body: " "), badge: .increment)
        let world = TemplateWorld(CompiledMessage(content, message: TemplateWorld.id), [[], []])
        let pushes = try await world.pushes(to: TemplateWorld.topic)
        #expect(pushes.batch.requests.isEmpty && pushes.nothingToShow == [0, 1])
    }
}
