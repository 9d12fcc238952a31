import Basis
import Content
import JSON
import Model
import Requests
import Testing
import TriggerRules

@Suite("A request to activate a subscription")
struct ActivationRequestTests {
    static func read(_ text: String, user: String? = nil) throws(Problem) -> ActivationRequest {
        try ActivationRequest.read(Array(text.utf8), installation: "phone", user: user, now: noon)
    }

    /// An activation with the field `price` and more members.
    static func activation(_ members: String) -> String { #"{"items": ["i"], "fields": ["price"], \#(members)}"# }

    @Test("needs no members but items and fields, and has defaults for the others")
    func least() throws {
        let request = try Self.read(#"{"items": ["i", "j"], "fields": ["a", "b"]}"#)
        let terms = request.terms
        #expect(terms.items == ["i", "j"] && terms.fields == ["a", "b"] && terms.mode == .merge)
        #expect(terms.trigger == nil && terms.pauseSeconds == nil && terms.expiresAt == nil)
        #expect(terms.whenPaused == .newest && !request.coalescing && request.device == nil)
        #expect(terms.template.given == Array("{}".utf8))
        #expect(request.content.options.pushType == .background)
    }

    @Test("carries an alert as the seed's iPhones activate it")
    func alert() throws {
        let request = try Self.read(
            #"""
            {"items": ["item1"], "fields": ["last_price", "time", "pct_change", "stock_name"], "mode": "MERGE",
             "coalescing": true, "sound": "Default", "badge": "AUTO", "category": "STOCK_PRICE_CATEGORY",
             "notification": {"body": "Stock ${stock_name} is now $[1]"}, "data": {"item": "item1"}}
            """#)
        #expect(request.coalescing)
        #expect(
            request.content
                == MessageContent(
                    notification: NotificationText(body: "Stock ${stock_name} is now $[1]"),
                    presentation: NotificationPresentation(category: "STOCK_PRICE_CATEGORY"), badge: .increment,
                    sound: "Default", data: [DataMember(name: "item", json: JSONText("item1"))],
                    overrides: [.fcm: JSONText(["android": ["priority": "HIGH"]])]))
        let template = request.terms.template
        #expect(template.content == StoredContent.encode(request.content))
        #expect(
            String(decoding: template.given, as: UTF8.self)
                == #"{"notification":{"body":"Stock ${stock_name} is now $[1]"},"sound":"Default","badge":"AUTO","#
                + #""category":"STOCK_PRICE_CATEGORY","data":{"item":"item1"}}"#)
    }

    @Test("carries data alone as the seed's Android phones activate it")
    func data() throws {
        let request = try Self.read(
            #"""
            {"items": ["item1"], "fields": ["stock_name", "last_price", "time"],
             "data": {"stock_name": "${stock_name}", "last_price": "${last_price}"},
             "collapse_key": "Stock update", "delay_while_idle": "false", "time_to_live": "300"}
            """#)
        let android: JSONValue = ["priority": "HIGH", "collapse_key": "Stock update", "ttl": "300s"]
        #expect(
            request.content
                == MessageContent(
                    data: [
                        DataMember(name: "stock_name", json: JSONText("${stock_name}")),
                        DataMember(name: "last_price", json: JSONText("${last_price}")),
                    ], options: MessageOptions(ttlSeconds: 300, pushType: .background),
                    overrides: [.fcm: JSONText(["android": android])]))
        #expect(
            String(decoding: request.terms.template.given, as: UTF8.self)
                == #"{"data":{"stock_name":"${stock_name}","last_price":"${last_price}"},"#
                + #""collapse_key":"Stock update","delay_while_idle":"false","time_to_live":"300"}"#)
    }

    @Test("keeps a trigger as it was written, with the threshold that it is")
    func trigger() throws {
        let text = "Double.parseDouble(${price}) > 100.0"
        let trigger = try Self.read(Self.activation(#""trigger": "\#(text)""#)).terms.trigger
        #expect(trigger?.text == text && trigger?.thresholds.first?.field == "price")
        #expect(trigger?.thresholds.first?.comparison == .more && trigger?.thresholds.first?.bound == 100)
    }

    @Test("carries mode, pause and end of the subscription")
    func others() throws {
        let terms = try Self.read(
            Self.activation(
                #""mode": "DISTINCT", "pause_seconds": 0, "when_paused": "drop", "expires_at": "2026-12-01T12:00:01Z""#)
        ).terms
        #expect(terms.mode == .distinct && terms.pauseSeconds == 0 && terms.whenPaused == .drop)
        #expect(terms.expiresAt == noon + .seconds(1))
    }

    @Test(
        "takes a badge, flags and numbers also as text",
        arguments: [
            (#""badge": "7""#, #""badge": 7"#), (#""delay_while_idle": "true""#, #""delay_while_idle": true"#),
            (#""time_to_live": "0""#, #""time_to_live": 0"#),
        ])
    func asText(text: String, value: String) throws {
        let contents = try [text, value, #""badge": null"#].map { try Self.read(Self.activation($0)).content }
        #expect(contents[0] == contents[1] && contents[0] != contents[2])
    }

    @Test("takes category and thread inside the notification too")
    func ids() throws {
        let inside = try Self.read(
            Self.activation(#""notification": {"title": "a", "category": "c", "thread": "${price}"}"#))
        let beside = try Self.read(
            Self.activation(#""notification": {"title": "a"}, "category": "c", "thread": "${price}""#))
        #expect(inside.content == beside.content)
        #expect(inside.content.presentation == NotificationPresentation(category: "c", thread: "${price}"))
    }

    @Test("registers the device that it names, whatever a backend gives")
    func device() throws {
        let request = try Self.read(
            Self.activation(#""device": {"provider": "apns", "token": "00ff", "user": "ann", "tags": ["a"]}"#))
        #expect(
            request.device
                == DeviceRegistration(
                    installation: "phone", provider: .apns, token: DeviceToken(bytes: [0, 255]),
                    profile: ProfileChange([.user: .set("ann")], tags: .set(["a"]))))
        let wrong = Refusal(Self.activation(#""device": {"provider": "apns"}"#), .missingMember, "/device/token")
        wrong.check { (bytes) throws(Problem) in
            try ActivationRequest.read(bytes, installation: "phone", now: noon)
        }
    }

    @Test("registers a user's device as the user's own, with what an app may give")
    func ownDevice() throws {
        let request = try Self.read(
            Self.activation(#""device": {"provider": "apns", "token": "00ff", "locale": "fr"}"#), user: "ann")
        #expect(request.device?.profile == ProfileChange([.user: .set("ann"), .locale: .set("fr")]))
        let problem = refusal { () throws(Problem) in
            try Self.read(
                Self.activation(#""device": {"provider": "apns", "token": "00ff", "badge": 1}"#), user: "ann")
        }
        #expect(problem?.code == .permissionDenied && problem?.pointer == .root / "device" / "badge")
    }
}

@Suite("The pushes that an activation asks for")
struct ActivatedPushTests {
    private static func content(_ members: String) throws -> MessageContent {
        try ActivationRequestTests.read(ActivationRequestTests.activation(members)).content
    }

    @Test(
        "make an alert if anything is shown, heard or counted",
        arguments: [
            (#""notification": {"title": "a"}"#, .alert), (#""badge": 1"#, .alert), (#""sound": "s""#, .alert),
            (#""apns": {"aps": {"alert": "${price}"}}"#, .alert), (#""apns": {"aps": {"badge": null}}"#, .background),
            (#""fcm": {"apns": {"payload": {"aps": {"alert": "a"}}}}"#, .alert), (#""data": {"a": 1}"#, .background),
            (#""apns": {"own": "${price}"}"#, .background), (#""fcm": {"data": {"a": "b"}}"#, .background),
        ] as [(String, PushType)])
    func pushType(members: String, type: PushType) throws {
        #expect(try Self.content(members).options.pushType == type)
    }

    @Test(
        "let the sender's own members decide on their delivery",
        arguments: [
            (
                #""delay_while_idle": true, "collapse_key": "k""#,
                #"{"android":{"priority":"NORMAL","collapse_key":"k"}}"#
            ),
            (
                #""fcm": {"android": {"priority": "NORMAL", "collapseKey": "own", "ttl": "9s"}}, "collapse_key": "k""#,
                #"{"android":{"priority":"NORMAL","collapseKey":"own","ttl":"9s"}}"#
            ),
            (#""fcm": {"data": {"a": "b"}}"#, #"{"data":{"a":"b"},"android":{"priority":"HIGH"}}"#),
            (#""fcm": {"android": null}"#, #"{"android":null}"#),
        ])
    func delivery(members: String, object: String) throws {
        let text = try #require(try Self.content(members).overrides[.fcm])
        #expect(String(decoding: text.bytes, as: UTF8.self) == object)
    }

    @Test("carry their time to live as an option of the message too")
    func timeToLive() throws {
        #expect(try Self.content(#""time_to_live": 300"#).options.ttlSeconds == 300)
        #expect(try Self.content(#""time_to_live": 300"#).options.lifetime == .seconds(300))
    }
}
