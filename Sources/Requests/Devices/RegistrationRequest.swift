import Basis
import Calendar
import Content
import Encodings
import JSON
import Model
import ProviderInterface
import Providers

/// The limits of one registration, in UTF-8 bytes unless stated otherwise. The database has the same limits.
package enum RegistrationLimits {
    package static let installationBytesMax = 256
    package static let tagsMax = 64
    package static let tagBytesMax = 128
    /// The most bytes of attributes, as minimal JSON.
    package static let attributesBytesMax = 8_192
    /// The most members at all depths: of stored attributes, and of a patch of them, whose nulls count.
    package static let attributesMembersMax = 1_024
    /// The largest patch of attributes, as minimal JSON: it may remove all that are stored, and add as many new ones.
    package static let attributesPatchBytesMax = 2 * attributesBytesMax
    static let attributesDepthMax = 8
    package static let tokenBytesMax = 4_096
    package static let topicBytesMax = 255
    /// The largest exponent of numbers in attributes: a double, and PostgreSQL's numeric, can hold it.
    static let exponentMax = 308
    /// The most that a backend's clock may run ahead. A time far ahead would make every later registration stale.
    static let asOfAheadMax: Duration = .seconds(300)
}

package enum RegistrationRequest {
    /// Reads the body of `PUT .../devices/{installation}`.
    package static func read(
        _ body: [UInt8], installation: String, now: WallInstant
    ) throws(Problem) -> DeviceRegistration {
        var reader = try EnvelopeReader(body: body)
        return try read(&reader, installation: installation, now: now)
    }

    /// Reads a line of `POST .../devices/import`: the same members, and the installation.
    package static func readLine(_ line: [UInt8], now: WallInstant) throws(Problem) -> DeviceRegistration {
        var reader = try EnvelopeReader(body: line)
        let installation = try reader.requiredString(
            "installation", bytesMax: RegistrationLimits.installationBytesMax,
            "the app's own id for one copy of itself on one device")
        guard !isDots(installation) else { throw .notInPaths(installation, at: .root / "installation") }
        return try read(&reader, installation: installation, now: now)
    }

    /// Reads the members of a registration, and refuses all others.
    static func read(
        _ reader: inout EnvelopeReader, installation: String, now: WallInstant
    ) throws(Problem) -> DeviceRegistration {
        let provider = try reader.requiredProvider()
        let kind = try readKind(&reader, of: provider)
        let registration = DeviceRegistration(
            installation: installation, kind: kind, provider: provider.id,
            environment: try readEnvironment(&reader, of: provider), topic: try readTopic(&reader, of: provider, kind),
            token: try TokenText.read(
                try reader.required("token", "the device token, as the provider's library gave it to the app"),
                of: provider, at: reader.pointer / "token"),
            profile: try readProfile(&reader, attributesBytesMax: RegistrationLimits.attributesBytesMax),
            badge: try reader.integer("badge", 0...Int32.max), asOf: try readAsOf(&reader, now: now))
        try reader.end()
        return registration
    }

    private static func readKind(
        _ reader: inout EnvelopeReader, of provider: any PushProvider
    ) throws(Problem) -> TokenKind {
        let kind: TokenKind = try reader.choice("kind") ?? .alert
        guard provider.kinds.contains(kind) else {
            throw Problem(
                .kindNotAllowed,
                "An installation has one \(provider.id.name) token for every kind of push. Its kind is "
                    + "\(provider.kinds.map(\.name).joined(separator: " or ")).",
                at: reader.pointer / "kind")
        }
        return kind
    }

    private static func readEnvironment(
        _ reader: inout EnvelopeReader, of provider: any PushProvider
    ) throws(Problem) -> PushEnvironment {
        let environment: PushEnvironment = try reader.choice("environment") ?? .production
        guard provider.environments.contains(environment) else {
            let others = PushProviders.offered.filter { $0.environments.contains(environment) }.map(\.id.name)
            throw Problem(
                .invalidValue,
                "Only \(others.joined(separator: " and ")) has a \(environment.name); \(provider.id.name) has only "
                    + "\(provider.environments.map(\.name).joined(separator: " and ")).",
                at: reader.pointer / "environment")
        }
        return environment
    }

    private static func readTopic(
        _ reader: inout EnvelopeReader, of provider: any PushProvider, _ kind: TokenKind
    ) throws(Problem) -> String {
        guard let topic = try reader.string("topic", bytesMax: RegistrationLimits.topicBytesMax) else { return "" }
        return try TokenText.topic(topic, of: provider, kind: kind, at: reader.pointer / "topic")
    }

    /// Reads the members of a profile: absence keeps a value, null clears it.
    static func readProfile(_ reader: inout EnvelopeReader, attributesBytesMax: Int) throws(Problem) -> ProfileChange {
        var change = ProfileChange()
        for field in ProfileField.allCases { change[field] = try reader.change(of: field) }
        change.tags = try readTags(&reader)
        change.attributes = try readAttributes(&reader, bytesMax: attributesBytesMax)
        return change
    }

    private static func readTags(_ reader: inout EnvelopeReader) throws(Problem) -> DeviceRegistration.Change<[String]>
    {
        guard let value = reader.takeAny("tags") else { return .keep }
        if value.isNull { return .clear }
        return .set(try tags(value, at: reader.pointer / "tags"))
    }

    static func tags(_ value: JSONValue, at pointer: JSONPointer) throws(Problem) -> [String] {
        var tags = DistinctTexts()
        for (place, element) in try value.elements(countMax: RegistrationLimits.tagsMax, at: pointer).enumerated() {
            let tag = try element.text(bytesMax: RegistrationLimits.tagBytesMax, at: pointer / place)
            guard isText(tag) else { throw .controlCharacters(at: pointer / place) }
            tags.add(tag)
        }
        return tags.texts
    }

    private static func readAttributes(
        _ reader: inout EnvelopeReader, bytesMax: Int
    ) throws(Problem) -> DeviceRegistration.Change<[UInt8]> {
        guard let value = reader.takeAny("attributes") else { return .keep }
        if value.isNull { return .clear }
        let pointer = reader.pointer / "attributes"
        guard value.object != nil else { throw .wrongType(value, "an object", at: pointer) }
        let members = value.memberCount
        guard members <= RegistrationLimits.attributesMembersMax else {
            throw Problem(
                .valueTooLong,
                "The attributes have \(members) members at all depths; the limit is "
                    + "\(RegistrationLimits.attributesMembersMax).", at: pointer)
        }
        try checkStorable(value, depth: 1, at: pointer)
        let bytes = value.bytes
        guard bytes.count <= bytesMax else {
            throw Problem(
                .valueTooLong, "The attributes have \(bytes.count) bytes; the limit is \(bytesMax).", at: pointer)
        }
        return .set(bytes)
    }

    /// Refuses a value that PostgreSQL's jsonb would refuse, and points to its place.
    private static func checkStorable(_ value: JSONValue, depth: Int, at pointer: JSONPointer) throws(Problem) {
        switch value {
        case .null, .bool, .string, .number(.whole): break
        case .number(.literal(let text)):
            guard hasModestExponent(text) else {
                throw Problem(.invalidValue, "This number is too large or too small to be stored.", at: pointer)
            }
        case .array(let elements):
            try checkDepth(depth, at: pointer)
            for (place, element) in elements.enumerated() {
                try checkStorable(element, depth: depth + 1, at: pointer / place)
            }
        case .object(let object):
            try checkDepth(depth, at: pointer)
            for member in object.members {
                try checkStorable(member.value, depth: depth + 1, at: pointer / member.name)
            }
        }
    }

    private static func checkDepth(_ depth: Int, at pointer: JSONPointer) throws(Problem) {
        guard depth <= RegistrationLimits.attributesDepthMax else {
            throw Problem(
                .invalidValue, "Attributes nest at most \(RegistrationLimits.attributesDepthMax) levels deep.",
                at: pointer)
        }
    }

    private static func hasModestExponent(_ number: String) -> Bool {
        guard let mark = number.utf8.firstIndex(where: { $0 | 0x20 == UInt8(ascii: "e") }) else { return true }
        guard let exponent = Int(number[number.utf8.index(after: mark)...]) else { return false }
        return (-RegistrationLimits.exponentMax...RegistrationLimits.exponentMax).contains(exponent)
    }

    private static func readAsOf(_ reader: inout EnvelopeReader, now: WallInstant) throws(Problem) -> WallInstant? {
        guard let value = reader.take("as_of") else { return nil }
        let pointer = reader.pointer / "as_of"
        guard let text = value.string else { throw .wrongType(value, "a string", at: pointer) }
        guard let instant = RFC3339.parse(text) else {
            throw Problem(.invalidValue, "This must be an RFC 3339 time, such as 2026-12-01T12:00:00Z.", at: pointer)
        }
        guard instant - now <= RegistrationLimits.asOfAheadMax else {
            throw Problem(
                .invalidValue, "This time is in the future; later registrations would be treated as stale.",
                at: pointer)
        }
        return instant
    }
}

