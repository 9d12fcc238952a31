import APNs
import Basis
import CompiledMessages
import Content
import Delivery
import FCM
import JSON
import Model
import ProviderInterface
import QueueRules
import TestSupport
import Testing

/// Devices with different values, and the pushes that are encoded for them.
struct TemplateWorld {
    static let id = MessageID(UniversalID(high: 0x0192_f3a4_b5c6_7d8e, low: 0x8f01_2345_6789_0abc))
    static let now = WallInstant(secondsSince1970: 1_793_448_000)
    static let topic = PushTarget(.apns, "com.example.app")
    static let project = PushTarget(.fcm, "/v1/projects/garden/messages:send")

    let message: CompiledMessage
    let parcel: LeasedParcel
    let values: MemberValues?

    /// - Parameters:
    ///   - devices: the values of each device, in the order of the message's fields.
    ///   - locales: the locales of the devices.
    init(
        _ message: CompiledMessage, _ devices: [[String]], locales: [String] = [], areValuesRead: Bool = true,
        urgency: MessageUrgency = .bulk
    ) {
        self.message = message
        var values = MemberValues(fieldCount: max(1, message.placeholders.fields.count))
        var tokens: [UInt8] = []
        var input: [UInt8] = []
        var members: [LeasedMember] = []
        for (place, device) in devices.enumerated() {
            if !message.placeholders.isEmpty { values.add(device.map { Array($0.utf8) }) }
            let token = Array("token-\(place)".utf8)
            let locale = locales.indices.contains(place) ? Array(locales[place].utf8) : []
            members.append(
                LeasedMember(
                    index: Int32(place), registration: RegistrationID(Int64(place + 1)), status: .present,
                    generation: TokenGeneration(1), badge: Int32(place), tokenStart: Int32(tokens.count),
                    tokenCount: Int32(token.count), isSuspected: false, localeStart: Int32(input.count),
                    localeCount: Int32(locale.count)))
            tokens += token
            input += locale
        }
        self.values = message.placeholders.isEmpty || !areValuesRead ? nil : values
        parcel = LeasedParcel(
            id: ParcelID(1), message: Self.id, app: AppID(1), route: RouteID(1), epoch: 1, settles: 0, attempt: 0,
            lapses: 0, retrySpent: .zero, answerLost: false, urgency: urgency, expiresAt: Self.now + .seconds(3_600),
            leasedAt: Self.now, memberCount: members.count, members: members, tokens: tokens, locales: input,
            settledBits: [])
    }

    /// Encodes the parcel into the batch that a lane sends.
    func pushes(to target: PushTarget) async throws -> EncodedPushes {
        let encoder = try #require(ParcelEncoder(parcel, message, values, target))
        return await encoder.batch(
            of: parcel.members.indices.map(Int32.init), now: Self.now,
            noStreamAfter: MonotonicInstant(nanoseconds: .max))
    }

    /// Returns the bodies by position; nil: the push is too large, or shows nothing, and is not sent.
    func bodies(to target: PushTarget) async throws -> [[UInt8]?] {
        let pushes = try await pushes(to: target)
        var bodies = [[UInt8]?](repeating: nil, count: parcel.members.count)
        for request in pushes.batch.requests {
            bodies[Int(pushes.batch.members[Int(request.tag)])] = pushes.batch.body(of: request)
        }
        let unsent = (pushes.tooLarge + pushes.nothingToShow).sorted().map(Int.init)
        #expect(unsent == bodies.indices.filter { bodies[$0] == nil })
        return bodies
    }
}

extension PushBatch {
    /// Returns the body as a lane sends it.
    func body(of request: Request) -> [UInt8] {
        let frame = frames[Int(request.frame)]
        var body: [UInt8] = []
        var starts: [Int] = []
        if let pattern = frame.pattern {
            pattern.fill(bytes.span.extracting(request.body.range), into: &body, starts: &starts)
        } else {
            body = Array(bytes[request.body.range])
        }
        return frame.prefix + body + frame.suffix
    }
}

