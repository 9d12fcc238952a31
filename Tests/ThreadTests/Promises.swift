import Basis
import Encodings
import Model

/// Checks the promises against the evidence. Each breach is a sentence.
struct Promises {
    let evidence: Evidence

    static func breaches(in evidence: Evidence) -> [String] {
        let promises = Promises(evidence: evidence)
        return promises.durable + promises.accounted + promises.badgeOnce + promises.sentOnce + promises.trueTokens
    }

    /// P1: each acknowledged message exists once and has ended.
    private var durable: [String] {
        var breaches: [String] = []
        if evidence.messages.count != evidence.messagesSent {
            breaches.append("P1: \(evidence.messages.count) messages were stored instead of \(evidence.messagesSent)")
        }
        let known = evidence.messages.map(\.id)
        for id in evidence.answered where !known.contains(id) {
            breaches.append("P1: 202 for \(id), which is not stored")
        }
        for message in evidence.messages where message.state != Int(MessageState.finished.rawValue) {
            breaches.append("P1: message \(message.id) is in state \(message.state), not finished")
        }
        return breaches
    }

    /// P2: each member ended once, and the sums agree wherever they are reported.
    private var accounted: [String] {
        var breaches: [String] = []
        func count(_ fate: Device.Fate) -> Int { evidence.devices.count { $0.fate == fate } }
        for message in evidence.messages {
            // A later message no longer has the retired devices in its audience.
            let isFirst = message.id == evidence.messages.first?.id
            let dead = isFirst ? count(.dead) : 0
            let expected = [count(.live), count(.bad), dead, 0, 0, 0, 0]
            if message.outcomes != expected {
                breaches.append("P2: message \(message.id) ended as \(message.outcomes) instead of \(expected)")
            }
            if message.audience != message.outcomes.reduce(0, +) {
                breaches.append("P2: the audience is \(message.audience), but \(message.outcomes) ended")
            }
        }
        if evidence.parcelsLeft != 0 { breaches.append("P2: \(evidence.parcelsLeft) parcels are left") }
        let reported = TerminalState.allCases.map { evidence.account.outcomes[$0.name] ?? 0 }
        let stored = evidence.messages.first { $0.id == evidence.account.id }?.outcomes
        if reported != stored || evidence.account.pending != 0 {
            breaches.append(
                "P2: the API shows \(reported), pending \(evidence.account.pending); the row has \(stored ?? [])")
        }
        return breaches
    }

    /// P3: the badge rises by one per message, in the registry and in the pushes.
    private var badgeOnce: [String] {
        var breaches: [String] = []
        for registration in evidence.registrations {
            let fate = evidence.devices.first { $0.installation == registration.installation }?.fate
            // An increment for a push that was refused is taken back, unless an owner of the push died.
            let expected =
                switch fate {
                case .dead: 0...1
                case .bad: 0...evidence.messagesSent
                case .live, nil: evidence.messagesSent...evidence.messagesSent
                }
            if !expected.contains(registration.badge) {
                breaches.append(
                    "P3: \(registration.installation) has badge \(registration.badge) instead of \(expected)")
            }
        }
        for push in evidence.pushes {
            guard let badge = push.badge, (1...evidence.messagesSent).contains(badge) else {
                breaches.append("P3: a push to \(push.token) carried badge \(push.badge.map(String.init) ?? "none")")
                continue
            }
        }
        return breaches
    }

    /// P4: each token got every message under one constant id, repeated no more often than deaths excuse.
    private var sentOnce: [String] {
        var breaches: [String] = []
        for device in evidence.devices {
            guard let registration = evidence.registrations.first(where: { $0.installation == device.installation })
            else {
                breaches.append("P4: \(device.installation) is not registered")
                continue
            }
            let pushes = evidence.pushes.filter { $0.token == device.token }
            let messages = device.fate == .dead ? Array(evidence.messages.prefix(1)) : evidence.messages
            for message in messages {
                guard let id = UniversalID(text: message.id) else { continue }
                let name = PushIdentity.apnsID(message: MessageID(id), registration: RegistrationID(registration.id))
                    .text
                let own = pushes.filter { $0.id == name }
                if own.isEmpty || own.count > 1 + evidence.repeatsAllowed {
                    breaches.append(
                        "P4: \(device.installation) got message \(message.id) \(own.count) times, at most"
                            + " \(1 + evidence.repeatsAllowed) are allowed")
                }
                if Set(own.map(\.collapseID)).count > 1 || own.contains(where: { ($0.collapseID ?? "").isEmpty }) {
                    breaches.append(
                        "P4: repeated pushes to \(device.installation) would be shown twice: their collapse ids differ")
                }
            }
            let names = Set(pushes.map(\.id))
            if names.count > messages.count {
                breaches.append("P4: \(device.installation) got pushes with \(names.count) apns-ids")
            }
        }
        let repeats = evidence.pushes.count - Set(evidence.pushes.map { $0.token + ($0.id ?? "") }).count
        if let allowed = evidence.repeatsAllowedInAll, repeats > allowed {
            breaches.append("P4: \(repeats) pushes were repeated; the limit is \(allowed)")
        }
        let known = Set(evidence.devices.map(\.token))
        for push in evidence.pushes where !known.contains(push.token) {
            breaches.append("P4: a push went to \(push.token), which no device has")
        }
        return breaches
    }

    /// P5: dead tokens are retired once, suspected tokens stay suspected, and live tokens stay active.
    private var trueTokens: [String] {
        var breaches: [String] = []
        let states: [Device.Fate: RegistrationState] = [.live: .active, .dead: .retired, .bad: .suspected]
        let verdicts: [Device.Fate: FeedbackVerdict] = [.dead: .retired, .bad: .suspected]
        for device in evidence.devices {
            let state = evidence.registrations.first { $0.installation == device.installation }?.state
            if state != states[device.fate].map({ Int($0.rawValue) }) {
                breaches.append("P5: \(device.installation) is in state \(state ?? 0)")
            }
            let reported = evidence.feedback.filter { $0.installation == device.installation }.map(\.verdict)
            let expected = verdicts[device.fate].map { [Int($0.rawValue)] } ?? []
            if reported != expected { breaches.append("P5: the feedback has \(reported) for \(device.installation)") }
        }
        return breaches
    }
}