extension RegistrationRequest {
    /// Whether the text is printable ASCII without blanks, as names given by machines are.
    package static func isVisibleASCII(_ text: String) -> Bool { text.utf8.allSatisfy(\.isVisible) }

    /// Whether the text has no control characters, as names given by people.
    package static func isText(_ text: String) -> Bool { text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f } }

    /// Whether the text means a step in a path, however it is encoded (`RequestTarget` refuses both).
    static func isDots(_ text: String) -> Bool { text == "." || text == ".." }
}

extension EnvelopeReader {
    fileprivate mutating func change(of field: ProfileField) throws(Problem) -> ProfileChange.Change<String> {
        guard let value = takeAny(field.name) else { return .keep }
        if value.isNull { return .clear }
        let pointer = pointer / field.name
        let text = try value.text(bytesMax: field.bytesMax, at: pointer)
        switch field.form {
        case .text, .textInPaths:
            guard RegistrationRequest.isText(text) else { throw .controlCharacters(at: pointer) }
            if case .textInPaths = field.form, RegistrationRequest.isDots(text) { throw .notInPaths(text, at: pointer) }
        case .locale: guard LocaleTable.isReported(text) else { throw .notALocale(at: pointer) }
        case .timeZoneName: return .set(try Self.timeZone(text, at: pointer))
        }
        return .set(text)
    }
}

