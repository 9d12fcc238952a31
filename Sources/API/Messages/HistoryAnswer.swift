import Encodings
import JSON
import Model

package enum HistoryAnswer {
    package static func page(_ failures: [PushFailure], next: String?) -> [UInt8] {
        JSONWriter.page(failures, next: next) { writer, failure in
            writer.optional("installation", failure.installation)
            if let user = failure.user { writer.member("user", user) }
            if let token = failure.token, let provider = failure.provider {
                writer.member("token", DeviceAnswer.mask(token, of: provider))
            }
            writer.member("kind", failure.kind.name)
            writer.optional("provider", failure.provider?.name)
            writer.member("state", failure.terminalStatus.state.name)
            writer.member("reason", failure.terminalStatus.reason)
            if let detail = failure.detail { writer.member("detail", detail) }
            writer.time("at", failure.at)
            writer.member("attempts", failure.attempts)
        }
    }

    package static func body(_ history: PushHistory) -> [UInt8] {
        JSONWriter.body(capacity: 1_024) { write(history, to: &$0) }
    }

    private static func write(_ history: PushHistory, to writer: inout JSONWriter) {
        writer.member("message", history.message.value.text)
        writer.member("installation", history.installation)
        writer.member("kind", history.kind.name)
        writer.member("state", history.status.name)
        if case .ended(let terminalStatus) = history.status {
            writer.optional("reason", terminalStatus.reason.isEmpty ? nil : terminalStatus.reason)
        } else {
            writer.optional("reason", history.status.pending?.cause)
        }
        if let registration = history.registration {
            // The id that a push keeps over all its attempts. APNs gets it as the apns-id.
            let id = PushIdentity.apnsID(message: history.message, registration: registration)
            writer.member("push_id", id.text)
        }
        if let push = history.status.pending {
            writer.member("parcel", String(push.parcel.value))
            write(push.leg, to: &writer)
            writer.member("attempts", push.attempts)
            writer.time("due_at", push.dueAt)
        }
        // nil: the message's acceptance, before the step of each settle.
        let steps: [PushStep?] = [nil] + history.steps
        writer.objects("steps", steps) { writer, step in
            if let step { return write(step, to: &writer) }
            writer.time("at", history.acceptedAt)
            writer.member("step", "message_accepted")
        }
    }

    private static func write(_ step: PushStep, to writer: inout JSONWriter) {
        writer.time("at", step.at)
        switch step.event {
        case .ended(let terminalStatus):
            writer.member("step", terminalStatus.state.name)
            writer.optional("reason", terminalStatus.reason.isEmpty ? nil : terminalStatus.reason)
        case .goesOn(let cause):
            writer.member("step", "goes_on")
            writer.member("reason", cause)
        }
        if let detail = step.detail { writer.member("detail", detail) }
        if let parcel = step.parcel { writer.member("parcel", String(parcel.value)) }
        if let leg = step.leg { write(leg, to: &writer) }
        writer.member("attempts", step.attempts)
    }

    private static func write(_ leg: RouteDescription, to writer: inout JSONWriter) {
        writer.member("provider", leg.provider.name)
        writer.member("environment", leg.environment.name)
        writer.member("topic", leg.topic)
    }
}

extension PushStatus {
    fileprivate var pending: PendingPush? {
        switch self {
        case .waiting(let push), .sending(let push): push
        case .planning, .notInAudience, .ended, .notKept: nil
        }
    }

    /// Stable names, published in docs/openapi.yaml.
    fileprivate var name: String {
        switch self {
        case .planning: "planning"
        case .notInAudience: "not_in_audience"
        case .waiting: "waiting"
        case .sending: "sending"
        case .ended(let terminalStatus): terminalStatus.state.name
        case .notKept: "not_kept"
        }
    }
}
