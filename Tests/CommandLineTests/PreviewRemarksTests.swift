import CommandLine
import Model
import Testing

@Suite("The remarks below a preview")
struct PreviewRemarksTests {
    private func remarks(
        _ provider: Provider, _ text: NotificationText = NotificationText(body: "Noon"),
        _ presentation: NotificationPresentation = NotificationPresentation(), sound: String? = nil
    ) -> [String] { PreviewRemarks.lines(about: text, presentation, sound: sound, on: provider) }

    @Test("name what a phone has no use for, in its own language's text too")
    func unknown() {
        let presentation = NotificationPresentation(category: "NEWS", channel: "news", thread: "t1")
        #expect(
            remarks(.apns, NotificationText(subtitle: "Bell"), presentation) == ["  An iPhone has no use for: channel."]
        )
        #expect(
            remarks(.fcm, NotificationText(subtitle: "Bell"), presentation)
                == ["  An Android phone has no use for: subtitle, category, thread."])
        #expect(remarks(.apns).isEmpty && remarks(.fcm).isEmpty)
    }

    @Test("say what an iPhone's picture and critical alert need")
    func conditions() {
        let text = NotificationText(body: "Noon", image: "https://a.example/n.png")
        let lines = remarks(.apns, text, NotificationPresentation(interruption: .critical))
        #expect(lines.count == 2)
        #expect(lines[0].contains("notification service extension") && lines[1].contains("entitlement"))
        #expect(remarks(.fcm, text).isEmpty)
    }

    @Test("say that Android's channel decides the sound and the importance")
    func channel() {
        #expect(remarks(.fcm, sound: "default").first?.contains("channel decides") == true)
        let lines = remarks(.fcm, NotificationText(), NotificationPresentation(interruption: .passive))
        #expect(lines.first?.contains("channel decides") == true)
        #expect(remarks(.apns, sound: "default").isEmpty)
    }
}