extension Problem {
    fileprivate static func notInPaths(_ name: String, at pointer: JSONPointer) -> Problem {
        Problem(.invalidValue, "A URL can't contain the name \"\(name)\"; choose another name.", at: pointer)
    }

    fileprivate static func notALocale(at pointer: JSONPointer) -> Problem {
        Problem(
            .invalidValue,
            "This is not a locale. A locale begins with the code of a language, and may go on with script and region: de, "
                + "en-GB or zh-Hant-TW.", at: pointer)
    }

    package static func controlCharacters(at pointer: JSONPointer) -> Problem {
        Problem(
            .invalidValue, "This text has characters that are not allowed (control characters, or spaces in a name).",
            at: pointer)
    }
}

/// Distinct texts in their order, compared by bytes: Swift's equality would merge names that only look alike.
package struct DistinctTexts {
    private static let fewMax = 16
    package private(set) var texts: [String] = []
    /// The bytes of the texts once there are many; few texts are compared one by one.
    private var seen: Set<[UInt8]> = []

    package init() {}

    package mutating func add(_ text: String) {
        if texts.count < Self.fewMax {
            if !texts.contains(where: { $0.hasSameBytes(as: text) }) { texts.append(text) }
            return
        }
        if seen.isEmpty { seen = Set(texts.map { Array($0.utf8) }) }
        if seen.insert(Array(text.utf8)).inserted { texts.append(text) }
    }
}