/// Makes contents with placeholders in every place that allows them, and the same with the values written in.
private struct TemplateMaker {
    static let fields = ["user", "attributes.name", "attributes['a b'].c"]
    private static let pieces = [
        "Hi ", "\"", "\\", "\n", "ä", "🔔", "\u{2028}", "}}", "{ ", "", "'", "\u{1}", "]", "x",
    ]

    var random: SeededGenerator

    mutating func pick<Value>(_ values: [Value]) -> Value {
        values[Int.random(in: 0..<values.count, using: &random)]
    }

    mutating func text() -> String {
        (0..<Int.random(in: 0...3, using: &random)).map { _ in pick(Self.pieces) }.joined()
    }

    /// Makes a text with placeholders, and the filled text of each device.
    mutating func text(_ devices: [[String]]) -> (template: String, filled: [String]) {
        var template = text()
        var filled = devices.map { _ in template }
        for _ in 0..<Int.random(in: 0...3, using: &random) {
            let field = Int.random(in: 0..<Self.fields.count, using: &random)
            let fallback = pick(["", "you", "it's \\ \"", "{{x}}"])
            let quoted = fallback.replacing("\\", with: "\\\\").replacing("'", with: "\\'")
            let end = text()
            if pick([true, false, false]) {
                template += "{{'{{'}}"
                for place in filled.indices { filled[place] += "{{" }
            }
            template += "{{ \(Self.fields[field])" + (fallback.isEmpty ? "" : "|default:'\(quoted)'") + "}}" + end
            for (place, device) in devices.enumerated() {
                filled[place] += (device[field].isEmpty ? fallback : device[field]) + end
            }
        }
        return (template, filled)
    }

    /// Makes the template's content, and the filled content of each device.
    mutating func contents(_ devices: [[String]]) -> (template: MessageContent, filled: [MessageContent]) {
        let badge: BadgeChange = pick([.none, .increment])
        let isAlert = Int.random(in: 0..<4, using: &random) > 0
        let (title, body, french) = (text(devices), text(devices), text(devices))
        let (plain, nested, beside) = (text(devices), text(devices), text(devices))
        func content(_ read: ((template: String, filled: [String])) -> String) -> MessageContent {
            var content = MessageContent()
            if isAlert {
                content.notification = NotificationText(title: read(title), body: read(body))
                content.localizations = [Localization(locale: "fr", text: NotificationText(body: read(french)))]
                content.badge = badge
            } else {
                content.options.pushType = .background
            }
            content.data = [
                DataMember(name: "plain", json: JSONText(.string(read(plain)))),
                DataMember(name: "nested", json: JSONText(["a": [.string(read(nested)), 1]])),
            ]
            content.overrides[.apns] = JSONText(["beside": [.string(read(beside))]])
            content.overrides[.fcm] = JSONText(["webpush": ["data": ["beside": .string(read(beside))]]])
            return content
        }
        var template = content(\.template)
        template.isTemplate = true
        return (template, devices.indices.map { place in content { $0.filled[place] } })
    }
}

@Suite("A message with placeholders")
struct TemplateMessageTests {
    private static let devices = [
        ["ann", "Ann", "7"], ["", "", ""], ["b\"o\\b\n", "\u{1}\u{2028}ä", "🔔{{user}}"],
        ["\u{fdcf}\u{ffff}", "x", ""],
    ]
    /// The locales select both texts.
    private static let locales = ["en", "fr", "fr-CA", ""]

