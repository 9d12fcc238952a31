import APNs
import Basis
import Content
import Encodings
import JSON
import Model
import Testing

/// Accepted at 2026-11-22T12:00:00.250Z.
private let message = MessageID(
    UUIDv7.make(at: WallInstant(microseconds: 1_795_348_800_250_000), random: (0x18c4, 0x0cc3_dc0c_0c07_398f)))

private func compile(_ text: String) throws -> APNsNotification {
    try APNsNotification.compile(try APIMessage(text).content, message: message)
}

private func payload(_ text: String) throws -> String {
    let payload = try compile(text).payloads[0]
    return String(decoding: payload.head + payload.tail, as: UTF8.self)
}

/// Returns "code pointer" of the refusal, or an empty text if there is none.
private func refusal(_ text: String) throws -> String {
    let content = try APIMessage(text).content
    do throws(ProviderFault) {
        _ = try APNsNotification.compile(content, message: message)
        return ""
    } catch { return "\(error.code) \(error.pointer?.description ?? "")" }
}

private func headers(_ notification: APNsNotification) -> [String] {
    let expiresAt = WallInstant(secondsSince1970: 1_795_352_400)
    return notification.headers(topic: "com.example.app", expiresAt: expiresAt, pushes: 1).map {
        String(decoding: $0.value, as: UTF8.self)
    }
}

/// A minimal message of each type, and its payload.
private struct TypeCase: CustomTestStringConvertible {
    let type: PushType
    let message: String
    let payload: String
    let kind: TokenKind
    let topicSuffix: String
    let priority: String
    var expiration = "1795352400"
    var mayRepeat = true
    var bytesMax = 4_096

    var testDescription: String { message }

