import Basis
import JSON
import ProviderInterface

/// The parts of Google's error answer (`google.rpc.Status`) that we need.
///
/// A stranger's bytes: bounded, and a syntax error leaves everything empty. Its texts may quote a payload or a token;
/// they are examined here and never passed on.
struct FCMErrorBody: Equatable {
    private(set) var status: String?
    /// FCM's own code, from the FcmError detail: the answer is about the push, and came from FCM itself.
    private(set) var errorCode: String?
    /// Paths of the request's fields that BadRequest names.
    private(set) var violatedFields: [String] = []
    /// The first field that FCM calls wrong, and why, as far as that quotes no value of ours.
    private(set) var complaint: String?
    /// The message says that the token is malformed.
    private(set) var reportsNoToken = false
    /// QuotaFailure names the device's own rate, not the project's or a topic's.
    private(set) var namesDeviceQuota = false
    private(set) var retryDelay: Duration?

    private static let limits = JSONLimits(bytesMax: FCMResponse.bodyBytesMax, depthMax: 16, valuesMax: 1_000)

    init(reading body: Span<UInt8>) {
        guard !body.isEmpty, body.count <= FCMResponse.bodyBytesMax else { return }
        guard let value = try? JSONReader.read(body.copied(), limits: Self.limits),
            let error = value.object?["error"]?.object
        else { return }
        status = error["status"]?.string
        reportsNoToken = error["message"]?.string.map(Self.isTokenText) ?? false
        for detail in error["details"]?.array ?? [] { read(detail) }
        if complaint == nil { complaint = error["message"]?.string.flatMap { FCMComplaint.text(field: nil, $0) } }
    }

    private mutating func read(_ detail: JSONValue) {
        guard let members = detail.object, let type = members["@type"]?.string else { return }
        switch type.split(separator: "/").last {
        case "google.firebase.fcm.v1.FcmError": errorCode = errorCode ?? members["errorCode"]?.string
        case "google.rpc.BadRequest":
            for violation in members["fieldViolations"]?.array ?? [] {
                guard let field = violation.object?["field"]?.string else { continue }
                violatedFields.append(field)
                let description = violation.object?["description"]?.string ?? ""
                complaint = complaint ?? FCMComplaint.text(field: field, description)
            }
        case "google.rpc.QuotaFailure":
            let violations = members["violations"]?.array ?? []
            namesDeviceQuota = namesDeviceQuota || violations.contains(where: Self.isAboutDevice)
        case "google.rpc.RetryInfo": retryDelay = members["retryDelay"]?.string.flatMap { FCMDuration.parse($0) }
        default: break
        }
    }

    /// The beginnings of FCM's sentences about a malformed token. Only the start is compared: later parts may quote the
    /// sender's own text.
    private static let tokenTexts = [
        "the registration token is not a valid", "registration token is not a valid", "invalid registration token",
    ]

    private static func isTokenText(_ text: String) -> Bool {
        let lowered = text.lowercased()
        return tokenTexts.contains { lowered.hasPrefix($0) }
    }

    /// Whether the quota is a device's. In doubt it is the project's, because a device's quota would not slow the lane.
    private static func isAboutDevice(_ violation: JSONValue) -> Bool {
        let subject = violation.object?["subject"]?.string?.lowercased() ?? ""
        if subject.hasPrefix("device") { return true }
        guard subject.isEmpty else { return false }
        let description = violation.object?["description"]?.string?.lowercased() ?? ""
        return description.contains("device") && !description.contains("project") && !description.contains("topic")
    }
}

/// Durations as proto3's JSON writes them: "3.5s".
enum FCMDuration {
    /// Longer than any duration that FCM uses.
    private static let digitsMax = 10

    /// Returns nil for another form, and for a negative duration.
    static func parse(_ text: String) -> Duration? {
        guard text.utf8.last == UInt8(ascii: "s") else { return nil }
        let parts = text.utf8.dropLast().split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), let seconds = number(parts[0], digitsMax: digitsMax) else { return nil }
        guard parts.count == 2 else { return .seconds(seconds) }
        guard var fraction = number(parts[1], digitsMax: 9) else { return nil }
        for _ in parts[1].count..<9 { fraction *= 10 }
        return .seconds(seconds) + .nanoseconds(fraction)
    }

    private static func number(_ digits: Substring.UTF8View, digitsMax: Int) -> Int64? {
        guard (1...digitsMax).contains(digits.count) else { return nil }
        var number: Int64 = 0
        for digit in digits {
            guard digit.isDigit else { return nil }
            number = number * 10 + Int64(digit - UInt8(ascii: "0"))
        }
        return number
    }
}