    @Test(
        "gives each device the same push as a message with its values written in",
        arguments: 1...8 as ClosedRange<UInt64>)
    func asIfWritten(seed: UInt64) async throws {
        var maker = TemplateMaker(random: SeededGenerator(seed: seed))
        for _ in 0..<40 {
            let (template, filled) = maker.contents(Self.devices)
            let message = CompiledMessage(template, message: TemplateWorld.id)
            let devices = Self.devices.map { device in
                message.placeholders.fields.map { field in
                    device[TemplateMaker.fields.firstIndex { (try? Self.field($0)) == field } ?? 0]
                }
            }
            let world = TemplateWorld(message, devices, locales: Self.locales)
            for target in [TemplateWorld.topic, TemplateWorld.project] {
                let bodies = try await world.bodies(to: target)
                for (place, own) in filled.enumerated() {
                    let plain = CompiledMessage(own, message: TemplateWorld.id)
                    let alone = TemplateWorld(plain, Self.devices, locales: Self.locales)
                    let expected = try await alone.bodies(to: target)[place]
                    #expect(bodies[place] == expected, "seed \(seed)")
                    if let body = bodies[place] { _ = try JSONReader.read(body) }
                }
            }
        }
    }

    private static func field(_ text: String) throws -> DeviceField? {
        guard case .placeholder(let placeholder) = try TemplateText(parsing: "{{\(text)}}").parts.first else {
            return nil
        }
        return placeholder.field
    }

    private static func compiled(_ body: String, data: String = "", type: PushType = .alert) throws -> CompiledMessage {
        var content = MessageContent(notification: NotificationText(body: body), isTemplate: true)
        content.options.pushType = type
        if !data.isEmpty { content.data = [DataMember(name: "d", json: JSONText(.string(data)))] }
        let message = CompiledMessage(content, message: TemplateWorld.id)
        try message.check()
        return message
    }