    static let all = [
        TypeCase(
            type: .alert, message: #"{"notification":{"body":"Noon"}}"#, payload: #"{"aps":{"alert":{"body":"Noon"}}}"#,
            kind: .alert, topicSuffix: "", priority: "10"),
        TypeCase(
            type: .background, message: #"{"options":{"push_type":"background"},"data":{"sync":7}}"#,
            payload: #"{"aps":{"content-available":1},"sync":7}"#, kind: .alert, topicSuffix: "", priority: "5"),
        TypeCase(
            type: .voip, message: #"{"options":{"push_type":"voip"},"data":{"call":"c1"}}"#, payload: #"{"call":"c1"}"#,
            kind: .voip, topicSuffix: ".voip", priority: "10", expiration: "0", mayRepeat: false, bytesMax: 5_120),
        TypeCase(
            type: .complication, message: #"{"options":{"push_type":"complication"},"data":{"steps":9}}"#,
            payload: #"{"aps":{},"steps":9}"#, kind: .complication, topicSuffix: ".complication", priority: "10"),
        TypeCase(
            type: .fileProvider,
            message: #"{"options":{"push_type":"fileprovider"},"data":{"container-identifier":"c","domain":"d"}}"#,
            payload: #"{"container-identifier":"c","domain":"d"}"#, kind: .fileProvider,
            topicSuffix: ".pushkit.fileprovider", priority: "10"),
        TypeCase(
            type: .mdm, message: #"{"options":{"push_type":"mdm"},"data":{"mdm":"PushMagic"}}"#,
            payload: #"{"mdm":"PushMagic"}"#, kind: .mdm, topicSuffix: "", priority: "10"),
        TypeCase(
            type: .liveActivity,
            message: #"{"options":{"push_type":"liveactivity"},"apns":{"aps":{"event":"update","content-state":{}}}}"#,
            payload: #"{"aps":{"timestamp":1795348800,"event":"update","content-state":{}}}"#, kind: .liveActivity,
            topicSuffix: ".push-type.liveactivity", priority: "10"),
        TypeCase(
            type: .pushToTalk, message: #"{"options":{"push_type":"pushtotalk"},"data":{"activeSpeaker":"Ada"}}"#,
            payload: #"{"aps":{},"activeSpeaker":"Ada"}"#, kind: .pushToTalk, topicSuffix: ".voip-ptt", priority: "10",
            expiration: "0", mayRepeat: false),
        TypeCase(
            type: .location, message: #"{"options":{"push_type":"location"}}"#, payload: #"{"aps":{}}"#,
            kind: .location, topicSuffix: ".location-query", priority: "10"),
        TypeCase(
            type: .widgets, message: #"{"options":{"push_type":"widgets"}}"#,
            payload: #"{"aps":{"content-changed":true}}"#, kind: .widget, topicSuffix: ".push-type.widgets",
            priority: "10"),
        TypeCase(
            type: .controls, message: #"{"options":{"push_type":"controls"}}"#,
            payload: #"{"aps":{"content-changed":true}}"#, kind: .control, topicSuffix: ".push-type.controls",
            priority: "10"),
    ]
}

@Suite("A push of each type")
struct PushTypeTests {
    @Test("gets its payload, topic, priority, expiration and token kind", arguments: TypeCase.all)
    private func derived(wanted: TypeCase) throws {
        let notification = try compile(wanted.message)
        #expect(notification.pushType == wanted.type)
        #expect(try payload(wanted.message) == wanted.payload)
        #expect(notification.tokenKind == wanted.kind)
        #expect(notification.mayRepeat == wanted.mayRepeat)
        #expect(
            headers(notification) == [
                "com.example.app" + wanted.topicSuffix, wanted.type.name, wanted.priority, wanted.expiration,
                String(decoding: notification.collapseID, as: UTF8.self),
            ])
    }

    @Test("appears in the table, which has no other type")
    func complete() { #expect(TypeCase.all.map(\.type) == PushType.allCases) }

    @Test("may be as large as APNs accepts for its type", arguments: TypeCase.all)
    private func sizes(wanted: TypeCase) throws {
        func fault(bytes: Int) throws -> ProviderFault? {
            var content = try APIMessage(wanted.message).content
            let filling = bytes - wanted.payload.utf8.count - #","filling":"""#.utf8.count
            let text = JSONText(.string(String(repeating: "x", count: filling)))
            content.data.append(DataMember(name: "filling", json: text))
            do throws(ProviderFault) {
                let payload = try APNsNotification.compile(content, message: message).payloads[0]
                #expect(payload.bytesMax == bytes)
                return nil
            } catch { return error }
        }
        #expect(try fault(bytes: wanted.bytesMax) == nil)
        #expect(
            try fault(bytes: wanted.bytesMax + 1)
                == .payloadTooLarge(bytes: wanted.bytesMax + 1, bytesMax: wanted.bytesMax))
    }

    @Test(
        "fails to compile with a member that its type forbids, or without a required one",
        arguments: [
            // Notifications, badges and sounds are not allowed.
            ("background", #""notification":{"body":"a"}"#, "not_for_background /notification"),
            ("background", #""apns":{"aps":{"category":"a"}}"#, "not_for_background /apns/aps/category"),
            ("voip", #""notification":{"body":"a"}"#, "not_for_push_type /notification"),
            ("voip", #""notification":{"localizations":{"fr":{"body":"a"}}}"#, "not_for_push_type /notification"),
            ("complication", #""badge":1"#, "not_for_push_type /badge"),
            ("location", #""sound":"default""#, "not_for_push_type /sound"),
            ("pushtotalk", #""notification":{"body":"a"}"#, "not_for_push_type /notification"),
            ("widgets", #""notification":{"body":"a"}"#, "not_for_push_type /notification"),
            ("controls", #""badge":"increment""#, "not_for_push_type /badge"),
            ("fileprovider", #""sound":"default""#, "not_for_push_type /sound"),
            ("mdm", #""notification":{"body":"a"}"#, "not_for_push_type /notification"),
            ("widgets", #""apns":{"aps":{"alert":"a"}}"#, "not_for_push_type /apns/aps/alert"),
            ("controls", #""apns":{"aps":{"sound":"a"}}"#, "not_for_push_type /apns/aps/sound"),
            // Only the app reads these members, so they are passed on.
            ("voip", #""apns":{"aps":{"alert":"a"}}"#, ""), ("complication", #""apns":{"aps":{"alert":"a"}}"#, ""),
            // The type's one member.
            ("widgets", #""apns":{"aps":{"content-changed":false}}"#, "invalid_value /apns/aps/content-changed"),
            ("widgets", #""apns":{"aps":{"content-changed":null}}"#, "invalid_value /apns/aps/content-changed"),
            ("fileprovider", #""data":{}"#, "missing_member /data/container-identifier"),
            ("fileprovider", #""data":{"container-identifier":1}"#, "invalid_value /data/container-identifier"),
            ("fileprovider", #""data":{"container-identifier":"a","domain":1}"#, "invalid_value /data/domain"),
            ("fileprovider", #""data":{"container-identifier":"a"}"#, ""),
            ("mdm", #""data":{}"#, "missing_member /data/mdm"),
            ("mdm", #""data":{"mdm":""}"#, "invalid_value /data/mdm"),
            // No aps is allowed.
            ("mdm", #""data":{"mdm":"m"},"apns":{"aps":{}}"#, "not_for_push_type /apns/aps"),
            ("fileprovider", #""data":{"container-identifier":"a"},"apns":{"aps":{}}"#, "not_for_push_type /apns/aps"),
        ])
    func refused(type: String, members: String, expected: String) throws {
        #expect(try refusal(#"{"options":{"push_type":"\#(type)"},\#(members)}"#) == expected)
    }

    @Test("accepts the priorities that APNs allows for its type, and refuses others")
    func priorities() throws {
        for wanted in TypeCase.all {
            for (control, value) in [(PushPriority.high, UInt8(10)), (.normal, 5)] {
                var content = try APIMessage(wanted.message).content
                content.options.priority = control
                let priority = try? APNsNotification.compile(content, message: message).priority
                let isAllowed =
                    switch wanted.type {
                    case .background: control == .normal
                    case .voip, .pushToTalk: control == .high
                    default: true
                    }
                #expect(priority == (isAllowed ? value : nil), "\(wanted.type.name) \(control)")
            }
        }
    }

    @Test("takes the sender's own aps if its type is voip")
    func voipWithAps() throws {
        let text = #"{"options":{"push_type":"voip"},"data":{"call":1},"apns":{"aps":{"alert":"Ada"},"x":2}}"#
        #expect(try payload(text) == #"{"aps":{"alert":"Ada"},"call":1,"x":2}"#)
        #expect(try payload(#"{"options":{"push_type":"voip"}}"#) == "{}")
    }
}

@Suite("A Live Activity")
struct LiveActivityTests {
    private func activity(_ aps: String, _ more: String = "") -> String {
        #"{"options":{"push_type":"liveactivity"},"apns":{"aps":\#(aps)}\#(more)}"#
    }

    private let start =
        #"{"event":"start","content-state":{"home":0},"attributes-type":"Match","attributes":{"id":"m1"},"#
        + #""alert":{"title":{"loc-key":"KICKOFF","loc-args":["A"]},"body":"Go"}}"#

    @Test("starts once on the push-to-start token and continues on the activity's token")
    func tokens() throws {
        let started = try compile(activity(start))
        #expect(started.tokenKind == .pushToStart)
        #expect(!started.mayRepeat)
        for event in [#"{"event":"update","content-state":{}}"#, #"{"event":"end","dismissal-date":0}"#] {
            let later = try compile(activity(event))
            #expect(later.tokenKind == .liveActivity)
            #expect(later.mayRepeat)
        }
        // An event of another push type is a member that APNs ignores.
        #expect(try compile(#"{"sound":"x","apns":{"aps":{"event":"start"}}}"#).tokenKind == .alert)
        #expect(try compile(#"{"sound":"x","apns":{"aps":{"event":"start"}}}"#).mayRepeat)
    }

    @Test("carries the message's acceptance time as timestamp in every attempt, or the sender's own")
    func timestamp() throws {
        #expect(
            try payload(activity(#"{"event":"end"}"#)) == #"{"aps":{"timestamp":1795348800,"event":"end"}}"#)
        #expect(
            try payload(activity(#"{"event":"end","timestamp":1795348801}"#))
                == #"{"aps":{"timestamp":1795348801,"event":"end"}}"#)
    }

    @Test("keeps a null in its state and attributes, which is the app's own value there")
    func nulls() throws {
        let state = #""content-state":{"score":null,"teams":[{"name":null}]},"attributes":{"cup":null}"#
        #expect(
            try payload(activity(#"{"event":"update","stale-date":null,\#(state)}"#))
                == #"{"aps":{"timestamp":1795348800,"event":"update",\#(state)}}"#)
    }

    @Test("takes its alert from the notification in every language, with the sound inside")
    func alert() throws {
        let more =
            #","notification":{"title":"Goal","body":"1:0","localizations":{"fr":{"title":"But"}}},"sound":"horn""#
        let notification = try compile(activity(#"{"event":"update","content-state":{"home":1}}"#, more))
        let remaining = #""sound":"horn"},"event":"update","content-state":{"home":1}"#
        let alerts = notification.payloads.map { String(decoding: $0.head, as: UTF8.self) }
        #expect(
            alerts == [
                #"{"aps":{"timestamp":1795348800,"alert":{"title":"Goal","body":"1:0","# + remaining,
                #"{"aps":{"timestamp":1795348800,"alert":{"title":"But","body":"1:0","# + remaining,
            ])
    }

    @Test(
        "fails to compile without what its event needs, or with what it can't show",
        arguments: [
            ("{}", "", "missing_member /apns/aps/event"),
            (#"{"event":"pause"}"#, "", "invalid_value /apns/aps/event"),
            (#"{"event":"update"}"#, "", "missing_member /apns/aps/content-state"),
            (#"{"event":"update","content-state":[]}"#, "", "invalid_value /apns/aps/content-state"),
            (#"{"event":"end"}"#, "", ""), (#"{"event":"end","content-state":{},"dismissal-date":1795348800}"#, "", ""),
            (#"{"event":"end","timestamp":null}"#, "", "missing_member /apns/aps/timestamp"),
            (#"{"event":"end","timestamp":1795348800250}"#, "", "invalid_value /apns/aps/timestamp"),
            (#"{"event":"end","dismissal-date":"now"}"#, "", "invalid_value /apns/aps/dismissal-date"),
            (#"{"event":"end","stale-date":-1}"#, "", "invalid_value /apns/aps/stale-date"),
            (#"{"event":"end","relevance-score":75}"#, "", ""),
            (#"{"event":"end","input-push-token":true}"#, "", "invalid_value /apns/aps/input-push-token"),
            (#"{"event":"end","input-push-channel":1}"#, "", "invalid_value /apns/aps/input-push-channel"),
            (#"{"event":"end","alert":{"body":{"loc-args":[]}}}"#, "", "invalid_value /apns/aps/alert/body"),
            (#"{"event":"end","alert":{"sound":1}}"#, "", "invalid_value /apns/aps/alert/sound"),
            (#"{"event":"end"}"#, #","badge":1"#, "not_for_push_type /badge"),
            (#"{"event":"end"}"#, #","notification":{"subtitle":"a"}"#, "not_for_push_type /notification/subtitle"),
            (#"{"event":"end"}"#, #","notification":{"link":"a:b"}"#, "not_for_push_type /notification/link"),
            (
                #"{"event":"end"}"#, #","notification":{"localizations":{"fr":{"subtitle":"a"}}}"#,
                "not_for_push_type /notification/localizations/fr/subtitle"
            ),
        ])
    func refused(aps: String, more: String, expected: String) throws {
        #expect(try refusal(activity(aps, more)) == expected)
    }

    @Test(
        "needs state, attributes, attributes type and an alert to start",
        arguments: ["content-state", "attributes-type", "attributes", "alert"])
    func start(without name: String) throws {
        #expect(try refusal(activity(start)) == "")
        var aps = try #require(try JSONReader.read(Array(start.utf8)).object)
        aps[name] = nil
        let text = String(decoding: JSONValue.object(aps).bytes, as: UTF8.self)
        #expect(try refusal(activity(text)) == "missing_member /apns/aps/\(name)")
    }

    @Test("may start at normal priority")
    func priorities() throws {
        var content = try APIMessage(activity(start)).content
        content.options.priority = .normal
        #expect(try APNsNotification.compile(content, message: message).priority == 5)
    }
}
