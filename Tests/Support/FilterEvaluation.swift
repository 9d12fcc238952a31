import Basis
import Expressions
import JSON
import Model

// The meaning of a filter, to compare the database's answer with.
extension FilterExpression {
    /// - Parameter now: the time that relative times are counted from.
    package func isTrue(of device: DeviceRecord, now: WallInstant) -> Bool {
        FilterSubject(device: device, now: now).fits(self)
    }
}

/// A registration under evaluation, with its attributes parsed.
private struct FilterSubject {
    let device: DeviceRecord
    let now: WallInstant
    let attributes: JSONValue

    init(device: DeviceRecord, now: WallInstant) {
        self.device = device
        self.now = now
        attributes = (try? JSONReader.read(device.profile.attributes, limits: .trusted)) ?? .null
    }

    func fits(_ expression: FilterExpression) -> Bool {
        switch expression {
        case .all(let members): members.allSatisfy(fits)
        case .any(let members): members.contains(where: fits)
        case .not(let inner): !fits(inner)
        case .condition(let condition): fits(condition)
        }
    }

    private func fits(_ condition: FilterCondition) -> Bool {
        switch condition {
        case .text(let field, let test): Self.fits(text(of: field), test)
        case .provider(let isAmong, let providers): providers.contains(device.provider) == isAmong
        case .environment(let isAmong, let environments): environments.contains(device.environment) == isAmong
        case .version(let order, let asked):
            device.profile[.appVersion].flatMap(VersionNumber.init(leading:)).map { order.holds($0, asked) } ?? false
        case .instant(let field, let order, let asked): order.holds(instant(of: field), asked.instant(now: now))
        case .tag(let tag): device.profile.tags.contains { $0.hasSameBytes(as: tag) }
        case .attribute(let path, let test): Self.fits(value(at: path), test)
        }
    }

    /// nil: missing.
    private func text(of field: TextField) -> String? {
        switch field {
        case .installation: device.installation
        case .profile(let field): device.profile[field]
        // "" stands for the credential's only topic.
        case .topic: device.topic.isEmpty ? nil : device.topic
        }
    }

    private func instant(of field: InstantField) -> WallInstant {
        switch field {
        case .registeredAt: device.registeredAt
        case .createdAt: device.createdAt
        }
    }

    private static func fits(_ value: String?, _ test: TextTest) -> Bool {
        guard let value else { return test == .missing }
        return switch test {
        case .among(let texts): texts.contains { $0.hasSameBytes(as: value) }
        case .notAmong(let texts): !texts.contains { $0.hasSameBytes(as: value) }
        case .startsWith(let start): value.utf8.starts(with: start.utf8)
        case .exists: true
        case .missing: false
        }
    }

    /// nil: missing, or null.
    private func value(at path: AttributePath) -> JSONValue? {
        var place: JSONValue? = attributes
        for name in path.names { place = place?.object?[name] }
        return place.flatMap { $0.isNull ? nil : $0 }
    }

    private static func fits(_ value: JSONValue?, _ test: AttributeTest) -> Bool {
        guard let value else { return test == .missing }
        return switch test {
        case .among(let scalars): scalars.contains { isEqual(value, $0) }
        case .notAmong(let scalars): !scalars.contains { isEqual(value, $0) }
        case .number(let order, let asked):
            value.number.flatMap(DecimalNumber.init).map { order.holds($0, asked) } ?? false
        case .text(let order, let asked): value.string.map { order.holds(OrderedText($0), OrderedText(asked)) } ?? false
        case .startsWith(let start): value.string.map { $0.utf8.starts(with: start.utf8) } ?? false
        case .has(let scalar): value.array?.contains { isEqual($0, scalar) } ?? false
        case .exists: true
        case .missing: false
        }
    }

    private static func isEqual(_ value: JSONValue, _ scalar: FilterScalar) -> Bool {
        switch scalar {
        case .text(let text): value.string.map { $0.hasSameBytes(as: text) } ?? false
        case .number(let number): value.number.flatMap(DecimalNumber.init) == number
        case .bool(let claim): value.bool == claim
        }
    }
}

/// A text ordered by its bytes, without language rules.
private struct OrderedText: Comparable {
    private let text: String

    init(_ text: String) { self.text = text }

    static func == (left: OrderedText, right: OrderedText) -> Bool { left.text.hasSameBytes(as: right.text) }
    static func < (left: OrderedText, right: OrderedText) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }
}

extension FilterOrder {
    fileprivate func holds<Value: Comparable>(_ one: Value, _ other: Value) -> Bool {
        switch self {
        case .less: one < other
        case .atMost: one <= other
        case .more: one > other
        case .atLeast: one >= other
        }
    }
}

extension VersionNumber: Comparable {
    package static func < (left: VersionNumber, right: VersionNumber) -> Bool {
        for (one, other) in zip(left.parts, right.parts) where one != other {
            if one.utf8.count != other.utf8.count { return one.utf8.count < other.utf8.count }
            return one.utf8.lexicographicallyPrecedes(other.utf8)
        }
        return left.parts.count < right.parts.count
    }
}