    @Test("reaches only devices whose filled payload is within the limit, to the byte")
    func sizes() async throws {
        let message = try Self.compiled(".{{user}}")
        for (target, bytesMax) in [(TemplateWorld.topic, 4_096), (PushTarget(.fcm, ""), 4_096)] {
            func world(_ count: Int) -> TemplateWorld {
                let values = [String(repeating: "x", count: count), "short", String(repeating: "\"", count: count / 2)]
                return TemplateWorld(message, values.map { [$0] })
            }
            // Each letter of the value adds one byte to the payload.
            let empty = try #require(try await world(0).bodies(to: target)[0])
            let size =
                target.provider == .apns
                ? empty.count : try #require(message.push(for: .fcm) as? FCMMessage).payloadBytes
            let room = bytesMax - size
            let fitting = try await world(room).bodies(to: target)
            #expect(fitting[0] != nil && fitting[1] != nil)
            // FCM counts a quotation mark as one byte, and APNs as two.
            let isEscaped = target.provider == .apns
            #expect(
                try await world(room + 1).bodies(to: target).map { $0 == nil } == [
                    true, false, isEscaped && room % 2 == 1,
                ])
            let quotes = String(repeating: "\"", count: isEscaped ? room / 2 : room)
            #expect(
                try await TemplateWorld(message, [[quotes], [quotes + "\""]]).bodies(to: target).map { $0 == nil } == [
                    false, true,
                ])
        }
    }

    @Test("fails validation if it is too large with empty placeholders")
    func fixedSize() throws {
        _ = try Self.compiled("{{user}}", data: String(repeating: "x", count: 3_900))
        #expect(throws: ContentFault.self) { try Self.compiled("{{user}}", data: String(repeating: "x", count: 4_090)) }
    }

    @Test("keeps literal braces if its content is no template")
    func storedBefore() async throws {
        var content = MessageContent(notification: NotificationText(body: "{{ not a hole"))
        let stored = CompiledMessage(content, message: TemplateWorld.id)
        let world = TemplateWorld(stored, [[]])
        let body = try #require(try await world.bodies(to: TemplateWorld.topic)[0])
        #expect(String(decoding: body, as: UTF8.self) == #"{"aps":{"alert":{"body":"{{ not a hole"}}}"#)
        content.isTemplate = true
        let broken = CompiledMessage(content, message: TemplateWorld.id)
        #expect(broken.rejection(by: .apns) == Rejection(fault: .message, reason: "invalid_template"))
    }

    @Test("fails validation if a placeholder is malformed or misplaced, and names the place")
    func places() throws {
        func fault(_ change: (inout MessageContent) -> Void) -> String? {
            var content = MessageContent(notification: NotificationText(body: "Noon"), isTemplate: true)
            change(&content)
            do {
                try CompiledMessage(content, message: TemplateWorld.id).check()
                return nil
            } catch {
                guard case .template(let pointer, let fault) = error else { return "\(error)" }
                return "\(pointer) \(fault.reason)"
            }
        }
        #expect(fault { _ in } == nil)
        #expect(fault { $0.options.collapseID = "a{{user}}" } == "/options/collapse_id notHere")
        let taken = PlaceholderMark.text(PlaceholderMark.placeholdersMax - 1)
        #expect(fault { $0.options.collapseID = "a" + taken } == "/options/collapse_id reservedCharacter")
        #expect(fault { $0.data = [DataMember(name: "{{user}}", json: JSONText(1))] } == "/data/{{user}} notHere")
        #expect(fault { $0.overrides[.apns] = JSONText(["a": ["{{b}}": 1]]) } == "/apns/a/{{b}} notHere")
        #expect(
            fault { $0.overrides[.fcm] = JSONText(["apns": ["headers": ["apns-collapse-id": "{{user}}"]]]) }
                == "/fcm/apns/headers/apns-collapse-id notHere")
        #expect(fault { $0.sound = "{{user" } == "/sound notClosed")
        #expect(
            fault { $0.overrides[.apns] = JSONText(["a": [1, "{{user|x}}"]]) }
                == "/apns/a/1 expected(Content.TemplateFault.Expectation.default)")
        #expect(
            fault { $0.notification?.title = "a\(PlaceholderMark.text(0)){{user}}" }
                == "/notification/title reservedCharacter"
        )
        #expect(
            fault { $0.localizations = [Localization(locale: "fr", text: NotificationText(body: "{{nom}}"))] }
                == #"/notification/localizations/fr/body unknownField("nom")"#)
        let many = (0...TemplateLimits.fieldsMax).map { "{{attributes.a\($0)}}" }.joined()
        #expect(fault { $0.notification?.body = many } == "/notification/body tooManyFields")
        let different = (0...TemplateLimits.placeholdersMax).map {
            Localization(locale: "l\($0)", text: NotificationText(body: "{{user|default:'\($0)'}}"))
        }
        #expect(fault { $0.localizations = different }?.hasSuffix("tooManyDifferentPlaceholders") == true)
        let full = String(repeating: "{{user}}", count: TemplateLimits.placeholdersPerTextMax)
        let texts = TemplateLimits.placeholdersPerMessageMax / TemplateLimits.placeholdersPerTextMax
        let data = (0...texts).map { DataMember(name: "m\($0)", json: JSONText(.string(full))) }
        #expect(fault { $0.data = data } == "/data/m\(texts) tooManyPlaceholdersInAll")
        #expect(fault { $0.data = Array(data.dropLast()) }?.hasSuffix("tooManyPlaceholdersInAll") != true)
    }

    @Test("keeps the formats that providers check around its placeholders")
    func shapes() throws {
        var content = MessageContent(notification: NotificationText(body: "Noon"), isTemplate: true)
        content.overrides[.fcm] = JSONText([
            "android": ["notification": ["image": "https://example.com/{{ user }}.png"]]
        ])
        try CompiledMessage(content, message: TemplateWorld.id).check()
        content.overrides[.fcm] = JSONText(["android": ["priority": "{{user}}"]])
        #expect(throws: ContentFault.self) { try CompiledMessage(content, message: TemplateWorld.id).check() }
    }
}
